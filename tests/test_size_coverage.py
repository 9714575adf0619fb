"""Which sizes and which combinations of attributes the shipped corpus has."""

from __future__ import annotations

import runpy
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tconv.cases.case import Case, Operand
from tconv.dialects import DIALECTS
from tconv.expectation.bound import bound_errors
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.cases.case import Data
    from tconv.corpus import Corpus

CASES = Path(__file__).parent.parent / "cases"
SCRIPT = runpy.run_path(str(CASES / "sizes.py"))
find_sizes, is_possible = SCRIPT["find_sizes"], SCRIPT["is_possible"]
NONE = Attributes()
CONTEXT = {"dtype", "kind", "rank", "data_format", "filter_format", "bias"}


def case(data: Data = "integers", channels: int = 9, dtype: DType = DType.F32, attributes: Attributes = NONE) -> Case:
    """Return a case of one axis: a kernel of 3, and 4 outputs of a group."""
    x, w = Operand((2, channels, 8), dtype, data), Operand((channels, 4, 3), dtype, data)
    return Case("a", attributes, x, w)


def test_the_sizes_of_a_case() -> None:
    found = find_sizes(case(attributes=Attributes(strides=(4,), pads_begin=(2,), pads_end=(7,))))
    expected = {"path": "f32 dense", "rank": "1", "channels": "9", "outputs": "4", "groups": "1", "batch": "2"}
    expected |= {
        "kernel W": "3",
        "stride W": "4",
        "dilation W": "1",
        "begin W": "below K",
        "end W": "K+s",
        "sides W": "<",
    }
    assert expected.items() <= found.items()
    assert "output W" not in found  # 22 is no size that a kernel changes at.
    depthwise = find_sizes(
        Case("a", Attributes(groups=9), Operand((1, 9, 8), DType.F16), Operand((9, 1, 3), DType.F16))
    )
    assert {"path": "f16 depthwise", "single_channel_groups": "9", "channels": "1"}.items() <= depthwise.items()


def missing_sizes(cases: Iterable[Case]) -> set[frozenset[tuple[str, str]]]:
    """Return the sizes and pairs of sizes that no case has in which a lost product would show."""
    missing = {frozenset({label}) for label in SCRIPT["LABELS"]}
    pairs = combinations(SCRIPT["LABELS"], 2)
    missing |= {frozenset(pair) for pair in pairs if pair[0][0] != pair[1][0] and is_possible(*pair)}
    assert len(missing) > 25_000
    for made in cases:
        labels = find_sizes(made).items() if made.breaks is None else ()
        found = {frozenset({label}) for label in labels} | {frozenset(pair) for pair in combinations(labels, 2)}
        if not found.isdisjoint(missing) and shows_a_lost_product(made):
            missing -= found
    return missing


def shows_a_lost_product(made: Case) -> bool:
    """Return whether the verdict of a case would be another one if one product was lost.

    It is if sums are exact, or if the bound is below an average product in half of the elements with products.
    """
    problem = next(found for found in (Problem(made, d) for d in DIALECTS.values()) if found.values is not None)
    assert problem.values is not None
    geometry, truth = problem.values.primary.geometry, problem.truth
    if truth.exact(geometry):
        # It is enough that a product of any image, to any output of a group, reaches the output.
        x, w = np.abs(truth.operands["x"]), np.abs(truth.operands["w"])
        few = x.max(axis=0, keepdims=True, initial=0.0), w.max(axis=1, keepdims=True, initial=0.0)
        return bool(definition(*few, None, geometry).any())
    terms = truth.compute_terms(geometry)
    has_products = terms.magnitude > (0 if terms.bias is None else np.abs(terms.bias))
    shows = has_products & (bound_errors(terms, truth.dtype).allowed * terms.count < terms.magnitude)
    return bool(has_products.any() and 2 * shows.sum() >= has_products.sum())


def test_the_gate_tier_has_each_size_in_each_context(corpus: Corpus) -> None:
    missing = missing_sizes(corpus.cases("gate", ["sizes/**"]))
    assert [sizes for sizes in missing if len(sizes) == 1 or {name for name, _ in sizes} & CONTEXT] == []


@pytest.mark.thorough
def test_the_full_tier_has_every_pair_of_sizes(corpus: Corpus) -> None:
    assert missing_sizes(corpus.cases("full", ["sizes/**"])) == set()


def test_the_full_tier_has_the_product_of_attributes(corpus: Corpus) -> None:
    sweep = corpus.sweeps["padding/combinations/product"]
    assert {axis.name: len(axis.labels) for axis in sweep.axes} == {
        "auto_pad": 4, "output_shape": 4, "split": 4, "data_format": 2, "filter_format": 2, "shape": 3, "bias": 2,
        "output_padding": 2,
    }  # fmt: skip
    assert len(sweep.rows()) == 3072
    assert sweep.tier == "full"


def test_the_rows_are_those_that_the_script_writes() -> None:
    """The file has the digest of the script: who changes the script must write the rows again."""
    written = (CASES / "sizes" / "sizes.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert written == f"# Written by cases/sizes.py, {SCRIPT['digest']()}."
