"""A backend with other options is another backend: everywhere it is named, and in what is known of it."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from made_records import AGREED, DIFFERED, facts, header, run_of, waiver, waiver_file
from reporting import notes_on
from small_corpus import record_file, written
from tconv.backends import Option, create, names, options_of
from tconv.backends.options import checked, not_default
from tconv.errors import BackendMissing, OptionError
from tconv.execution.run import record_name
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.records.headers import BackendHeader
from tconv.records.record_file import Run, read
from tconv.records.shards import merged
from tconv.reports.junit import write
from tconv.reports.page.overview import overviews
from tconv.reports.report import make_report

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

SPEC = "wrong_backends:PadsAsChosen"
SWAPPED = ("--backend", SPEC, "--option", "pads=swapped")
OPTIONS = (
    Option("pads", "where", "in-place", ("in-place", "swapped")),
    Option("threads", "how many", "1", range(1, 9)),
)


def chosen(**options: str) -> Run:
    run = run_of({"a/b/c[s=1]": DIFFERED, "a/d/e": AGREED})
    backend = run.header.backend.model_copy(update={"options": options})
    return replace(run, header=run.header.model_copy(update={"backend": backend}))


def test_an_option_may_be_any_text_and_a_backend_may_have_none() -> None:
    assert checked([Option("path", "where", "")], {"path": "/a b"}, "acme") == {"path": "/a b"}
    with pytest.raises(OptionError, match="acme must be given no option, as it has none"):
        checked([], {"path": "x"}, "acme")


def test_what_is_given_at_its_default_is_not_told() -> None:
    assert not_default(OPTIONS, {"threads": "2", "pads": "in-place"}) == {"threads": "2"}


@pytest.mark.parametrize("name", names())
def test_every_shipped_option_may_have_its_default(name: str) -> None:
    try:
        options = options_of(create(name))
    except BackendMissing as error:
        pytest.skip(str(error))
    assert all(option.allows(option.default) and option.meaning for option in options)
    create(name, {option.name: option.default for option in options})


def test_the_options_reach_the_backend_and_stand_in_the_header(command: Command, tmp_path: Path) -> None:
    """Both runs have files of their own, the terminal names the options, and the commands that it prints have them."""
    cases = ("--cases", str(written(tmp_path)), "--output", "out")
    assert command("run", "--backend", SPEC, "--option", "pads=in-place", *cases).returncode == 0
    done = command("run", *SWAPPED, *cases)
    assert done.returncode == 1
    assert "PadsAsChosen 1.0 pads=swapped  onnx/ConvTranspose-22" in done.stdout
    assert f"tconv explain small/padded --backend {SPEC} --option pads=swapped --dialect " in done.stdout
    first, second = sorted((tmp_path / "out").glob("*.jsonl"))
    assert first == record_file(tmp_path, "PadsAsChosen")
    assert second.name == first.name.replace("1.0", "1.0-pads=swapped")
    assert [read(path).header.backend.options for path in (first, second)] == [{}, {"pads": "swapped"}]


def test_artifacts_of_other_options_have_other_names(command: Command, tmp_path: Path) -> None:
    words = ("run", *SWAPPED, "--cases", str(written(tmp_path)), "--output", "out")
    command(*words)
    command(*words, "--option", "threads=2")
    runs = [read(path) for path in (tmp_path / "out").glob("*.jsonl")]
    named = [record.artifact for run in runs for record in run.records if record.artifact]
    assert len(runs) == 2
    assert len(set(named)) == len(named) > 0
    assert all((tmp_path / "out" / name).is_file() for name in named)


def test_a_run_with_other_options_is_not_resumed() -> None:
    assert not chosen().header.continues(chosen(pads="swapped").header)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "small/padded"),
        ("shrink", "small/padded"),
        ("export", "small/padded", "--issue"),
    ],
    ids=lambda words: words[0],
)
def test_the_commands_for_one_case_take_options_too(command: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    cases = ("--cases", str(written(tmp_path)))
    failing, fine = (command(*words, *backend, *cases) for backend in (SWAPPED, ("--backend", SPEC)))
    assert "pads-exchanged" in failing.stdout
    assert "pads-exchanged" not in fine.stdout
    assert words[0] == "explain" or "--option pads=swapped" in failing.stdout


@pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")
def test_a_platform_that_jax_does_not_have_is_named(command: Command) -> None:
    done = command("run", "examples/onnx/1d", "--backend", "jax", "--option", "platform=METAL")
    assert done.returncode == 3
    assert "option platform of jax must be a platform that jax has on this machine (got 'METAL': " in done.stderr


def test_the_command_lists_the_options_of_each_backend(command: Command) -> None:
    line = "  --option intra_op_num_threads=1  threads of an operator: an integer from 1 to 1024"
    assert line in command("backends").stdout.splitlines()


def test_runs_with_other_options_are_two_in_every_report(tmp_path: Path) -> None:
    runs = [chosen(), chosen(threads="2"), chosen(threads="3")]
    assessments = [assess(run, None, facts) for run in runs]
    shown = overviews(make_report(assessments).runs)
    assert [overview.name.partition(",")[0] for overview in shown] == [
        "acme 1.2.0",
        "acme 1.2.0 threads=2",
        "acme 1.2.0 threads=3",
    ]
    assert len({overview.key for overview in shown}) == 3
    assert len({record_name(run.header) for run in runs}) == 3
    write(make_report(assessments), tmp_path / "junit.xml")
    assert "acme 1.2.0 threads=2 onnx" in (tmp_path / "junit.xml").read_text()
    parts = [replace(run, header=run.header.model_copy(update={"shard": "1/2"})) for run in runs]
    assert len(merged(parts)) == 3


def test_two_values_never_have_one_record_file() -> None:
    values = ("AUTO:CPU,GPU", "AUTO_CPU_GPU", "AUTO%3ACPU,GPU", "AUTO~CPU_GPU")
    files = {record_name(chosen(device=value).header) for value in values}
    assert len(files) == len(values)


def test_many_options_have_a_name_that_a_system_can_have_and_a_title_that_a_person_can_read() -> None:
    """A file's name has 255 bytes at most, and the lock beside it has a longer one. Options differ at the end too."""
    many = [{f"option{number}": str(number) for number in range(count)} for count in (4999, 5000)]
    names = {record_name(chosen(**options).header, "selection-6daf05ec") for options in many}
    assert len(names) == 2
    for name in names:
        assert len(f".{name}.lock") <= 255
        assert name.startswith("acme-1.2.0-option0=0-option1=1-")
        assert name.endswith("-onnx-ConvTranspose-22-selection-6daf05ec.jsonl")
    title = chosen(**many[0]).header.backend.title
    assert len(title) <= 400
    assert title.startswith("acme 1.2.0 option0=0 option1=1 ")
    assert title.endswith(" option4998=4998")


@pytest.mark.parametrize(
    ("of_file", "options", "status"),
    [
        ({}, {}, Status.WAIVED),
        ({}, {"threads": "2"}, Status.FAILED),
        ({"threads": 2}, {"threads": "2"}, Status.WAIVED),
        ({"threads": 2}, {}, Status.FAILED),
        ({"threads": ["default", 2]}, {}, Status.WAIVED),
        ({"threads": "*"}, {}, Status.WAIVED),
        ({"threads": "*"}, {"threads": "3"}, Status.WAIVED),
        ({"threads": "*"}, {"threads": "3", "pads": "swapped"}, Status.FAILED),
        ({"threads": 2}, {"threads": "3"}, Status.FAILED),
    ],
    ids=str,
)
def test_a_waiver_file_is_for_default_options_unless_it_names_others(
    of_file: dict[str, Any], options: dict[str, str], status: Status
) -> None:
    """An option that the file does not name must be at its default; for other options it does not apply."""
    file = waiver_file(waiver()).model_copy(update={"options": of_file})
    result = assess(chosen(**options), file, facts)
    assert result.statuses[0].status is status
    # A waiver for other options is neither stale nor void, and summary, page and JSON say that the file does not apply.
    applies = status is Status.WAIVED
    assert [use.state for use in result.waivers.uses] == (["fitting"] if applies else [])
    assert any("other options" in text for text in notes_on(result)) is not applies


def test_a_proposal_for_other_options_is_a_file_of_its_own(command: Command, tmp_path: Path) -> None:
    """It names the options, and its entries would not apply in the file by which the records were judged."""
    cases = ("--cases", str(written(tmp_path)))
    content = {"format": 1, "backend": "PadsAsChosen", "waivers": [waiver(cases="small/*", example="small/padded")]}
    (tmp_path / "own.yaml").write_text(json.dumps(content))
    command("run", *cases, *SWAPPED, "--output", "out", "-j", "1")
    done = command("waivers", "propose", "out", *cases, "--waivers", "own.yaml", "--output", "more.yaml")
    assert done.stderr.endswith(" --waivers more.yaml\n")
    proposal = tmp_path / "more.yaml"
    proposal.write_text(proposal.read_text().replace("TODO", "the pads are swapped"))
    assert command("report", "out", *cases, "--waivers", "own.yaml").returncode == 1
    assert command("report", "out", *cases, "--waivers", "more.yaml").returncode == 0


def test_a_header_without_options_is_of_the_defaults() -> None:
    assert BackendHeader.model_validate({"name": "acme", "version": "1"}).title == "acme 1"
    assert header().backend.arguments == ("--backend", "acme")
