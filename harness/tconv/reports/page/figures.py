"""The figures and long texts of a verdict, for the panel of a record."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from tconv.dialects.readings import Combination
from tconv.reports.phrases import distance
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.status import Ruling

_RULES: dict[ver.Rule, str] = {
    "exact": "exact: every order of summation gives the same bits, so nothing is allowed",
    "bound": "bound: values within the derived bound",
    "shape": "shape: the shape and the type alone",
    "refusal": "refusal: whether the call is refused",
}
_PROSE = {"message": "Message", "stderr": "Standard error, its end", "reason": "Reason"}
_ELSEWHERE = {"kind", "readings", "alike", "of", *_PROSE}


def figures(verdict: Ruling, data_format: str) -> list[tuple[str, str]]:
    """Return every figure of a verdict with its name, except readings and long texts.

    Args:
        verdict: the verdict.
        data_format: the layout of the call, which is used for shapes.
    """
    named = ((field.name, getattr(verdict, field.name)) for field in fields(verdict) if field.name not in _ELSEWHERE)
    return [_figure(verdict, name, value, data_format) for name, value in named if value not in (None, ())]


def _figure(verdict: Ruling, name: str, value: object, data_format: str) -> tuple[str, str]:
    figure = text(value)
    match verdict, name:
        case ver.WrongShape(), _:
            name = f"{name} shape, {data_format}" if data_format else f"{name} shape"
        case ver.WrongDtype(), "values_agree":
            name, figure = "values after conversion", "right" if value else "wrong"
        case ver.WrongDtype(), _:
            name = f"{name} type"
        case ver.Differed() | ver.Imprecise(), "first":
            name = "first, NCX"
        case ver.Differed() | ver.Imprecise(), "expected" | "actual":
            name = f"{name} there"
        case (ver.Differed(of=of) | ver.Imprecise(of=of), "wrong") | (ver.Inconclusive(of=of), "untested"):
            figure = f"{figure} of {of}"
        case ver.Differed() | ver.Imprecise(), "worst" | "steps":
            name, figure = "worst", distance(verdict)
        case _, "rule":
            figure = next((words for rule, words in _RULES.items() if rule == value), figure)
    return name, figure


def prose(verdict: Ruling) -> list[tuple[str, str]]:
    """Return a verdict's long texts with headings: messages, the end of standard error, reasons."""
    texts = ((heading, getattr(verdict, name, "")) for name, heading in _PROSE.items())
    return [(heading, content) for heading, content in texts if content]


def readings(verdict: Ruling) -> tuple[tuple[str, ...], ...]:
    """Return the readings that the backend follows instead of the primary ones, as tuples of names that go together.

    If several give the same output, all of them are returned.
    """
    match verdict:
        case ver.Disputed(choices=choices):
            return tuple(Combination.parse(choice).names for choice in choices)
        case ver.Inconclusive(readings=followed) if followed:
            return (followed,)
        case _:
            return ()


def text(value: object) -> str:
    """Return a figure as text: integers in brackets, non-finite numbers in JSON's words."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return integers(value) if all(isinstance(entry, int) for entry in value) else ", ".join(map(text, value))
    return str(value)


def integers(values: Sequence[int]) -> str:
    """Return a shape or an index in brackets, as the specifications write it."""
    return f"[{', '.join(map(str, values))}]"


def number(value: float) -> str:
    """Return the shortest text for this float64, without `.0`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value)).removesuffix(".0")
