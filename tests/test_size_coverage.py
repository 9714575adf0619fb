"""Which sizes and which combinations of attributes a corpus has."""

from __future__ import annotations

import runpy
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strategies import WIDE
from tconv.cases.case import Case, Operand
from tconv.corpus.size_coverage import COMBINED, find_sizes, is_possible, measure_products, measure_sizes
from tconv.dialects import DIALECTS
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from tconv.cases.case import Data
    from tconv.corpus import Corpus

CASES = Path(__file__).parent.parent / "cases"
NONE = Attributes()
CONTEXT = {"dtype", "kind", "rank", "data_format", "filter_format", "bias"}


def case(data: Data = "integers", channels: int = 9, dtype: DType = DType.F32, attributes: Attributes = NONE) -> Case:
    """Return a case of one axis: a kernel of 3, and 4 outputs of a group."""
    x, w = Operand((2, channels, 8), dtype, data), Operand((channels, 4, 3), dtype, data)
    return Case("a", attributes, x, w)


def test_the_sizes_of_a_case() -> None:
    """Channels and outputs are those of a group, the last axis is W, and pads are compared with kernel and stride."""
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


@pytest.mark.parametrize(
    ("made", "counts"),
    [
        (case(), True),
        (case("normal"), True),
        (case("sparse", channels=65, dtype=DType.BF16), True),
        (case("zeros"), False),
        (case(attributes=Attributes(pads_begin=(5,), pads_end=(5,))), False),
        # Nothing but the points between the taps is left.
        (case(attributes=Attributes(strides=(20,), pads_begin=(3,), pads_end=(125,))), False),
    ],
)
def test_a_size_counts_only_if_a_lost_product_shows(made: Case, counts: bool) -> None:  # noqa: FBT001 - a parameter
    """A case does not count if its output has no element, no product, or nothing but zeros."""
    channels = find_sizes(made)["channels"]
    assert (frozenset({("channels", channels)}) not in measure_sizes([made]).missing) == counts


def test_sizes_that_stand_together_are_possible(gate_cases: tuple[Case, ...]) -> None:
    """What a shipped case has, a case can have."""
    for made in gate_cases[::7]:
        if made.breaks is None and 0 not in (*made.x.shape, *made.w.shape):
            pairs = combinations(find_sizes(made).items(), 2)
            impossible = [{one[0], other[0]} for one, other in pairs if not is_possible(one, other)]
            # Names of the same thing are no pair.
            same = [{"dtype", "kind", "path"}, {"single_channel_groups", "groups"}]
            assert [names for names in impossible if not any(names <= alike for alike in same)] == []


def test_the_gate_tier_has_each_size_in_each_context(corpus: Corpus) -> None:
    """Nothing is missing of a size alone, or beside type, kind of group, rank, layouts and bias."""
    missing = measure_sizes(corpus.cases("gate", ["sizes/**"])).missing
    assert [sizes for sizes in missing if len(sizes) == 1 or {name for name, _ in sizes} & CONTEXT] == []


@pytest.mark.thorough
def test_the_full_tier_has_every_pair_of_sizes(corpus: Corpus) -> None:
    """Nothing is missing, and the sweeps of the topic suffice."""
    found = measure_sizes(corpus.cases("full", ["sizes/**"]))
    assert found.possible > 25_000
    assert found.missing == ()


def test_the_full_tier_has_the_product_of_attributes(corpus: Corpus) -> None:
    """A combination is in a case, or the dialect cannot say it and names the constraint."""
    cases = list(corpus.cases("full", ["padding/combinations/product"]))
    for found in measure_products(cases, [DIALECTS[name] for name in WIDE]):
        assert found.absent == ()
        assert found.said > 100
        assert (
            found.said + sum(found.unsaid.values())
            == 3072
            == len(list(corpus.cases("full", ["padding/combinations/product"])))
        )
    assert set(COMBINED) == {
        "auto_pad", "output_shape", "kind of group", "data_format", "filter_format", "rank", "bias", "output_padding",
    }  # fmt: skip


def test_the_rows_are_those_that_the_script_writes() -> None:
    """The file has the digest of the script and of the sizes: who changes one of them must write the rows again."""
    script = runpy.run_path(str(CASES / "sizes.py"))
    written = (CASES / "sizes" / "sizes.yaml").read_text(encoding="utf-8").splitlines()[1]
    assert written == f"# Written by cases/sizes.py, {script['digest']()}."
