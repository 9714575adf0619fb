"""What a corpus or a case may cost is known before anything is made; what is beyond is refused at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from small_corpus import BARE_HEAD, written
from tconv.corpus import Corpus
from tconv.corpus.case_file import MOST_SWEEPS
from tconv.corpus.sweep_reading import MOST_OF_CORPUS
from tconv.dialects import DIALECTS
from tconv.errors import FileError
from tconv.expectation.problem import expressed

if TYPE_CHECKING:
    from pathlib import Path


def complaint(folder: Path, text: str) -> str:
    """Return what is said of a case file; its cases are made."""
    with pytest.raises(FileError) as caught:
        list(Corpus.load(written(folder, BARE_HEAD + text)).cases())
    return str(caught.value)


def axes(count: int, labels: int) -> str:
    """Return so many axes of so many labels that set nothing."""
    of_axis = ", ".join(f"l{label}: {{}}" for label in range(labels))
    return ", ".join(f"a{axis}: {{{of_axis}}}" for axis in range(count))


SWEEPS = {
    # Choosing a tier would take minutes; of the second, each sweep has few enough.
    "many axes": (f"{{name: a, axes: {{{axes(16, 2)}}}}}", "quadruples of labels (got"),
    "many axes together": (
        ", ".join(f"{{name: a{n}, axes: {{{axes(14, 2)}}}}}" for n in range(4)),
        f"quadruples of labels (got {4 * 2**14 * 1001} with this one)",
    ),
    "many rows": (
        ", ".join(f"{{name: a{n}, axes: {{{axes(3, 40)}}}}}" for n in range(4)),
        f"at most {MOST_OF_CORPUS['combinations']} combinations (got",
    ),
    "aliases": (
        f"{{name: a0, axes: &axes {{{axes(3, 40)}}}}}, " + ", ".join(f"{{name: b{n}, axes: *axes}}" for n in range(3)),
        f"at most {MOST_OF_CORPUS['combinations']} combinations (got",
    ),
    "many sweeps": (
        ", ".join(f"{{name: a{n}, axes: {{seed: [1]}}}}" for n in range(MOST_SWEEPS + 1)),
        f"must have at most {MOST_SWEEPS} items",
    ),
    # Two sweeps of ten million combinations are within the budget of the exhaustive tier, and three are not.
    "exhaustive": (
        ", ".join(f"{{name: a{n}, tier: exhaustive, axes: {{{axes(7, 10)}}}}}" for n in range(3)),
        "combinations of the exhaustive tier (got 30000000 with this one)",
    ),
}


@pytest.mark.parametrize("what", SWEEPS)
def test_the_sweeps_of_a_corpus_share_one_budget(what: str, tmp_path: Path) -> None:
    text, said = SWEEPS[what]
    assert said in complaint(tmp_path, f"sweeps: [{text}]\n")


def test_the_sweeps_of_several_files_are_counted_together(tmp_path: Path) -> None:
    """Each file has few enough, and the corpus has one too many: the place is that of the last sweep."""
    for name, count in (("a", 1), ("b", MOST_SWEEPS)):
        sweeps = "\n".join(f"  - {{name: a{n}, axes: {{seed: [1]}}}}" for n in range(count))
        written(tmp_path, f"{BARE_HEAD}sweeps:\n{sweeps}\n", f"{name}.yaml")
    with pytest.raises(FileError) as caught:
        Corpus.load(tmp_path)
    assert f"at most {MOST_SWEEPS} sweeps (got {MOST_SWEEPS + 1} with this one)" in str(caught.value)
    assert (caught.value.path.name, caught.value.line) == ("b.yaml", 4 + MOST_SWEEPS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (f"spatial: {[1] * 62}, kernel: {[1] * 62}", "x must have at most 16 spatial axes (got 62)"),
        (f"w: {{shape: {[1] * 70}}}, breaks: filter-rank-matches", "w must have at most 16 spatial axes (got 68)"),
        (
            "spatial: [1024, 1024], kernel: [512, 512], out_channels: 4, pads_begin: 255, pads_end: 256",
            "a case must have at most 68719476736 products (got 1099511627776)",
        ),
    ],
)
def test_a_case_too_costly_is_refused_at_its_place(settings: str, said: str, tmp_path: Path) -> None:
    found = complaint(tmp_path, f"cases: [{{name: a, with: {{{settings}}}}}]\n")
    assert "small.yaml:4:9: " in found
    assert said in found


def test_a_case_of_the_highest_rank_is_computed(tmp_path: Path) -> None:
    text = f"cases: [{{name: a, with: {{spatial: {[1] * 16}, kernel: {[1] * 15 + [2]}}}}}]\n"
    (case,) = Corpus.load(written(tmp_path, BARE_HEAD + text)).cases()
    output = expressed(case, DIALECTS["onnx/ConvTranspose-22"]).output
    assert output is not None
    assert output.shape == (1, 1, *[1] * 15, 2)
