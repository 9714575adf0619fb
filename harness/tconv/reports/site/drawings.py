"""The drawing of a question: a call along its last axis. It has the data, what the taps reach, and each output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.expected import Values, expect
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.reports.site.questions import Asked, Question

_ONNX = DIALECTS["onnx/ConvTranspose-22"]
_MOST = 48
"""The most elements of a row."""
_TRIED = 100
"""The number of calls to try for a drawing: of those with most answers, one with strides and several taps is drawn."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing; the template of a question makes SVG of it.

    Attributes:
        case: the call.
        title: its sizes.
        left: the place of the first column, relative to the first element that a tap reaches.
        columns: the number of columns.
        rows: the words of each row, and its cells: place, class and label.
    """

    case: Case
    title: str
    left: int
    columns: int
    rows: Sequence[tuple[str, Sequence[tuple[int, str, str]]]]


def draw_question(question: Question, simplest: Sequence[tuple[Case, Asked]]) -> Drawing | None:
    """Return the drawing of a question; None if no call of it has an output.

    Args:
        question: the question.
        simplest: calls with at least one spatial axis, the simplest first.
    """
    found: list[tuple[Case, Mapping[str, Geometry]]] = []
    for case, asked in simplest:
        if question.is_of(asked) and (outputs := _outputs(case, question)):
            found.append((case, outputs))
        if len(found) == _TRIED:
            break
    drawings = (draw(case, outputs) for case, outputs in sorted(found, key=_rank))
    return next(filter(None, drawings), None)


def _rank(found: tuple[Case, Mapping[str, Geometry]]) -> tuple[int, bool, bool]:
    """Return how little a call shows.

    It shows little if it has few answers, or if it has no stride, few elements or one tap. SAME_UPPER and SAME_LOWER
    differ only if the two pads do; and with output_shape the texts do not agree which one is which.
    """
    case, outputs = found
    geometry = next(iter(outputs.values()))
    begin, end = geometry.pads_begin[-1], geometry.pads_end[-1]
    attributes = case.attributes
    same = attributes.auto_pad in (AutoPad.SAME_UPPER, AutoPad.SAME_LOWER)
    alike = same and (attributes.output_shape is not None or min(begin, end) < 0 or begin == end)
    small = min(geometry.strides[-1] - 1, geometry.spatial[-1] - 2, geometry.kernel[-1] - 1) <= 0
    return -len(outputs), alike, small


def draw(case: Case, outputs: Mapping[str, Geometry]) -> Drawing | None:
    """Return the drawing of a call; None if its axis is too long, or has no element.

    Args:
        case: the call.
        outputs: the outputs by their words, a row for each.
    """
    first = next(iter(outputs.values()))
    spatial, kernel, stride, dilation = case.x.shape[-1], case.w.shape[-1], first.strides[-1], first.dilations[-1]
    hit = {i * stride + k * dilation for i in range(spatial) for k in range(kernel)}
    reach = (spatial - 1) * stride + (kernel - 1) * dilation + 1
    places = {words: range(of.pads_begin[-1], of.pads_begin[-1] + of.output[-1]) for words, of in outputs.items()}
    left = min(0, *(place.start for place in places.values()))
    columns = max(reach, *(place.stop for place in places.values())) - left
    if not 0 < columns <= _MOST or min(spatial, kernel) < 1:
        return None
    rows = [
        ("data", [(i * stride, "data", str(i + 1)) for i in range(spatial)]),
        ("all that the taps reach", [(o, "hit" if o in hit else "gap", "") for o in range(reach)]),
        *(
            (words, [(o, "kept" if o in hit else "empty", str(number)) for number, o in enumerate(place, 1)])
            for words, place in places.items()
        ),
    ]
    title = f"{spatial} elements of data, {kernel} taps, stride {stride}, dilation {dilation}"
    return Drawing(case, title, left, columns, rows)


def _outputs(case: Case, question: Question) -> Mapping[str, Geometry]:
    """Return the outputs of a case: for each answer to a rule; if there is no rule, by ONNX's first reading."""
    by_place: dict[tuple[int, int], tuple[Geometry, list[str]]] = {}
    for words, geometry in _results(case, question):
        place = geometry.pads_begin[-1], geometry.output[-1]
        by_place.setdefault(place, (geometry, []))[1].append(words)
    return {"; or: ".join(dict.fromkeys(words)): geometry for geometry, words in by_place.values()}


def _results(case: Case, question: Question) -> Iterator[tuple[str, Geometry]]:
    name = question.key.replace("-", "_")
    if question.kind != "rule" or name not in QUESTIONS:
        expected = expect(case, _ONNX)
        if isinstance(expected, Values):
            yield "output", expected.primary.geometry
        return
    for answer in type(getattr(_ONNX.rules, name)):
        changed: dict[str, Any] = {name: answer}
        result = resolve(case.signature, replace(_ONNX.rules, **changed))
        if isinstance(result, Geometry):
            yield answer.says, result
