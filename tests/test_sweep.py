"""Sweeps: products of axes, what they skip, ids from labels, and what a file may not say of them."""

from __future__ import annotations

import pickle
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_corpus import BARE_HEAD, written
from strategies import examples
from tconv.cases.patterns import facts_of
from tconv.corpus import Corpus
from tconv.corpus.building import build
from tconv.corpus.case_file import merge_settings
from tconv.corpus.sweep_reading import LARGEST_EXHAUSTIVE, LARGEST_SWEEP, MOST_AXES
from tconv.errors import FileError

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus.sweep import Sweep


def read(folder: Path, sweep: str, base: str = "{}") -> Sweep:
    """Return the sweep of a file whose sweep is written as a flow mapping without its name."""
    file = written(folder, f"{BARE_HEAD}base: {base}\nsweeps:\n  - {{name: sweep, {sweep}}}\n", "file.yaml")
    return Corpus.load(file).sweeps["file/sweep"]


def refusal(folder: Path, sweep: str) -> tuple[str, str]:
    with pytest.raises(FileError) as error:
        read(folder, sweep)
    assert error.value.line is not None
    assert error.value.column is not None
    assert str(error.value).startswith(f"{folder / 'file.yaml'}:{error.value.line}:{error.value.column}: ")
    line = (folder / "file.yaml").read_text(encoding="utf-8").splitlines()[error.value.line - 1]
    return line[error.value.column - 1 :], error.value.message


def ids(sweep: Sweep) -> list[str]:
    return [sweep.case_id(row).partition("[")[2].rstrip("]") for row in sweep.rows().tolist()]


# Axes.


def test_a_sweep_is_the_product_of_its_axes(tmp_path: Path) -> None:
    sweep = read(tmp_path, "axes: {strides: [1, 2], bias: [true, false], output_shape: [null, full-1]}")
    assert sweep.radix == (2, 2, 2)
    assert ids(sweep) == [
        f"strides={s},bias={b},output_shape={o}"
        for s, b, o in product((1, 2), ("true", "false"), ("none", "full-1"))
    ]  # fmt: skip
    assert sweep.case_id([1, 0, 1]) == "file/sweep[strides=2,bias=true,output_shape=full-1]"


def test_a_list_gives_one_settings_values(tmp_path: Path) -> None:
    """Each entry is a value; a list in the list says each axis of the data; null leaves the setting away."""
    sweep = read(tmp_path, "with: {spatial: [5, 4], kernel: [2, 2]}, axes: {strides: [null, 2, [1, 3]]}")
    assert [sweep.case(row).attributes.strides for row in sweep.rows().tolist()] == [None, (2, 2), (1, 3)]
    assert ids(sweep) == ["strides=none", "strides=2", "strides=1x3"]


def test_a_mapping_gives_labels_that_set_several(tmp_path: Path) -> None:
    """A label stands for settings; several axes may set keys of the same operand."""
    sweep = read(
        tmp_path,
        "axes: {shape: {line: {spatial: [4], kernel: [2]}, plane: {spatial: [4, 5], kernel: [2, 3]}},"
        " odd: {x: {x: {seed: 7}}, w: {w: {seed: 8}, x: {dtype: f16}}}}",
        "{x: {data: normal}}",
    )
    cases = [sweep.case(row) for row in sweep.rows().tolist()]
    assert [(c.x.shape[2:], c.x.seed, c.w.seed) for c in cases] == [
        ((4,), 7, 0), ((4,), 0, 8), ((4, 5), 7, 0), ((4, 5), 0, 8),
    ]  # fmt: skip
    assert {case.x.data for case in cases} == {"normal"}
    assert (cases[0].facts["shape"], cases[0].facts["odd"], cases[0].facts["rank"]) == ("line", "x", "1")


def test_later_axes_win_over_earlier_ones(tmp_path: Path) -> None:
    """base, then with, then the axes in their order; null takes back what came before."""
    sweep = read(
        tmp_path,
        "with: {dilations: 2}, axes: {strides: [3], other: {a: {strides: 4}, b: {strides: null, dilations: null}}}",
        "{strides: 2, dilations: 3, groups: 1}",
    )
    a, b = (sweep.case(row).attributes for row in sweep.rows().tolist())
    assert (a.strides, a.dilations, a.groups) == ((4,), (2,), 1)
    assert (b.strides, b.dilations, b.groups) == (None, None, 1)
    # The label of an axis is the fact of its name, whatever a later axis sets.
    facts = [sweep.case(row).facts for row in sweep.rows().tolist()]
    assert [(of_case["strides"], of_case["other"], of_case.get("dilations")) for of_case in facts] == [
        ("3", "a", "2"), ("3", "b", None),
    ]  # fmt: skip


def test_a_raw_word_is_its_label(tmp_path: Path) -> None:
    sweep = read(tmp_path, "with: {breaks: auto-pad-known}, axes: {auto_pad: [{raw: SAME}, {raw: Valid}]}")
    assert ids(sweep) == ["auto_pad=SAME", "auto_pad=Valid"]
    assert sweep.case([1]).attributes.auto_pad == "Valid"


@given(st.data())
def test_a_case_is_the_same_whatever_was_built_before(corpus: Corpus, data: st.DataObject) -> None:
    """Of any row of any shipped sweep, in any order; its facts have its labels, and are not sent to a worker."""
    sweep = data.draw(st.sampled_from(list(corpus.sweeps.values())))
    row = data.draw(st.sampled_from(sweep.sample(50).tolist()))
    case, layers = sweep.case(row), [axis.layers[label] for axis, label in zip(sweep.axes, row, strict=True)]
    alone = build(sweep.case_id(row), merge_settings(sweep.layer, *layers), about=sweep.about, cites=sweep.cites)
    assert case == alone
    assert case.facts == alone.facts
    assert facts_of(case.id).items() <= dict(case.facts).items()
    sent = pickle.loads(pickle.dumps(case))  # noqa: S301 - our own
    assert sent == alone
    # A worker asks for none.
    assert sent.facts == {}


def test_an_impossible_case_beside_possible_ones_is_refused(tmp_path: Path) -> None:
    """Also where its parts were made for others before: groups that do not divide the channels, an unknown layout."""
    sweep = read(tmp_path, "with: {channels: 2}, axes: {data: [ones, integers], groups: [1, 3], out_channels: [3, 6]}")
    assert sweep.case([0, 0, 0]).attributes.groups == 1
    for row in ([0, 1, 0], [1, 1, 0], [1, 1, 1]):
        with pytest.raises(FileError, match="groups must divide the 2 input channels"):
            sweep.case(row)
    layouts = read(tmp_path, "axes: {data_format: [NCX, NXC, {raw: NXCX}]}")
    assert [layouts.case([number]).attributes.data_format for number in (0, 1)] == ["NCX", "NXC"]
    with pytest.raises(FileError, match="data_format must be one of"):
        layouts.case([2])
    overridden = read(tmp_path, "with: {data_format: {raw: NXCX}}, axes: {data_format: [NCX, null]}")
    assert [overridden.case([number]).attributes.data_format for number in (0, 1)] == ["NCX", None]


# Skips.


def test_a_list_in_a_skip_means_any(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        "with: {spatial: [5, 4], kernel: [2, 2]}, axes: {strides: [1, 2, [1, 2]], bias: [true, false]},"
        " skip: [{when: {strides: [1, [1, 2]], bias: [true]}, because: so}]",
    )
    assert ids(sweep) == [
        "strides=1,bias=false",
        "strides=2,bias=true",
        "strides=2,bias=false",
        "strides=1x2,bias=false",
    ]


@given(st.data())
@examples(30)
def test_skips_by_brute_force(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    names = ("strides", "dilations", "seed")
    values = {name: data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True)) for name in names}
    meant = st.fixed_dictionaries(
        {}, optional={name: st.lists(st.sampled_from(found), min_size=1, unique=True) for name, found in values.items()}
    ).filter(bool)
    skips = data.draw(st.lists(meant, max_size=3))
    left = [
        row
        for row in product(*values.values())
        if not any(all(row[names.index(name)] in found for name, found in skip.items()) for skip in skips)
    ]
    listed = ", ".join(f"{{when: {skip}, because: so}}".replace("'", "") for skip in skips)
    text = f"axes: {values}, skip: [{listed}]".replace("'", "")
    folder = tmp_path_factory.mktemp("skips")
    if left:
        assert ids(read(folder, text)) == [
            ",".join(f"{n}={v}" for n, v in zip(names, row, strict=True)) for row in left
        ]
    else:
        assert refusal(folder, text)[1] == "a sweep must have a case left (got none); skip less"


# Rows and labels.


def test_labels_lead_back_to_the_row(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        "with: {spatial: [5, 4], kernel: [2, 2]}, axes: {strides: [null, 2, [1, 2]], bias: [true, false]},"
        " skip: [{when: {strides: 2, bias: true}, because: so}]",
    )
    rows = sweep.rows().tolist()
    for row in rows:
        for labels in (facts_of(sweep.case_id(row)), dict(reversed(facts_of(sweep.case_id(row)).items()))):
            found = sweep.row(labels)
            assert found == row
    assert len(rows) == 5
    assert sweep.row({"strides": "2", "bias": "true"}) is None
    assert sweep.row({"strides": "1x2"}) is None
    assert sweep.row({"strides": "5", "bias": "true"}) is None
    assert sweep.row({"strides": "1x2", "bias": "true", "seed": "0"}) is None


def test_a_digest_is_of_what_decides_the_rows(tmp_path: Path) -> None:
    """Another label, order, skip or shared setting gives another digest; other words do not."""
    plain = "axes: {strides: [1, 2], seed: [1, 2]}"
    digest = read(tmp_path, plain).digest
    assert read(tmp_path, f"about: other words, tier: smoke, {plain}").digest == digest
    changed = [
        "axes: {strides: [2, 1], seed: [1, 2]}",
        "axes: {seed: [1, 2], strides: [1, 2]}",
        "axes: {strides: {1: {strides: 1}, 2: {strides: 3}}, seed: [1, 2]}",
        f"with: {{groups: 1}}, {plain}",
        f"{plain}, skip: [{{when: {{strides: 1, seed: 1}}, because: so}}]",
    ]
    assert len({digest, *(read(tmp_path, text).digest for text in changed)}) == len(changed) + 1
    assert read(tmp_path, plain, "{batch: 2}").digest != digest


# What a file may not say.


@pytest.mark.parametrize("word", ["a b", "a]b", "a[b", "a|b", "a=b", "a,b", "a{b", "a\tb"])
def test_no_label_breaks_an_id(tmp_path: Path, word: str) -> None:
    """Words with what ids and patterns are made of need a label; with one they are ordinary."""
    escaped = word.replace("\t", "\\t")
    word_as_is = f'{{raw: "{escaped}"}}'
    assert (
        "that an id can hold"
        in refusal(tmp_path, f"with: {{breaks: auto-pad-known}}, axes: {{auto_pad: [{word_as_is}]}}")[1]
    )
    sweep = read(tmp_path, f"with: {{breaks: auto-pad-known}}, axes: {{word: {{odd: {{auto_pad: {word_as_is}}}}}}}")
    assert ids(sweep) == ["word=odd"]
    assert sweep.case([0]).attributes.auto_pad == word


def test_a_sweep_too_large_is_refused_before_its_product(tmp_path: Path) -> None:
    twelve = "{a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}, j: {}, k: {}, l: {}}"
    axes = ", ".join(f"axis{number}: {twelve}" for number in range(30))
    found, told = refusal(tmp_path, f"axes: {{{axes}}}")
    assert found.startswith("axes:")
    assert told == f"a sweep must have at most {LARGEST_SWEEP} combinations (got {12**30}); split it"
    _, told = refusal(tmp_path, f"tier: exhaustive, axes: {{{axes}}}")
    assert told == f"a sweep must have at most {LARGEST_EXHAUSTIVE} combinations (got {12**30}); split it"


def test_a_sweep_of_too_many_axes_is_refused(tmp_path: Path) -> None:
    axes = [f"axis{number}: {{a: {{}}}}" for number in range(MOST_AXES + 1)]
    found, told = refusal(tmp_path, f"axes: {{{', '.join(axes)}}}")
    assert found.startswith("axes:")
    assert told == f"a sweep must have at most {MOST_AXES} axes (got {MOST_AXES + 1}); split it"
    assert len(read(tmp_path, f"axes: {{{', '.join(axes[:-1])}}}").rows()) == 1
