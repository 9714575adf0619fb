"""Readings: what else a text allows, which of it a case can tell apart, and under which names."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import BACKPROP, ONEDNN, ONNX, examples, signatures, written
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.readings import Reading, apply_readings, branches, results_of
from tconv.dialects.rules import QUESTIONS, Rules
from tconv.vocabulary import Attributes, Signature

if TYPE_CHECKING:
    from tconv.errors import Violation

ONNX_1, ONNX_11, ONNX_22 = ONNX


def reading(dialect: str, name: str) -> Reading:
    return next(candidate for candidate in DIALECTS[dialect].disputed if candidate.name == name)


def read(dialect: str, name: str, kernel: int, **attributes: int | str) -> tuple[int, int] | str:
    """Return (pads_begin, output) of one axis of size 3 under a reading, or the constraint that refuses it."""
    lists = {key: (value,) if isinstance(value, int) else value for key, value in attributes.items()}
    signature = written((3,), (kernel,), Attributes(**lists))  # type: ignore[arg-type]
    found = resolve(signature, apply_readings(DIALECTS[dialect].rules, [reading(dialect, name)]))
    return (found.pads_begin[0], found.output[0]) if isinstance(found, Geometry) else found.constraint


_NEGATIVE_SIZED = {"negative-sized-appended", "negative-sized-refused"}
_NEGATIVE_SAME = {"negative-same-appended", "negative-same-refused"}
_TRUNCATED = {"negative-sized-truncated", "negative-same-truncated", "negative-same-shrunk"}
_PROSE = {"sized-upper-odd-end", "sized-lower-odd-begin"}


@pytest.mark.parametrize(
    ("dialects", "names"),
    [
        ((ONNX_11, ONNX_22), {"same-output-padding-added"} | _NEGATIVE_SIZED | _NEGATIVE_SAME | _TRUNCATED),
        ((ONNX_1,), {"valid-keeps-pads"} | _PROSE | _NEGATIVE_SIZED | _NEGATIVE_SAME | _TRUNCATED),
        ((ONEDNN,), {"negative-same-shrunk", "negative-same-refused"}),
        (BACKPROP, {"same-as-convolution", "valid-keeps-pads"} | _PROSE | _NEGATIVE_SIZED | _NEGATIVE_SAME),
        (("geometry/1",), set()),
    ],
)
def test_the_disputed_readings_of_each_dialect(dialects: tuple[str, ...], names: set[str]) -> None:
    """Each text is disputed where the table of rules says so, and nowhere else; names stand in records for good."""
    for dialect in dialects:
        assert {reading.name for reading in DIALECTS[dialect].disputed} == names


@pytest.mark.parametrize(
    ("dialects", "name", "attributes", "expected"),
    [
        # X=3, K=3, s=2 reaches 7. ONNX 11: the first equation adds output_padding[i]; 'Additional elements added to the
        # side with higher coordinate indices'. The total is 3 - 2 = 1 and the size 6 + op.
        (ONNX[1:], "same-output-padding-added", {"auto_pad": "same_upper", "output_padding": 1}, (0, 7)),
        (ONNX[1:], "same-output-padding-added", {"auto_pad": "same_lower", "output_padding": 1}, (1, 7)),
        # BackpropData: 'accepts the same set of attributes as a regular Convolution'. 7 + op - 6.
        (BACKPROP, "same-as-convolution", {"auto_pad": "same_upper"}, (0, 6)),
        (BACKPROP, "same-as-convolution", {"auto_pad": "same_lower"}, (1, 6)),
        (BACKPROP, "same-as-convolution", {"auto_pad": "same_lower", "output_padding": 1}, (1, 6)),
        (BACKPROP, "same-as-convolution", {"auto_pad": "same_lower", "output_padding": 2}, (2, 6)),
        # 'valid - do not use padding', 'VALID mean no padding'.
        ((ONNX_1, *BACKPROP), "valid-keeps-pads", {"auto_pad": "valid", "output_shape": 4}, (0, 4)),
        ((ONNX_1, *BACKPROP), "valid-keeps-pads", {"auto_pad": "valid", "output_shape": 9}, (0, 9)),
        # 'In case of odd padding value an extra padding is added at the end (at the beginning)'. Total 1.
        ((ONNX_1, *BACKPROP), "sized-upper-odd-end", {"auto_pad": "same_upper", "output_shape": 6}, (0, 6)),
        ((ONNX_1, *BACKPROP), "sized-lower-odd-begin", {"auto_pad": "same_lower", "output_shape": 6}, (1, 6)),
        # output_shape 10 from 7: -3.
        (ONNX[1:], "negative-sized-truncated", {"output_shape": 10}, (-2, 10)),
        (ONNX[1:], "negative-sized-truncated", {"output_shape": 10, "auto_pad": "same_upper"}, (-1, 10)),
        ((ONNX_1,), "negative-sized-truncated", {"output_shape": 10}, (-1, 10)),
        ((*ONNX, *BACKPROP), "negative-sized-appended", {"output_shape": 10}, (0, 10)),
        ((*ONNX, *BACKPROP), "negative-sized-refused", {"output_shape": 10}, "total-padding-non-negative"),
    ],
)
def test_what_each_reading_makes_of_a_case(
    dialects: tuple[str, ...], name: str, attributes: dict[str, int | str], expected: tuple[int, int] | str
) -> None:
    for dialect in dialects:
        assert read(dialect, name, 3, strides=2, **attributes) == expected, dialect


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_reading_changes_one_answer(name: str) -> None:
    rules = DIALECTS[name].rules
    for reading in DIALECTS[name].disputed:
        changed = apply_readings(rules, [reading])
        differing = [question for question in QUESTIONS if getattr(changed, question) != getattr(rules, question)]
        assert differing == [reading.change.question]
        assert getattr(changed, reading.change.question) is reading.change.answer
    assert apply_readings(rules, []) == rules


# What a case asks, and what it tells apart.


class Asked:
    """Rules that note every question that is put to them."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.questions: set[str] = set()

    def __getattr__(self, question: str) -> Any:  # noqa: ANN401 - the type of the field that is asked for
        """Note the question and answer it."""
        self.questions.add(question)
        return getattr(self.rules, question)


@pytest.mark.parametrize(
    ("attributes", "questions"),
    [
        ({}, set()),
        ({"pads_begin": (1,), "pads_end": (2,), "output_padding": (1,)}, set()),
        ({"auto_pad": "valid"}, set()),
        ({"auto_pad": "same_upper", "dilations": (3,)}, {"same", "odd_upper"}),
        ({"auto_pad": "same_lower"}, {"same", "odd_lower"}),
        ({"auto_pad": "same_lower", "output_padding": (1,)}, {"same"}),
        ({"auto_pad": "same_upper", "strides": (4,)}, {"same", "negative_same", "odd_upper"}),
        ({"output_shape": (7,)}, {"sized_explicit"}),
        ({"output_shape": (6,)}, {"sized_explicit", "odd_sized"}),
        ({"output_shape": (6,), "auto_pad": "valid"}, {"sized_valid", "odd_sized"}),
        ({"output_shape": (6,), "auto_pad": "same_upper"}, {"odd_sized_upper"}),
        ({"output_shape": (6,), "auto_pad": "same_lower"}, {"odd_sized_lower"}),
        ({"output_shape": (5,), "auto_pad": "same_lower"}, set()),
        ({"output_shape": (9,), "auto_pad": "same_lower"}, {"negative_sized"}),
        ({"output_shape": (8,), "auto_pad": "same_lower"}, {"negative_sized", "odd_sized_lower"}),
    ],
)
def test_a_question_is_put_only_where_its_answer_matters(attributes: dict[str, Any], questions: set[str]) -> None:
    """A plain case asks no question; a side is asked for odd totals alone, and rounding for negative ones alone."""
    asked = Asked(DIALECTS[ONNX_11].rules)
    resolve(written((3,), (3,), Attributes(**({"strides": (2,)} | attributes))), cast("Rules", asked))
    assert asked.questions == questions


def resolved(signature: Signature, dialect: str) -> dict[Geometry | Violation, int]:
    """Return each result of every combination of readings, and the fewest readings that give it."""
    row = DIALECTS[dialect]
    choices = [
        (None, *(reading for reading in row.disputed if reading.change.question == question)) for question in QUESTIONS
    ]
    found: dict[Geometry | Violation, int] = {}
    for combination in product(*choices):
        chosen = [reading for reading in combination if reading]
        result = resolve(signature, apply_readings(row.rules, chosen))
        found[result] = min(found.get(result, len(chosen)), len(chosen))
    return found


def test_results_of_fewer_readings_come_first() -> None:
    """Also where a question of a later axis is put before all answers to an earlier one: here one reading refuses."""
    signature = written((3, 3), (2, 1), Attributes(strides=(3, 4), auto_pad="same_lower", output_shape=(14, 4)))
    dialect = DIALECTS[ONNX_1]
    found = [result.readings for result in results_of(branches(signature, dialect.rules, dialect.disputed))]
    assert [*map(len, found)] == [0, 1, 1, 1, 2]
    assert found[3] == ("negative-sized-refused",)


@given(signatures(0), st.sampled_from(sorted(DIALECTS)))
@examples(250)
def test_branching_finds_all_that_the_whole_product_finds(signature: Signature, dialect: str) -> None:
    """Each result once, in the order of the number of readings; the first is that of the primary readings."""
    row = DIALECTS[dialect]
    found = results_of(branches(signature, row.rules, row.disputed))
    assert {branch.result: len(branch.readings) for branch in found} == resolved(signature, dialect)
    counts = [len(branch.readings) for branch in found]
    assert counts == sorted(counts)
    assert counts.count(0) == 1
    assert len({branch.result for branch in found}) == len(found)
    for branch in found:
        chosen = [reading(dialect, name) for name in branch.readings]
        assert resolve(signature, apply_readings(row.rules, chosen)) == branch.result
