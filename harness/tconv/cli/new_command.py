"""`tconv new`: a first case file, with comments."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from tconv import schemas
from tconv.corpus.file_reading import SUFFIXES
from tconv.errors import FileError, UsageError, writing

_TOPIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9][A-Za-z0-9_.+-]*)*")
_TEXT = """\
# yaml-language-server: $schema={schema}
# A case asks one question of every dialect. The keys are told by an editor that reads the line above, by
# 'tconv schema case', and by docs/cases.md. Check this file with 'tconv check {file}'.
format: 1
about: {topic}, as a first example.
# The clauses that the cases rest on; 'tconv list --readings' prints what the texts leave in dispute.
cites:
  - {{dialect: onnx/ConvTranspose-22, clause: "doc, 'output_shape[i] = stride[i] * (input_size[i] - 1) + ...'"}}

# What all cases share. Integers are summed exactly in any order, so every difference counts.
base: {{batch: 2, channels: 4, out_channels: 6, spatial: [5, 4], kernel: [3, 2], data: integers}}

sweeps:
  # A case for each combination of the axes: {name}/crop[strides=1,pads=none], and so on.
  - name: crop
    about: Cropping at both ends, under several strides.
    axes:
      # The values of a setting. A single integer is for every axis, a list has an entry for each.
      strides: [1, 2, [2, 3]]
      # Or labels of your own, each of which stands for several settings.
      pads:
        none: {{}}
        both: {{pads_begin: 1, pads_end: 1}}
        end: {{pads_end: [1, 0]}}
    # Combinations that make no sense are left out:
    # skip:
    #   - {{when: {{strides: 1, pads: end}}, because: why it is left out}}

cases:
  # A case by hand, small enough to be computed on paper: each element of x adds the taps at its place times the stride.
  - name: by-hand
    about: A line, at stride 2.
    with: {{batch: 1, channels: 1, out_channels: 1, spatial: [3], kernel: [3], strides: 2,
           x: {{values: [1, 2, 3]}}, w: {{values: [1, 10, 100]}}}}
    expected:
      - {{dialects: [onnx/ConvTranspose-22], spatial: [7], values: [1, 10, 102, 20, 203, 30, 300]}}
  # A case that is invalid on purpose names the one constraint that it breaks; 'tconv list --constraints' prints them.
  - name: pads-beside-a-mode
    about: Pads beside a padding mode, which ONNX forbids and others ignore.
    with: {{breaks: pads-without-auto-pad, auto_pad: same_upper, pads_begin: 1}}
"""


@click.command(name="new")
@click.argument("topic")
def command(topic: str) -> None:
    """Write TOPIC.yaml here, a first case file with comments; TOPIC may have folders, as in padding/mine."""
    if not _TOPIC.fullmatch(topic):
        raise UsageError(
            f"TOPIC must be words of letters, digits, '_', '.', '+' and '-', with '/' between (got {topic!r})"
        )
    suffix = next(filter(topic.endswith, SUFFIXES), SUFFIXES[0])
    topic = topic.removesuffix(suffix)
    path = Path(f"{topic}{suffix}")
    if path.exists():
        raise FileError(path, "must not be there yet (got a file); choose another TOPIC, or remove it")
    file = shlex.quote(str(path))
    schema = schemas.NAMED["case"].resolve().as_posix()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _TEXT.format(schema=schema, topic=topic, file=file, name=topic.rpartition("/")[2])
        path.write_text(text, encoding="utf-8")
    click.echo(f"{path} is written; check it:  tconv check {file}\nand run it:  tconv run --cases {file}")
