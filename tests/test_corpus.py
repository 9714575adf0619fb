"""A corpus: its files, its ids, what is found in it, and the bits of the shipped one."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from typing import TYPE_CHECKING

import pytest

from small_corpus import BARE_HEAD, CASES, written
from tconv.cases.operands import make_operands
from tconv.cases.patterns import facts_of, parse, topic_of
from tconv.corpus import Corpus
from tconv.corpus.corpus import TIERS_TO_FULL
from tconv.corpus.file_reading import find_case_files
from tconv.errors import FileError, UsageError
from tconv.vocabulary import TIERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.corpus import Tier

IDS = {
    # Another number, id or order of cases: is the change meant? Records and waivers hold ids.
    "full": (58558, "5d342d49e12c936d"),
    "gate": (10918, "fb70bfb6e4693716"),
    "smoke": (2024, "08ce00cdc219f4f4"),
    # Of the exhaustive tier, those that are in no other.
    "exhaustive": (1061328, "8bf36d870bd3873d"),
}
TENSORS = "37448329fa8c595e"
"""Of every 44th case of the gate tier: if another machine disagrees, its results are of other operands."""

PLAIN = f"{BARE_HEAD}cases: [{{name: plain}}]"
SMALL = f"""{BARE_HEAD}
base: {{bias: true}}
sweeps:
  - name: crop
    axes: {{strides: [1, 2], dilations: [1, 2], seed: [0, 1, 2]}}
    skip: [{{when: {{strides: 2, seed: 2}}, because: so}}]
  - {{name: always, tier: smoke, axes: {{strides: [1, 2], dilations: [1, 2], seed: [3, 4, 5]}}}}
cases:
  - {{name: plain}}
  - {{name: marked, tier: smoke, about: It matters., with: {{strides: 3}}}}
"""


@pytest.fixture
def small(tmp_path: Path) -> Corpus:
    """Return a corpus of two files in a folder."""
    (tmp_path / "topic").mkdir()
    written(tmp_path / "topic", SMALL, "one.yaml")
    written(tmp_path, PLAIN, "two.yml")
    return Corpus.load(tmp_path)


@pytest.fixture(scope="module")
def ids(corpus: Corpus) -> dict[Tier, list[str]]:
    return {tier: list(corpus.ids(tier)) for tier in TIERS_TO_FULL}


def names(cases: Iterable[Case]) -> list[str]:
    return [case.id for case in cases]


def digest(parts: Iterable[bytes]) -> str:
    """Return a digest of parts, each told from its neighbours."""
    found = blake2b(digest_size=8)
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


# The shipped corpus, pinned.


@pytest.mark.parametrize("tier", TIERS_TO_FULL)
def test_the_ids_of_each_tier_are_pinned(ids: dict[Tier, list[str]], tier: Tier) -> None:
    found = ids[tier]
    assert (len(found), digest(map(str.encode, found))) == IDS[tier]


@pytest.mark.thorough
def test_the_ids_of_the_exhaustive_tier_are_pinned(corpus: Corpus) -> None:
    count, found = IDS["exhaustive"]
    assert corpus.count("exhaustive") - corpus.count("full") == corpus.count("exhaustive", ["exhaustive"]) == count
    assert digest(map(str.encode, corpus.ids("exhaustive", ["exhaustive"]))) == found


def test_the_tensors_of_the_gate_tier_are_pinned(gate_cases: tuple[Case, ...]) -> None:
    """A sample of some 200 cases has the same operands, bit for bit, on every machine, numpy and Python."""
    sample = [case for case in gate_cases if topic_of(case.id) not in {"contexts", "quantised"}][::44]
    assert 190 <= len(sample) <= 230
    assert {"bf16", "f16", "f32", "f64"} <= {case.x.dtype for case in sample}
    parts: list[bytes] = []
    for case in sample:
        for role, array in make_operands(case.x, case.w, case.b).items():
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            parts += [f"{case.id} {role} {array.dtype} {array.shape}".encode(), little.tobytes()]
    assert digest(parts) == TENSORS


def test_every_gate_case_is_found_by_its_id(corpus: Corpus, gate_cases: tuple[Case, ...]) -> None:
    """An id leads back to its case and its facts, its labels are facts, and as a pattern it means no other case.

    That of a context, which leaves out neutral levels, means those with further levels too.
    """
    for case in gate_cases[::5]:
        assert corpus.find(case.id) == case
        assert corpus.find_facts(case.id) == case.facts
        assert facts_of(case.id).items() <= dict(case.facts).items()
    for case in gate_cases[::501]:
        pattern = parse(case.id)
        found = [other for other in gate_cases if pattern.matches(other.id, other.facts)]
        assert case in found
        assert len(found) == 1 or all(case.context.levels.items() < other.context.levels.items() for other in found[1:])


# Ids and order.


def test_ids_begin_with_the_path_below_the_folder(small: Corpus, tmp_path: Path) -> None:
    """Files go by the order of their paths; a single file's ids begin with its stem or with its path below a folder."""
    found = names(small.cases())
    assert found[:3] == ["topic/one/plain", "topic/one/marked", "two/plain"]
    assert found[3] == "topic/one/crop[strides=1,dilations=1,seed=0]"
    assert len(found) == 3 + 10 + 12
    file = tmp_path / "topic" / "one.yaml"
    assert names(Corpus.load(file).cases())[0] == "one/plain"
    assert names(Corpus.load(file, tmp_path).cases())[0] == "topic/one/plain"
    assert (small.whole, Corpus.load(file).whole, Corpus.load(file, tmp_path).whole) == (True, False, False)


def test_the_digest_is_of_names_and_contents(small: Corpus, tmp_path: Path) -> None:
    assert re.fullmatch("sha256:[0-9a-f]{16}", small.digest)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    written(elsewhere, SMALL, "one.yaml")
    digests = {small.digest, Corpus.load(elsewhere).digest}
    (tmp_path / "topic" / "one.yaml").rename(tmp_path / "topic" / "other.yaml")
    digests.add(Corpus.load(tmp_path / "topic").digest)
    written(tmp_path / "topic", SMALL + "# a remark\n", "other.yaml")
    digests.add(Corpus.load(tmp_path / "topic").digest)
    assert len(digests) == 4
    assert Corpus.load(elsewhere / "one.yaml").digest == Corpus.load(elsewhere).digest


# Selecting and finding.


def test_tiers_and_marks(small: Corpus) -> None:
    """Gate has every hand-written case, smoke the marked ones; a marked sweep is in every tier with all its cases."""
    for tier in TIERS:
        found = names(small.cases(tier))
        assert "topic/one/marked" in found
        assert ("topic/one/plain" in found) == (tier != "smoke")
        assert sum(case_id.startswith("topic/one/always[") for case_id in found) == 12
    pairs = sum(case_id.startswith("topic/one/crop[") for case_id in names(small.cases("smoke")))
    assert 6 <= pairs < sum(case_id.startswith("topic/one/crop[") for case_id in names(small.cases("gate"))) == 10


def test_a_tier_of_its_own(tmp_path: Path) -> None:
    """The named tier and those above it have every case of a sweep, and the single case; those below have none."""
    for smallest in TIERS:
        axes = "{strides: [1, 2], dilations: [1, 2], seed: [3, 4, 5]}"
        parts = f"sweeps: [{{name: s, tier: {smallest}, axes: {axes}}}]\ncases: [{{name: c, tier: {smallest}}}]\n"
        corpus = Corpus.load(written(tmp_path, BARE_HEAD + parts))
        expected = [13 * (TIERS.index(tier) >= TIERS.index(smallest)) for tier in TIERS]
        assert [len(names(corpus.cases(tier))) for tier in TIERS] == expected
        assert [corpus.count(tier) for tier in TIERS] == expected


@pytest.mark.parametrize(
    ("patterns", "count"),
    [
        ((), 25),
        (("topic",), 24),
        (("topic/*/crop",), 10),
        (("**[seed=0]",), 7),
        (("topic/one/crop[strides=1,seed=0|2]",), 4),
        (("topic/one/crop[seed=2,strides=1]", "topic/one/crop[strides=1]"), 6),
        (("two", "topic/one/plain"), 2),
        (("*/plain",), 1),
        (("**/plain",), 2),
        (("topic/one/crop[strides=2,seed=2]",), 0),
        (("nothing",), 0),
    ],
)
def test_any_of_the_patterns_selects(small: Corpus, patterns: tuple[str, ...], count: int) -> None:
    """A case is there once if any pattern means it; without patterns all are."""
    found = names(small.cases("full", patterns))
    assert len(found) == len(set(found)) == count
    assert [case_id for case_id in names(small.cases()) if case_id in found] == found


def test_patterns_select_within_a_tier(small: Corpus) -> None:
    assert names(small.cases("smoke", ["**/plain"])) == []
    smoke = set(names(small.cases("smoke")))
    assert set(names(small.cases("smoke", ["topic/one/crop"]))) == {case_id for case_id in smoke if "/crop[" in case_id}


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "topic/one/crop",
        "topic/one/crop[strides=1]",
        "topic/one/crop[strides=2,dilations=1,seed=2]",
        "topic/one/crop[strides=1,dilations=1,seed=9]",
        "topic/one/crop[strides=1,dilations=1,seed=0,bias=true]",
        "topic/one/plain[bias=true]",
        "",
    ],
)
def test_what_is_no_id_is_not_found(small: Corpus, text: str) -> None:
    """A pattern, a skipped combination, an unknown label: find and facts answer None."""
    assert small.find(text) is None
    assert small.find_facts(text) is None


def test_one_takes_an_id_or_a_pattern_of_one(small: Corpus) -> None:
    full = "topic/one/crop[strides=1,dilations=2,seed=1]"
    for text, found in {full: full, "**[seed=1,dilations=2,strides=1]": full, "two/plain": "two/plain"}.items():
        assert small.case(text).id == found
    with pytest.raises(UsageError, match=r"which matches several\); for example\n  topic/one/plain\n  two/plain$"):
        small.case("**/plain")


# Files.


def test_case_files_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("b/two.yaml", "a.yml", "b/one.yaml", "b/tiers.json", "notes.txt", "c.YAML"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [file.relative_to(tmp_path).as_posix() for file in find_case_files(tmp_path)] == [
        "a.yml",
        "b/one.yaml",
        "b/two.yaml",
    ]
    assert find_case_files(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]


def test_equal_stems_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for name in ("one.yaml", "one/one.yml"):
        (tmp_path / name).touch()
    refused = r"one\.ya?ml: the cases of a file must have ids of their own \(got those of .*one\.ya?ml\); rename it"
    with pytest.raises(FileError, match=refused):
        find_case_files(tmp_path)
    (tmp_path / "one.yaml").rename(tmp_path / "one/one.yaml")
    with pytest.raises(FileError, match=refused):
        find_case_files(tmp_path)


def test_a_file_with_the_name_of_its_folder_is_not_named_in_ids(tmp_path: Path) -> None:
    """It would say a word twice. Another file of the folder is named, and so is one with the corpus folder's name."""
    for name in ("topic/topic.yaml", "topic/other.yaml", "a/topic/topic/topic.yaml", f"{tmp_path.name}.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(CASES)
    names = {case.partition("/plain")[0] for case in Corpus.load(tmp_path).ids(patterns=["**/plain"])}
    assert names == {"topic", "topic/other", "a/topic/topic", tmp_path.name}
    assert list(Corpus.load(tmp_path / "topic/topic.yaml").ids(patterns=["**/plain"])) == ["topic/plain"]


@pytest.mark.parametrize("name", ["a[1]", "what?", "star*", "line\nend", "bell\a", os.fsdecode(b"byte\xff")])
def test_a_path_that_no_pattern_could_say_is_refused(tmp_path: Path, name: str) -> None:
    """Ids are for patterns and for lines of output, and a file's path is their beginning."""
    written(tmp_path, PLAIN, f"{name}.yaml")
    with pytest.raises(FileError, match="a case file must have a printable path without"):
        Corpus.load(tmp_path)
