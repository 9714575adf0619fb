"""One port: how to write a call in another text so that its output stays the same, and what else is needed.

Every proposal is proven: both texts are resolved, and the geometries are equal. If no attributes of the target give
the geometry, the largest output is taken that is a part of the source's. The missing elements lie beyond all taps,
so they are equal to the bias, and are appended behind the operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tconv.cases.call import express, write_signature
from tconv.dialects import DIALECTS, NoWord
from tconv.dialects.readings import Combination
from tconv.errors import Invalid, UsageError
from tconv.expectation.expected import Values, expect
from tconv.nearest_word import nearest
from tconv.vocabulary import NEUTRAL, Attributes, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Ints

_OF_DATA = {"N": "N", "C": "C", "X": "X..."}
_OF_FILTER = {"I": "C", "O": "O/G", "X": "K..."}
_OF_GROUPS = {"G": "G", "I": "C/G", "O": "O/G", "X": "K..."}
AXES = {
    layout: f"({', '.join(names[letter] for letter in layout)})"
    for layout in (*DataFormat, *FilterFormat)
    for names in (_OF_DATA, _OF_FILTER, _OF_GROUPS)
    if set(names) == set(layout)
}
"""The axes of an array in each layout."""


@dataclass(frozen=True, slots=True)
class PortedCase:
    """A case as written in the target, and its meaning by the target's text.

    Attributes:
        case: the case.
        values: the values that the target's text expects.
        before: how many elements of the bias to put before the output, for each spatial axis; a negative number crops.
        behind: how many to put, or crop, behind the output.
    """

    case: Case
    values: Values
    before: Ints = ()
    behind: Ints = ()

    @property
    def disputed(self) -> tuple[str, ...]:
        """The readings of the target's text that give another output, or refuse the call."""
        refusals = [str(refusal) for refusal in self.values.refusals if isinstance(refusal, Combination)]
        return (*(str(Combination(candidate.readings)) for candidate in self.values.disputed), *refusals)

    @property
    def complete(self) -> bool:
        """Whether the operator alone gives the source's output."""
        return not any((*self.before, *self.behind))


@dataclass(frozen=True, slots=True)
class Port:
    """A call in a source, and how to write it in a target.

    Attributes:
        case: the call.
        source: the dialect of the call.
        target: the dialect that can express it: the requested one, or another operator of the same text.
        geometry: the geometry by the source's text.
        disputed: the readings of the source's text that give another geometry, with it.
        same_words: the geometry by the target's text for the same attributes, or why it cannot express them.
        same_words_disputed: the readings of the target's text that give another geometry for the same attributes.
        written: how to write it in the target; None if the target cannot express it at all.
        besides: what else changes: layouts, types, operations before or behind the operator; each a sentence.
        refused: why nothing is written although the target's text can express it: its runtime does not compute it.
    """

    case: Case
    source: Dialect
    target: Dialect
    geometry: Geometry
    disputed: tuple[tuple[str, Geometry], ...]
    same_words: Geometry | str
    same_words_disputed: tuple[tuple[str, Geometry], ...]
    written: PortedCase | None
    besides: tuple[str, ...]
    refused: str = ""


Accepts: TypeAlias = "Callable[[PortedCase, Dialect], str]"
"""Returns why a way to write a call cannot be used; empty if it can."""


def ported(
    case: Case,
    source: Dialect,
    target: Dialect,
    reading: str | None = None,
    *,
    followed: Geometry | None = None,
    accepts: Accepts = lambda *_: "",
    pads_first: bool = False,
) -> Port:
    """Return how to write a call in another dialect with the same output.

    Args:
        case: the call in the source's words.
        source: the dialect of the call.
        target: the dialect to write it in.
        reading: a disputed reading of the source that its runtime follows, if it changes the output; None for the
            primary ones.
        followed: the geometry that the source's runtime gives; None if it gives that of the text.
        accepts: returns why a way to write the call cannot be used in the target.
        pads_first: whether explicit pads are better than the same words.

    Raises:
        Invalid: the source expects no value for the call.
        UsageError: the source has no such reading.
    """
    expected = expect(case, source)
    if not isinstance(expected, Values):
        raise Invalid(expected.violation)
    geometry = followed or _find_followed(expected, reading, source)
    adapted, target, besides = _adapted(case, source, target)
    # Runtimes differ most for output_shape: then the pads are written, unless both texts have the same rules.
    sized = adapted.attributes.output_shape is not None and source.rules != target.rules
    written, refused = None, ""
    for way in _ways(adapted, geometry, target, pads_first=sized or pads_first):
        if reason := accepts(way, target):
            refused = refused or reason
            continue
        written = way
        break
    return Port(
        case,
        source,
        target,
        geometry,
        _disputed(expected),
        *_same_words(adapted, target),
        written,
        tuple(besides),
        "" if written else refused,
    )


def is_of_every_size(port: Port, again: Callable[[Case], Port]) -> bool:
    """Return whether the written attributes do not depend on the data's sizes.

    Without output_shape no rule makes a pad depend on them (see `dialects.geometry`). Two other sizes are ported too.

    Args:
        port: the port of a call.
        again: ports the same call with other sizes.
    """
    if port.written is None or port.written.case.attributes.output_shape or port.case.attributes.output_shape:
        return False
    for more in (1, 4):
        x = port.case.x
        larger = replace(x, shape=(*x.shape[:2], *(size + more for size in x.shape[2:])))
        try:
            other = again(replace(port.case, x=larger)).written
        except (Invalid, UsageError):
            return False
        if other is None or "output_shape" in str(express(other.case, port.target).inputs):
            return False
        this = port.written
        if (other.case.attributes, other.before, other.behind) != (this.case.attributes, this.before, this.behind):
            return False
    return True


def _find_followed(expected: Values, reading: str | None, source: Dialect) -> Geometry:
    if reading is None:
        return expected.primary.geometry
    here = {name: candidate.geometry for candidate in expected.disputed for name in candidate.names}
    # Not every reading changes each node of a model.
    known = [*here, *(other.name for other in source.disputed)]
    if reading not in known:
        what = f"a reading of {source}: {', '.join(dict.fromkeys(known)) or 'there is none'}"
        raise UsageError(f"--reading must be {what} (got {reading!r}){nearest(reading, known)}")
    return here.get(reading, expected.primary.geometry)


def _disputed(expected: Values) -> tuple[tuple[str, Geometry], ...]:
    return tuple((str(Combination(other.readings)), other.geometry) for other in expected.disputed)


def _same_words(case: Case, target: Dialect) -> tuple[Geometry | str, tuple[tuple[str, Geometry], ...]]:
    expected = expect(case, target)
    if isinstance(expected, Values):
        return expected.primary.geometry, _disputed(expected)
    return f"{expected.violation.attribute} {expected.violation.must}", ()


def _adapted(case: Case, source: Dialect, target: Dialect) -> tuple[Case, Dialect, list[str]]:
    """Return the case without what the target lacks, the target's operator for groups, and the operations needed."""
    besides: list[str] = []
    broken = {violation.constraint for violation in target.violations(write_signature(case, target))}
    if "without-groups" in broken and (other := _with_groups(target)) is not None:
        operator = other.name.partition("/")[2]
        besides.append(f"groups: {target} has none; take {operator}")
        target = other
    if "without-bias" in broken:
        case = replace(case, b=None)
        besides.append("bias: the operator has no bias input; add the bias to its output, one value for each channel")
    if "type-known" in broken:
        besides.append(f"type: {case.x.dtype} is none of the text's; convert the operands to f32, and the output back")
        case = _in_f32(case)
    # The filter's sizes are enough without kernel_shape.
    attributes = replace(case.attributes, kernel_shape=None)
    attributes, layouts = _in_layouts(attributes, source, target)
    return replace(case, attributes=attributes, expected=()), target, besides + layouts


def _with_groups(target: Dialect) -> Dialect | None:
    """Return another operator of the target's text that supports groups."""
    text = target.name.partition("/")[0]
    others = (dialect for dialect in DIALECTS.values() if dialect.name.partition("/")[0] == text)
    return next((other for other in others if not isinstance(other.spelling.attributes["groups"], NoWord)), None)


def _in_f32(case: Case) -> Case:
    x, w = replace(case.x, dtype=DType.F32), replace(case.w, dtype=DType.F32)
    return replace(case, x=x, w=w, b=case.b and replace(case.b, dtype=DType.F32))


def _in_layouts(attributes: Attributes, source: Dialect, target: Dialect) -> tuple[Attributes, list[str]]:
    """Return the attributes with the source's layouts if the target can express them, and the operations needed."""
    besides: list[str] = []
    formats: dict[str, Any] = {}
    for name, what, default, there, words in (
        ("data_format", "data and output", source.data_format, target.data_format, target.spelling.data_formats),
        ("filter_format", "filter", source.filter_format, target.filter_format, target.spelling.filter_formats),
    ):
        layout = getattr(attributes, name) or default
        formats[name] = layout if layout != there and words.get(layout) else None
        if formats[name] is None and layout != there:
            besides.append(f"{what}: {AXES[layout]} becomes {AXES[there]}; {_rearranged(layout, there)}")
    return replace(attributes, **formats), besides


def _rearranged(layout: DataFormat | FilterFormat, there: DataFormat | FilterFormat) -> str:
    if {layout, there} == {FilterFormat.IOX, FilterFormat.GIOX}:
        return "reshape it, the elements stay in their order"
    return "transpose"


def _ways(case: Case, geometry: Geometry, target: Dialect, *, pads_first: bool) -> Iterator[PortedCase]:
    """Yield the ways to write a geometry; those that the target's text does not dispute come first.

    The ways are the case's own words, explicit pads, a smaller output that is padded, and a larger output that is
    cropped.
    """
    nothing = (0,) * len(geometry.output)
    plain = _said(case, geometry, target), rewritten(case, geometry, target)
    smaller = ((rewritten(case, near, target), before, behind) for near, before, behind in _nearest(geometry))
    larger = ((rewritten(case, near, target), before, behind) for near, before, behind in _cropped(geometry))
    tried = [*((way, nothing, nothing) for way in (plain[::-1] if pads_first else plain)), *smaller, *larger]
    ways = [replace(way, before=before, behind=behind) for way, before, behind in tried if way]
    yield from sorted(ways, key=lambda way: bool(way.disputed))


def _cropped(geometry: Geometry) -> Iterator[tuple[Geometry, Ints, Ints]]:
    """Yield larger outputs, and how many elements they have too many on both sides, as negative numbers.

    They have the same padding on both sides, or none: some targets have only symmetric padding, or no pads.
    """
    axes = tuple(zip(geometry.pads_begin, geometry.pads_end, strict=True))
    if min((begin for begin, _ in axes), default=0) < 0:
        return
    more = tuple(max(-end, 0) for _, end in axes)
    for both in (tuple(max(min(begin, end), 0) for begin, end in axes), (0,) * len(axes)):
        before = tuple(pad - begin for pad, (begin, _) in zip(both, axes, strict=True))
        behind = tuple(pad - max(end, 0) for pad, (_, end) in zip(both, axes, strict=True))
        sizes = zip(geometry.full, both, more, strict=True)
        output = tuple(full - 2 * pad + added for full, pad, added in sizes)
        yield replace(geometry, pads_begin=both, output=output), before, behind


def _nearest(geometry: Geometry) -> Iterator[tuple[Geometry, Ints, Ints]]:
    """Yield parts of a geometry with no negative pad, and what they lack on both sides, the largest part first.

    output_padding is first as large as needed, then less than the larger of stride and dilation, then 0.
    """
    wanted = tuple(max(-end, 0) for end in geometry.pads_end)
    bounds = tuple(max(steps) - 1 for steps in zip(geometry.strides, geometry.dilations, strict=True))
    before = tuple(max(-begin, 0) for begin in geometry.pads_begin)
    for paddings in (wanted, tuple(map(min, wanted, bounds)), (0,) * len(wanted)):
        behind = tuple(most - padding for most, padding in zip(wanted, paddings, strict=True))
        output = tuple(y - b - e for y, b, e in zip(geometry.output, before, behind, strict=True))
        if min(output, default=0) >= 0:
            begin = tuple(max(pad, 0) for pad in geometry.pads_begin)
            yield replace(geometry, pads_begin=begin, output=output), before, behind


def rewritten(case: Case, geometry: Geometry, target: Dialect) -> PortedCase | None:
    """Return the case with explicit pads and output_padding that give `geometry` in `target`.

    Returns:
        The case with the same id, without padding mode and output_shape; None if the target cannot express it.
    """
    if any(pad < 0 for pad in geometry.pads_begin):
        return None
    lists = {
        "strides": geometry.strides,
        "dilations": geometry.dilations,
        "pads_begin": geometry.pads_begin,
        "pads_end": tuple(max(end, 0) for end in geometry.pads_end),
        "output_padding": tuple(max(-end, 0) for end in geometry.pads_end),
    }
    written: dict[str, Any] = {name: value for name, value in lists.items() if set(value) - {NEUTRAL[name]}}
    kept = {name: getattr(case.attributes, name) for name in ("groups", "data_format", "filter_format")}
    if "output_padding" in written and isinstance(target.spelling.attributes["output_padding"], NoWord):
        del written["output_padding"]
        kept["output_shape"] = geometry.output
    return _said(replace(case, attributes=Attributes(**written, **kept), expected=()), geometry, target)


def _said(case: Case, geometry: Geometry, target: Dialect) -> PortedCase | None:
    """Return the case, if it has this geometry by the target's text."""
    expected = expect(case, target)
    if isinstance(expected, Values) and expected.primary.geometry == geometry:
        return PortedCase(case, expected)
    return None
