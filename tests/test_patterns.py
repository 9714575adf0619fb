"""A pattern says which cases are meant, by path and by facts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tconv.cases.patterns import label, parse
from tconv.errors import UsageError

TABLE = json.loads(Path(__file__).with_name("patterns.json").read_text("utf-8"))
NAMES = st.from_regex(r"[a-z0-9][a-z0-9.+-]{0,6}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=2, max_size=5, unique=True).map("/".join)
LABELS = st.from_regex(r"[A-Za-z0-9_.+-]{1,6}", fullmatch=True)
FACTS = st.dictionaries(NAMES, LABELS, max_size=5)


def case_id(path: str, labels: dict[str, str]) -> str:
    return f"{path}[{','.join(f'{key}={value}' for key, value in labels.items())}]" if labels else path


@given(PATHS, FACTS, st.data())
def test_conditions_stand_in_any_order(path: str, labels: dict[str, str], data: st.DataObject) -> None:
    """The order of conditions, and spaces around them, mean nothing; leaving some out means any."""
    shuffled = data.draw(st.permutations(list(labels.items())))
    some = shuffled[: data.draw(st.integers(0, len(shuffled)))]
    conditions = " , ".join(f"{key} = {value}" for key, value in some)
    assert parse(f"{path}[{conditions}]").matches(case_id(path, labels), labels)


@given(PATHS, FACTS.filter(bool), st.data())
def test_every_condition_must_hold(path: str, labels: dict[str, str], data: st.DataObject) -> None:
    text = case_id(path, labels)
    key = data.draw(st.sampled_from(sorted(labels)))
    assert not parse(text).matches(text, labels | {key: labels[key] + "+"})
    assert not parse(text).matches(text, {k: v for k, v in labels.items() if k != key})


@pytest.mark.parametrize(
    ("case", "pattern", "matches"),
    [
        (case, pattern, matches)
        for case in TABLE["cases"]
        for name, matches in (("matched_by", True), ("not_matched_by", False))
        for pattern in case[name]
    ],
)
def test_what_a_pattern_means(case: dict[str, Any], pattern: str, matches: bool) -> None:  # noqa: FBT001
    assert parse(pattern).matches(case["id"], case["facts"]) is matches


def means(glob: str, path: str) -> bool:
    if not glob:
        return path == "" or path.startswith("/")
    if glob.startswith("**"):
        return any(means(glob[2:], path[at:]) for at in range(len(path) + 1))
    if glob.startswith("*"):
        within = len(path.partition("/")[0])
        return any(means(glob[1:], path[at:]) for at in range(within + 1))
    return path != "" and (path[0] == glob[0] or (glob[0] == "?" and path[0] != "/")) and means(glob[1:], path[1:])


@given(st.lists(st.sampled_from(["a", "b", "/", "?", "*", "**"]), min_size=1, max_size=9), st.text("ab/", max_size=9))
def test_a_pattern_means_what_all_splits_of_a_path_give(parts: list[str], path: str) -> None:
    glob = "".join(parts).rstrip("/")
    assert parse(glob or "a").matches(path, {}) == means(glob or "a", path)


@pytest.mark.parametrize("text", TABLE["invalid"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(text))):
        parse(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(2, "2"), ([1, 2], "1x2"), ((3,), "3"), (True, "true"), (False, "false"), (None, "none"), ("full-1", "full-1")],
)
def test_how_a_value_stands_in_an_id(value: object, text: str) -> None:
    assert label(value) == text
