"""A waiver file says which deviations are known, exactly, and is refused where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from made_records import DIALECT, header, waiver, waiver_file
from tconv.errors import FileError, FileErrors
from tconv.gate.status import RULINGS
from tconv.gate.waivers import choose_waivers, load
from test_wrong_input import GOLDEN, compare

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.gate.waivers import Waiver

REFUSALS = GOLDEN / "waiver_file_messages.yaml"
GOOD = f"""\
format: 1
backend: acme
unsupported:
  - where: {{dtype: [f64, bf16]}}
    because: no kernel
waivers:
  - name: rounds-up
    dialects: [{DIALECT}]
    cases: padding/**
    where: {{auto_pad: same_upper, groups: 1, bias: true}}
    verdict: {{kind: differed}}
    versions: ">=1.28"
    clause: doc
    because: it rounds up
    example: padding/output-shape/grow
    link: null
    date: 2026-11-20
"""


def refusal(tmp_path: Path, old: str, new: str) -> str:
    """Return what is said of the good file after a replacement, without the file's folder."""
    assert GOOD.count(old) == 1
    path = tmp_path / "acme.yaml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def only(**settings: object) -> Waiver:
    return waiver_file(waiver(**settings)).waivers[0]


def test_a_good_file_is_read(tmp_path: Path) -> None:
    """Dates may stand without quotes, words in `where` are words, and numbers and truth are what they are."""
    path = tmp_path / "acme.yaml"
    path.write_text(GOOD, encoding="utf-8")
    file = load(path)
    (waiver,) = file.waivers
    assert (file.backend, waiver.name, waiver.date, waiver.link) == ("acme", "rounds-up", "2026-11-20", None)
    assert waiver.where == {"auto_pad": "same_upper", "groups": 1, "bias": True}
    assert waiver.covers("padding/x/y", {"auto_pad": "same_upper", "groups": "1", "bias": "true"})
    assert not waiver.covers("padding/x/y", {"auto_pad": "same_upper", "groups": "1", "bias": "false"})
    assert file.unsupported[0].covers("any/thing", {"dtype": "bf16"})
    assert not file.unsupported[0].covers("any/thing", {"dtype": "f16"})


def test_each_broken_file_has_its_message(tmp_path: Path) -> None:
    edits = yaml.safe_load(REFUSALS.read_text(encoding="utf-8"))
    compare(REFUSALS, [refusal(tmp_path, edit["replace"], edit["by"]) for edit in edits])


def test_all_errors_of_a_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "acme.yaml"
    path.write_text(GOOD.replace("format: 1", "format: 2\nbakcend: x").replace("kind: differed}", "kind: difered}"))
    with pytest.raises(FileErrors) as caught:
        load(path)
    assert [str(error).partition(" (got ")[0] for error in caught.value.errors] == [
        f"{path}:1:9: must be 1",
        f"{path}:2:1: must be one of the known keys",
        f"{path}:12:14: must have a kind, one of {', '.join(RULINGS)}",
    ]


def test_two_waivers_of_one_name_are_refused(tmp_path: Path) -> None:
    again = GOOD[GOOD.index("  - name") :]
    message = refusal(tmp_path, "    date: 2026-11-20\n", "    date: 2026-11-20\n" + again)
    assert message == "acme.yaml:18:11: a waiver's name must be unique (got 'rounds-up' again)"


@pytest.mark.parametrize(
    ("versions", "version", "active"),
    [
        (">=1.28", "1.28", True),
        (">=1.28", "1.28.1+cpu", True),
        (">=1.28", "1.29.0.dev20261120", True),
        (">=1.28", "1.27.9", False),
        (">=1.28,<2", "2.0", False),
        ("==1.28.*", "1.28.3", True),
        ("", "0.1", True),
        (">=1", "unknown", False),
    ],
)
def test_a_waiver_is_active_for_its_versions(versions: str, version: str, active: bool) -> None:  # noqa: FBT001
    """As PEP 440 says, development versions included; a version that is none is nobody's."""
    assert only(versions=versions).active(DIALECT, header(version).backend) is active


@pytest.mark.parametrize(
    ("machine", "facts", "active"),
    [
        ({"without": ["avx512_fp16"]}, {"simd": "avx2"}, True),
        ({"without": ["avx512_fp16"]}, {"simd": "avx2 avx512_fp16"}, False),
        ({"without": ["avx512_fp16"]}, {}, False),
        ({"with": ["amx_bf16"]}, {"simd": "avx2 amx_bf16"}, True),
        ({"with": ["amx_bf16", "amx_fp16"]}, {"simd": "avx2 amx_bf16"}, False),
        ({"with": ["avx2"], "without": ["avx512f"]}, {"simd": "avx avx2"}, True),
        ({"with": ["avx2"], "without": ["avx512f"]}, {"simd": "avx"}, False),
        ({"system": "Linux"}, {"system": "Linux"}, True),
        ({"system": "Linux", "architecture": "aarch64"}, {"system": "Linux", "architecture": "x86_64"}, False),
        ({"architecture": "aarch64"}, {}, False),
    ],
    ids=str,
)
def test_a_waiver_may_be_for_some_machines(machine: dict[str, object], facts: dict[str, str], active: bool) -> None:  # noqa: FBT001
    """For those that have all of `with` and none of `without`; a machine of which nothing is known is none of them."""
    assert only(machine=machine).active(DIALECT, header("1.28", machine=facts).backend) is active
    assert only().active(DIALECT, header("1.28", machine=facts).backend)


def test_a_setting_that_is_not_written_is_none() -> None:
    """A waiver may be for calls that leave an attribute out, drawn ones too, which have no label for it."""
    unsaid = only(cases="**", where={"auto_pad": ["explicit", None]})
    assert unsaid.covers("a/b", {"strides": "2"})
    assert unsaid.covers("a/b", {"auto_pad": "explicit"})
    assert not unsaid.covers("a/b", {"auto_pad": "valid"})
    assert not only(cases="**", where={"auto_pda": None}).covers("a/b", {})


def test_a_diagnosis_must_be_one() -> None:
    """A misspelt name would waive nothing, and say nothing of it."""
    assert only(diagnosis=["pads-exchanged", "output-padding-ignored + filter-flipped"]).diagnosis
    with pytest.raises(ValueError, match=r"diagnosis must name misreadings .*did you mean 'pads-exchanged'"):
        only(diagnosis=["pads-exchangd"])


def test_which_file_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, none, or what ships for the backend; a backend for which nothing ships has no waivers."""
    path = tmp_path / "acme.yaml"
    path.write_text(GOOD, encoding="utf-8")
    monkeypatch.setattr("tconv.gate.waivers.data_folder", lambda _: tmp_path)
    assert choose_waivers("none", "acme") is None
    assert choose_waivers(None, "other") is None
    for option, backend in [(str(path), "acme"), (str(path), "module:Not_known_yet"), (None, "acme")]:
        file = choose_waivers(option, backend)
        assert file is not None
        assert file.waivers[0].name == "rounds-up"
    with pytest.raises(FileError, match=r"nowhere\.yaml: must be a file that can be read"):
        choose_waivers(str(tmp_path / "nowhere.yaml"), "acme")


def test_a_file_that_is_named_is_for_a_relative_too(tmp_path: Path) -> None:
    """Whatever backend is judged; versions of another are none of its own, so that they do not count."""
    path = tmp_path / "acme.yaml"
    path.write_text(GOOD, encoding="utf-8")
    own, relative = choose_waivers(str(path), "acme"), choose_waivers(str(path), "acme-web")
    assert own is not None
    assert relative is not None
    assert own.backend == relative.backend == "acme"
    (waiver,) = own.waivers
    (same,) = relative.waivers
    assert waiver.of_version(waiver.dialects[0], "0.0.1") is False
    assert same.of_version(same.dialects[0], "0.0.1") is True
    assert same.of_version("geometry/1", "0.0.1") is False
    assert same.model_copy(update={"versions": waiver.versions}) == waiver
