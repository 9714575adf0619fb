"""A pattern says which cases are meant, by path and by facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tconv.cases.patterns import facts_of, label, parse
from tconv.errors import UsageError

NAMES = st.from_regex(r"[a-z0-9][a-z0-9.+-]{0,6}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=2, max_size=5, unique=True).map("/".join)
LABELS = st.from_regex(r"[A-Za-z0-9_.+-]{1,6}", fullmatch=True)
FACTS = st.dictionaries(NAMES, LABELS, max_size=5)


def case_id(path: str, labels: dict[str, str]) -> str:
    """Return the id of a case of a sweep, or of a single one."""
    return f"{path}[{','.join(f'{key}={value}' for key, value in labels.items())}]" if labels else path


@given(PATHS, FACTS)
def test_an_exact_id_is_a_pattern_for_itself(path: str, labels: dict[str, str]) -> None:
    """What a report prints can be given to the command as it is."""
    text = case_id(path, labels)
    assert facts_of(text) == labels
    assert parse(text).matches(text, labels)


@given(PATHS, FACTS, st.data())
def test_conditions_stand_in_any_order(path: str, labels: dict[str, str], data: st.DataObject) -> None:
    """The order of conditions, and spaces around them, mean nothing; leaving some out means any."""
    shuffled = data.draw(st.permutations(list(labels.items())))
    some = shuffled[: data.draw(st.integers(0, len(shuffled)))]
    conditions = " , ".join(f"{key} = {value}" for key, value in some)
    assert parse(f"{path}[{conditions}]").matches(case_id(path, labels), labels)


@given(PATHS, FACTS.filter(bool), st.data())
def test_every_condition_must_hold(path: str, labels: dict[str, str], data: st.DataObject) -> None:
    """One fact with another value, or none of that name, and the case is not meant."""
    text = case_id(path, labels)
    key = data.draw(st.sampled_from(sorted(labels)))
    assert not parse(text).matches(text, labels | {key: labels[key] + "+"})
    assert not parse(text).matches(text, {k: v for k, v in labels.items() if k != key})


@given(PATHS, st.data())
def test_a_star_stands_for_what_is_within_a_segment(path: str, data: st.DataObject) -> None:
    """Any one segment may be a star; a star never stands for two."""
    segments = path.split("/")
    place = data.draw(st.integers(0, len(segments) - 1))
    assert parse("/".join([*segments[:place], "*", *segments[place + 1 :]])).matches(path, {})
    joined = "/".join([*segments[:place], "*", *segments[place + 2 :]])
    # Two segments less one star are one too many, unless nothing follows: then what is below is meant.
    assert parse(joined).matches(path, {}) == (place + 2 >= len(segments))


@given(PATHS, st.data())
def test_two_stars_stand_for_any_run_of_segments(path: str, data: st.DataObject) -> None:
    """From one segment to all of them."""
    segments = path.split("/")
    first = data.draw(st.integers(0, len(segments) - 1))
    last = data.draw(st.integers(first + 1, len(segments)))
    assert parse("/".join([*segments[:first], "**", *segments[last:]])).matches(path, {})


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("padding", True),
        ("padding/", True),
        ("padding/output-shape", True),
        ("padding/output-shape/crop", True),
        ("padding/output-shape/crop/more", False),
        ("padding/output", False),
        ("padding/output*", True),
        ("output-shape", False),
        ("**/crop", True),
        ("*/crop", False),
        ("padding/*/cro?", True),
        ("padding/*/cr?", False),
        ("padding/*/c*p", True),
        ("padding/output.shape/crop", False),
        ("padding/(output-shape|x)/crop", False),
        ("PADDING", False),
        ("**", True),
        ("*", True),
        ("padding[strides=2]", True),
        ("padding[strides=1|2|3]", True),
        ("padding[strides=1|3]", False),
        ("padding[strides=2,auto_pad=valid]", True),
        ("padding[auto_pad=valid,strides=3]", False),
        ("padding[rank=2]", False),
        ("padding[]", True),
    ],
)
def test_what_a_pattern_means(pattern: str, meant: bool) -> None:  # noqa: FBT001
    """A glob over whole segments, then conditions; a pattern that ends early means what is below."""
    facts = {"strides": "2", "auto_pad": "valid"}
    assert parse(pattern).matches("padding/output-shape/crop[strides=2,auto_pad=valid]", facts) is meant


def test_a_condition_may_be_of_a_fact_that_no_id_shows() -> None:
    """Attributes that a sweep does not vary can be asked for as well."""
    assert parse("**[groups=2]").matches("a/b", {"groups": "2"})
    assert not parse("**[groups=2]").matches("a/b", {})


@pytest.mark.parametrize("text", ["", "a[b", "a]b", "[a=b]", "a[b=c]d", "a[b=c][d=e]", "a[[b=c]]"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    """The message shows the form and what was got."""
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value) == f"a pattern must be PATH or PATH[key=value,...] (got {text!r})"


def test_what_is_no_condition_is_refused() -> None:
    """The message shows the condition and the whole pattern."""
    with pytest.raises(UsageError) as caught:
        parse("a[b=c, d]")
    assert str(caught.value) == "a condition of a pattern must be key=value (got 'd' in 'a[b=c, d]')"


@pytest.mark.parametrize(
    ("value", "text"),
    [(2, "2"), ([1, 2], "1x2"), ((3,), "3"), (True, "true"), (False, "false"), (None, "none"), ("full-1", "full-1")],
)
def test_how_a_value_stands_in_an_id(value: object, text: str) -> None:
    """Lists are joined by x, truth and nothing are words."""
    assert label(value) == text
