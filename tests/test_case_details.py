"""`tconv show`: what is asked, what each dialect makes of it, and how the tolerance is derived."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from strategies import case
from tconv.cases.case import Cite
from tconv.cli.show_command import command as show_command
from tconv.dialects import DIALECTS
from tconv.expectation.bound import SYMBOLS, derive
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect
from tconv.reports import case_details
from tconv.vocabulary import DType

if TYPE_CHECKING:
    import click

    from tconv.cases.case import Case
    from tconv.corpus import Corpus

ONNX_1, ONNX_11, ONNX_22 = "onnx/ConvTranspose-1", "onnx/ConvTranspose-11", "onnx/ConvTranspose-22"
ONEDNN, OPENVINO = "onednn/ConvTranspose-1", "openvino/ConvolutionBackpropData-1"
EXACT = "  tolerance   none: integers, |x|*|w| + |b| adds up to at most 2^24 everywhere"


def account_of(example: Case, dialect_name: str = ONNX_22) -> list[str]:
    """Return the account of a case in a dialect."""
    return list(case_details.in_dialect(example, DIALECTS[dialect_name]))


def output_of(command: click.Command, *arguments: str) -> str:
    """Return what a command prints."""
    return CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=False).output


# The case itself.


def test_the_case_itself() -> None:
    example = case((5,), (3,), channels=2, filters=3, bias=(3,), strides=(2,), auto_pad="valid", about="Words.",
               cites=(Cite(ONNX_11, "doc"),), breaks="strides-given", shapes="symbolic", filter_source="input",
               data="normal", dtype=DType.F16)  # fmt: skip
    assert list(case_details.of_case(example)) == [
        "topic/file/name",
        "  Words.",
        f"  cites {ONNX_11}: doc",
        "  breaks strides-given, and nothing else",
        "  x  f16 [1, 2, 5] normal seed 0",
        "  w  f16 [2, 3, 3] normal seed 0",
        "  b  f16 [3] normal seed 0",
        "  attributes  strides=[2], auto_pad=valid",
        "  sizes symbolic, data as input, filter as input, bias as input",
    ]


# In a dialect. The shipped cases with values by hand are small enough to be written out.


def test_a_value(corpus: Corpus) -> None:
    """The call in the dialect's words, the inputs in its layouts, the geometry, the value, and how it is compared."""
    example = corpus.case("padding/output-shape/odd-unit-by-hand")
    assert account_of(example, ONNX_11) == [
        ONNX_11,
        "  call        strides=[2], auto_pad=NOTSET, output_shape=[6]",
        "  inputs      X [1, 1, 3], W [1, 1, 3] constant, in NCX and IOX",
        "  primary reading",
        "    full [7], pads_begin [1], pads_end [0], output [6]",
        "    expects [1, 1, 6]  [10, 102, 20, 203, 30, 300] in NCX order",
        EXACT,
    ]
    assert "    expects [1, 1, 6]  [1, 10, 102, 20, 203, 30] in NCX order" in account_of(example, ONNX_1)


def test_an_output_shape_that_is_an_input_is_told(corpus: Corpus) -> None:
    """Where the size is an input its values are told with it; the output is in the dialect's layout."""
    lines = account_of(corpus.case("padding/output-shape/odd-unit-by-hand"), "onednn/ConvolutionBackpropData-1")
    assert lines[1] == "  call        strides=[2], dilations=[1], pads_begin=[0], pads_end=[0], auto_pad=None"
    assert (
        lines[2]
        == "  inputs      data [1, 3, 1], filter [3, 1, 1] constant, output_shape [1] of [6] constant, in NXC and XOI"
    )
    assert "    expects [1, 6, 1]  [1, 10, 102, 20, 203, 30] in NCX order" in lines


def test_readings_and_refusals_with_their_clauses(corpus: Corpus) -> None:
    lines = account_of(corpus.case("padding/output-shape/negative-total-by-hand"))
    assert lines[3:6] == [
        "  primary reading",
        "    full [8], pads_begin [-1], pads_end [-1], output [10]",
        "    expects [1, 1, 10]  [0, 1, 10, 0, 2, 20, 0, 3, 30, 0] in NCX order",
    ]
    assert lines[6:9] == [
        "  under negative-sized-appended",
        "    full [8], pads_begin [0], pads_end [-2], output [10]",
        "    expects [1, 1, 10]  [1, 10, 0, 2, 20, 0, 3, 30, 0, 0] in NCX order",
    ]
    (reading,) = (reading for reading in DIALECTS[ONNX_22].disputed if reading.name == "negative-sized-appended")
    assert lines[9:] == [
        f"  negative-sized-appended: {reading.says} [{reading.cites}]",
        "  a refusal is disputed: negative-sized-refused",
        EXACT,
    ]


def test_products_of_readings_are_told_together() -> None:
    lines = account_of(case((2,), (1,), strides=(4,), auto_pad="same_upper"), OPENVINO)
    assert "  under same-as-convolution + negative-same-appended" in lines
    for name in ("same-as-convolution", "negative-same-appended"):
        assert sum(line.startswith(f"  {name}: ") for line in lines) == 1
    assert "  a refusal is disputed: same-as-convolution + negative-same-refused" in lines


def test_what_is_owed_a_refusal() -> None:
    """Stated, with the clause; where a text is open and there is no value, that there is none."""
    lines = account_of(case((5,), (3,), auto_pad="same_upper", pads_begin=(1,), breaks="pads-without-auto-pad"))
    clause = DIALECTS[ONNX_22].constraints["pads-without-auto-pad"].clause
    assert lines[0] == ONNX_22
    assert lines[1] == "  call        pads=[1, 0], auto_pad=SAME_UPPER"
    assert lines[3] == (
        "  expects a refusal: pads must not be written together with auto_pad same_upper (got [1]) "
        f"[pads-without-auto-pad: {clause}]"
    )
    assert len(lines) == 4
    assert account_of(case((5,), (3,), strides=(0,), breaks="strides-positive"))[3].startswith(
        "  no value exists: strides must "
    )


@pytest.mark.parametrize("dtype", DType)
def test_a_tolerance_is_derived(dtype: DType) -> None:
    """The formula of the type, and its numbers where it is largest: n, A, the limit, the warning line."""
    lines = account_of(case((5,), (3,), channels=2, bias=(1,), data="normal", dtype=dtype))
    assert lines[-3:-1] == [f"  tolerance   {derive(dtype, {})}", f"{'':14}{SYMBOLS}"]
    match = re.fullmatch(
        r" {14}at \[([\d,]+)\], where it is largest: n = (\d+), A = ([\d.e+-]+), "
        r"\|actual - [\d.e+-]+\| <= ([\d.e+-]+), remarkable above ([\d.e+-]+)",
        lines[-1],
    )
    assert match
    assert len(match[1].split(",")) == 3
    # One to three taps of two channels, and a bias.
    assert int(match[2]) in {3, 5, 7}
    assert 0 < float(match[4]) < float(match[3])


def test_special_values_do_not_hide_the_tolerance() -> None:
    """The element that is told has a finite limit; where none has, the formula stands alone."""
    special = case((9,), (2,), data="special")
    lines = account_of(replace(special, w=replace(special.w, data="normal")))
    assert "nan" in lines[-4]
    assert "inf" in lines[-4]
    assert re.search(r"<= [\d.e-]+, remarkable above [\d.e-]+$", lines[-1])
    nowhere = case((2,), (1,), data="nan")
    assert account_of(nowhere)[-2] == f"  tolerance   {derive(DType.F32, {})}"


def test_an_empty_output_has_a_formula_and_no_place() -> None:
    lines = account_of(case((3,), (2,), output_shape=(0,), data="normal"))
    assert "    expects [1, 1, 0]  [] in NCX order" in lines
    assert lines[-2] == f"  tolerance   {derive(DType.F32, {})}"


@pytest.mark.parametrize(("size", "end"), [(24, "] in NCX order"), (25, ", ...] in NCX order")])
def test_long_lists_are_cut(size: int, end: str) -> None:
    """24 elements are enough to recognise an output; what is left out is marked."""
    (line,) = (line for line in account_of(case((size,), (1,))) if line.startswith("    expects"))
    assert line.endswith(end)
    assert line.endswith(", ...] in NCX order") == (size > 24)
    assert line.removesuffix(", ...] in NCX order").count(", ") == 2 + 23


def test_every_gate_case_can_be_shown(gate_cases: tuple[Case, ...]) -> None:
    """A sample of some 300 cases has an account in every dialect, each of the kind that the dialect expects."""
    sample = gate_cases[::18]
    assert len(sample) >= 300
    kinds: dict[str, int] = {}
    for example in sample:
        assert next(case_details.of_case(example)) == example.id
        for dialect in DIALECTS.values():
            lines = list(case_details.in_dialect(example, dialect))
            assert lines[0] == dialect.name
            assert not any("\n" in line for line in lines)
            match expect(example, dialect):
                case NotApplicable():
                    kind = "not-applicable"
                    assert lines[1].startswith("  not applicable: ")
                case Refuse(_, stated):
                    kind = "refusal"
                    assert lines[3].startswith("  expects a refusal: " if stated else "  no value exists: ")
                case Values(_, disputed, refusals):
                    kind = "values"
                    expected = [line for line in lines if line.startswith("    expects ")]
                    assert len(expected) == 1 + len(disputed)
                    assert sum(line.startswith("  a refusal is disputed: ") for line in lines) == len(refusals)
                    assert sum(line.startswith("  tolerance   ") for line in lines) == 1
            kinds[kind] = kinds.get(kind, 0) + 1
    assert kinds.keys() == {"not-applicable", "refusal", "values"}
    assert min(kinds.values()) > 10


# tconv show


def test_show_says_once_what_dialects_have_in_common(corpus: Corpus) -> None:
    example = corpus.case("padding/output-shape/odd-unit-by-hand")
    shown = output_of(show_command, example.id)
    first, *others = shown.rstrip("\n").split("\n\n")
    assert first.splitlines() == list(case_details.of_case(example))
    headings = [part.splitlines()[0] for part in others]
    assert f"{ONNX_11}, {ONNX_22}" in headings
    assert headings[-1] == "in all that can say it"
    assert shown.count("  tolerance   ") == 1
    assert shown.count("pads_begin [0], pads_end [1], output [6]") == 2
    lines = set(shown.splitlines())
    for name in DIALECTS:
        assert name in " ".join(headings)
        assert set(account_of(example, name)[1:]) <= lines


def test_show_of_one_dialect_is_its_account(corpus: Corpus) -> None:
    example = corpus.case("padding/output-shape/odd-unit-by-hand")
    assert output_of(show_command, "**/odd-unit-by-hand", "--dialect", ONNX_1).rstrip("\n").split("\n\n") == [
        "\n".join(case_details.of_case(example)),
        "\n".join(account_of(example, ONNX_1)),
    ]


def test_show_as_json_has_what_the_text_has(corpus: Corpus) -> None:
    example = corpus.case("padding/output-shape/odd-unit-by-hand")
    said = json.loads(output_of(show_command, example.id, "--json"))
    assert (said["id"], list(said["dialects"])) == (example.id, list(DIALECTS))
    (candidate,) = said["dialects"][ONNX_1]["candidates"]
    assert (candidate["pads_begin"], candidate["output"], candidate["readings"]) == ([0], [6], [])
    assert "not-applicable" in said["dialects"]["geometry/1"]
    invalid = json.loads(output_of(show_command, "invalid/attributes/groups-zero", "--json", "--dialect", ONNX_22))
    assert "groups-positive" in invalid["dialects"][ONNX_22]["refusal"]["because"]


# tconv show of sizes and attributes


def resolved(*arguments: str) -> list[list[str]]:
    """Return the rows: dialect, pads at the beginning and at the end, output or refusal, reading."""
    rows = json.loads(output_of(show_command, *arguments, "--json"))
    for row in rows:
        row["output"] = row.get("output") or f"refused: {row['refusal']}"
    keys = ("dialect", "pads_begin", "pads_end", "output", "reading")
    return [[str(row.get(key, "")) for key in keys] for row in rows]


def test_show_of_sizes_prints_a_line_for_each_row_of_the_json() -> None:
    """Into a pipe, with every cell unpadded; what a row does not have is a dash."""
    arguments = ("--spatial", "3", "--kernel", "3", "--strides", "2", "--auto-pad", "same_upper")
    heading, *lines = output_of(show_command, *arguments).splitlines()
    assert heading == "dialect  reading  pads_begin  pads_end  output  refusal"
    assert len(lines) == len(resolved(*arguments))
    assert f"{ONNX_1}  primary  [2]  [2]  [3]  -" in lines


def test_show_of_sizes_puts_the_dialects_side_by_side() -> None:
    """[1 .. 3] with three taps and stride 2 under SAME_UPPER: where the texts part is seen at once."""
    rows = resolved("--spatial", "3", "--kernel", "3", "--strides", "2", "--auto-pad", "same_upper")
    assert [ONNX_1, "[2]", "[2]", "[3]", "primary"] in rows
    assert [ONNX_22, "[0]", "[1]", "[6]", "primary"] in rows
    at = rows.index([OPENVINO, "[0]", "[0]", "[7]", "primary"])
    assert rows[at + 1] == [OPENVINO, "[0]", "[1]", "[6]", "same-as-convolution"]
    (refused,) = (row for row in rows if row[0] == "geometry/1")
    assert refused[3].startswith("refused: auto_pad must not be there")
    assert [row[0] for row in rows if row[4] == "primary"] == list(DIALECTS)


def test_show_of_sizes_tells_readings_that_refuse() -> None:
    """A reading under which the text refuses names the constraint; readings that change nothing are left out."""
    rows = resolved(
        "--spatial", "2", "--kernel", "1", "--strides", "4", "--auto-pad", "same_upper", "--dialect", ONNX_11
    )
    *values, refused = rows
    assert values == [
        [ONNX_11, "[-2]", "[-1]", "[8]", "primary"],
        [ONNX_11, "[0]", "[-3]", "[8]", "negative-same-appended"],
        [ONNX_11, "[-1]", "[-2]", "[8]", "negative-same-truncated"],
        [ONNX_11, "[0]", "[0]", "[5]", "negative-same-shrunk"],
    ]
    assert refused[4] == "negative-same-refused"
    assert refused[3].startswith("refused: output must need no padding below 0 (got a total padding of -3)")
    assert "[total-padding-non-negative: " in refused[3]


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (["--spatial", "5,4", "--kernel", "3"], ["[0, 0]", "[0, 0]", "[7, 6]"]),
        (
            ["--spatial", "5x4", "--kernel", "3x2", "--pads-begin", "1,0", "--pads-end", "2"],
            ["[1, 0]", "[2, 2]", "[4, 3]"],
        ),
        (
            ["--spatial", "5,4", "--kernel", "3,2", "--strides", "2", "--dilations", "1,3"],
            ["[0, 0]", "[0, 0]", "[11, 10]"],
        ),
        (["--spatial", "5", "--kernel", "3", "--strides", "2", "--output-padding", "1"], ["[0]", "[-1]", "[12]"]),
        (["--spatial", "5", "--kernel", "3", "--output-shape", "6", "--groups", "2"], ["[1]", "[0]", "[6]"]),
        (["--spatial", "5", "--kernel", "3", "--auto-pad", "valid"], ["[0]", "[0]", "[7]"]),
    ],
)
def test_show_of_sizes_takes_sizes_and_attributes(arguments: list[str], row: list[str]) -> None:
    assert resolved(*arguments, "--dialect", ONNX_22)[0] == [ONNX_22, *row, "primary"]


@pytest.mark.parametrize(
    ("arguments", "constraint"),
    [
        ({"--strides": "1,2"}, "strides-length"),
        ({"--strides": "0"}, "strides-positive"),
        ({"--output-padding": "3"}, "output-padding-below-stride-or-dilation"),
        ({"--pads-begin": "9"}, "output-size-non-negative"),
        ({"--groups": "0"}, "groups-positive"),
    ],
)
def test_show_of_sizes_tells_what_a_dialect_refuses(arguments: dict[str, Any], constraint: str) -> None:
    rows = resolved(
        "--spatial", "4", "--kernel", "3", "--dialect", ONNX_22, *(x for pair in arguments.items() for x in pair)
    )
    assert len(rows) >= 1
    assert rows[0][3].startswith("refused: ")
    assert constraint in rows[0][3]
