"""Conditions on calls: what terms hold, and which are found for calls that fail."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import examples
from tconv.evidence.conditions import HARDLY, find_condition
from tconv.evidence.facts import Features, terms_of

if TYPE_CHECKING:
    from tconv.vocabulary import Mask


def found_in(holds: Mask, fails: Mask) -> tuple[int, ...]:
    """Return the terms of the condition of the calls that fail, each of which takes as many bits as among so many."""
    costs = np.full(len(holds), np.log2(len(holds)))
    return find_condition(holds, costs, np.flatnonzero(fails), np.flatnonzero(~fails))


HOLDS = {
    "out_channels is a multiple of 4": [False, True, True],
    "output of the last axis is no multiple of 8": [True, False, True],
    "output of an axis is even": [False, True, True],
    "auto_pad=same_*": [True, False, True],
    "strides and dilations share a divisor on an axis": [False, False, True],
    "output of the second axis >= 8": [False, True, False],
    "output of the second axis < 8": [False, False, True],
    "channels / groups != out_channels / groups": [False, True, True],
}


def test_for_which_calls_a_term_holds() -> None:
    """A line, a plane and a volume: of a line nothing holds that is said of a second axis."""

    def call(
        outputs: list[int], batch: int, sizes: tuple[int, int, int], stride: int, dilation: int, mode: str
    ) -> Features:
        axis = dict.fromkeys(("spatial", "kernel", "pads_begin", "pads_end", "output_padding"), 1)
        axis |= {"total padding": 0, "strides": stride, "dilations": dilation}
        channels, outs, groups = sizes
        per_group = {"channels / groups": channels // groups, "out_channels / groups": outs // groups}
        of = {"batch": batch, "channels": channels, "out_channels": outs, "groups": groups, **per_group}
        return Features(of, [axis | {"output": output} for output in outputs], {"auto_pad": mode})

    random = Random(0)  # noqa: S311 - the same calls each time, so that no two terms hold for the same ones
    modes = ("same_upper", "same_lower", "valid", "explicit")
    made = [
        call([9], 1, (2, 2, 2), 1, 6, "same_upper"),
        call([4, 8], 4, (2, 4, 2), 3, 2, "valid"),
        call([3, 4, 1], 2, (2, 4, 2), 6, 4, "same_lower"),
        *(
            call(
                random.choices(range(1, 20), k=random.randint(1, 3)),
                random.randint(1, 4),
                (2 * random.randint(1, 4), 2 * random.randint(1, 8), random.randint(1, 2)),
                random.randint(1, 6),
                random.randint(1, 6),
                random.choice(modes),
            )
            for _ in range(200)
        ),
    ]
    terms = terms_of(made)
    assert {term: terms[term][:3].tolist() for term in HOLDS} == HOLDS


def test_a_limit_may_be_larger_than_many_sizes() -> None:
    """A kernel is wrong for rows of 147 elements and more. It has this condition, although most rows are smaller."""
    random = np.random.default_rng(0)
    features = [made_up(random) for _ in range(100)]
    long = [of._replace(axes=[{**axis, "output": size} for axis in of.axes]) for size, of in enumerate(features, 60)]
    fails = np.array([of.axes[-1]["output"] >= 147 for of in long])
    terms = terms_of(long)
    assert fails.tobytes() in {holds.tobytes() for holds in terms.values()}


def made_up(random: np.random.Generator) -> Features:
    """Return what a call may be like, with two attributes, two sizes and two words that differ."""
    axes = [
        dict.fromkeys(("spatial", "pads_begin", "pads_end", "output_padding", "output", "dilations"), 1)
        | {"total padding": 0, "kernel": int(random.integers(1, 6)), "strides": int(random.integers(1, 4))}
        for _ in range(random.integers(1, 4))
    ]
    sizes = dict.fromkeys(("channels", "channels / groups", "out_channels / groups", "groups"), 1)
    sizes |= {"batch": int(random.integers(1, 4)), "out_channels": int(random.integers(1, 20))}
    words = {"bias": str(random.choice(["true", "false"])), "dtype": str(random.choice(["f16", "f32", "f64"]))}
    return Features(sizes, axes, words)


@st.composite
def calls(draw: st.DrawFn) -> list[Features]:
    """Draw what many calls are like."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return [made_up(random) for _ in range(draw(st.integers(150, 400)))]


@examples(40)
@given(calls(), st.data())
def test_a_condition_holds_as_it_says(features: list[Features], data: st.DataObject) -> None:
    """Where one or two terms make answers wrong, a condition is found that explains nearly all of them, and no more."""
    terms = terms_of(features)
    numbers = data.draw(st.lists(st.integers(0, len(terms) - 1), min_size=1, max_size=2, unique=True))
    holds = np.array([*terms.values()])
    makes_wrong = holds[numbers].all(axis=0)
    assume(12 <= makes_wrong.sum() <= len(features) - 40)
    found = found_in(holds, makes_wrong)
    assert found
    met = holds[list(found)].all(axis=0)
    explained = (met & makes_wrong).sum()
    assert explained >= 0.8 * makes_wrong.sum()
    assert (met & ~makes_wrong).sum() <= HARDLY * explained


def test_chance_has_no_condition() -> None:
    """Where answers are wrong by a coin, no condition is believed: none in twenty runs."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        features = [made_up(random) for _ in range(200)]
        holds = np.array([*terms_of(features).values()])
        count = int(random.integers(5, 100))
        assert found_in(holds, np.arange(200) < count) == ()


def test_a_condition_without_exceptions_is_better_than_a_shorter_one() -> None:
    """Of 2,000 calls 40 fail, for which two terms hold together; each of them holds for a few others too."""
    random = np.random.default_rng(0)
    fails = np.arange(2000) < 40
    nearly = fails | (random.random(2000) < 0.002)
    other = fails | (~nearly & (random.random(2000) < 0.3))
    assert 0 < (nearly & ~fails).sum() < 10
    assert found_in(np.array([nearly, other]), fails) == (0, 1)
