"""What wrong elements are beside what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tconv.diagnosis.relations import related

if TYPE_CHECKING:
    from tconv.vocabulary import Array


def _wrong(got: Any, expected: Any, bias: Any = None) -> str:  # noqa: ANN401 - arrays and numbers
    got, expected = np.broadcast_arrays(np.asarray(got, float), np.asarray(expected, float))
    return related(got, expected, got != expected, bias)


EXPECTED = np.arange(1.0, 25.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("got", "relation"),
    [
        (EXPECTED * (np.arange(4) < 2), "are 0"),
        (np.where(np.arange(4) < 2, EXPECTED, np.nan), "are NaN"),
        (np.where(np.arange(4) < 2, EXPECTED, -3 * EXPECTED), "are -3 times what is expected"),
        (np.where(np.arange(4) < 2, EXPECTED, 0.5001 * EXPECTED), "are 0.5 times what is expected"),
        (EXPECTED - np.array([0.0, 5.0, 6.0])[:, None], ""),
        (np.clip(EXPECTED, 5, 19), "are cut off at 5 and 19"),
        (np.minimum(EXPECTED, 19), "are cut off at 19"),
        (np.full_like(EXPECTED, 5), "are all 5"),
        (np.minimum(EXPECTED, 0.5), "are all 0.5"),
        (np.where(EXPECTED == 24, 19, EXPECTED), ""),
        (np.where(EXPECTED > 20, 19, EXPECTED), ""),
        (EXPECTED[::-1], "are those of other items of the batch"),
        (EXPECTED[:, [1, 0, 2]], "are those of other channels"),
        (EXPECTED[..., ::-1], "are those of other positions of axis 0"),
        (EXPECTED + (EXPECTED % 3 == 0), ""),
    ],
)
def test_what_wrong_elements_are(got: Array, relation: str) -> None:
    """In words, where all of them are so; nothing where one of them is not, or where one alone may be by chance."""
    assert _wrong(got, EXPECTED) == relation


def test_a_bias_that_lacks_or_comes_twice() -> None:
    """Also where both are rounded; not where a wrong element's bias is zero, of which nobody can tell."""
    bias = np.array([4.0, 5.0, 6.0])
    assert _wrong(EXPECTED - bias[:, None] * [[1], [0], [1]], EXPECTED, bias) == "lack the bias"
    assert _wrong(EXPECTED + 1.001 * bias[:, None], EXPECTED, bias) == "have the bias twice"
    assert _wrong(EXPECTED + 1, EXPECTED, np.zeros(3)) == ""


def test_a_bias_of_other_numbers() -> None:
    """Each channel is off by a number of its own; not where an element of the channel is right, or off by another."""
    bias, off = np.array([4.0, 5.0, 6.0]), np.array([3.0, 0.0, -2.0])[:, None]
    assert _wrong(EXPECTED + off, EXPECTED, bias) == "are off by one number in each channel, as with another bias"
    assert _wrong(EXPECTED + off, EXPECTED) == ""
    for other in (0, 8):
        got = EXPECTED + off
        got[0, 0, 0] = EXPECTED[0, 0, 0] + other
        assert _wrong(got, EXPECTED, bias) == ""


def test_integers_say_something_only_where_there_are_fractions() -> None:
    """A large number of few bits has no fraction, whoever computes it."""
    assert _wrong(np.rint(EXPECTED + 0.3), EXPECTED + 0.3) == "are rounded to integers"
    assert _wrong(np.rint(1e5 * (EXPECTED + 0.3)), 1e5 * EXPECTED + 0.3) != "are rounded to integers"
    assert _wrong([1, 2, 7777, -99], [1.3, 2.3, 100.5, 200.25]) == ""
