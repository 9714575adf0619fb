"""Runtimes in environments of their own: how they are made and asked, and the history of releases."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from small_corpus import written
from tconv.backends.environments import TABLE, engine_of, engines
from tconv.backends.interpreters import interpreters
from tconv.corpus import Corpus
from tconv.datafiles import data_folder
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool

if TYPE_CHECKING:
    from small_corpus import Command

DIALECT = "onnx/ConvTranspose-22"
RUNNERS = data_folder("runners")
ACME = Path(__file__).with_name("acme_runner.py")


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a made-up runtime whose releases, 1 to 4, are wheels in a folder; there is no network.

    Its row names a page that is not there: a user's own PIP_FIND_LINKS replaces it.
    """
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for release in ("1", "2", "3", "4"):
        _wheel(wheels, release)
    table = tmp_path / "mine" / TABLE
    table.parent.mkdir()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    table.write_text(
        f"acme: {{runtime: Acme, runner: {ACME}, package: acme, version: '1', pythons: {{'': '{python}'}}, "
        f"links: file:///no/such, dialects: [{DIALECT}, onnx/ConvTranspose-11]}}\n"
    )
    packages = os.pathsep.join(filter(None, [*sys.path, *site.getsitepackages()]))
    values = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "UV_NO_INDEX": "1", "UV_FIND_LINKS": wheels}
    values |= {"XDG_CACHE_HOME": tmp_path / "cache", "ACME_PACKAGES": packages}
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    written(tmp_path)
    return f"{table.parent}/acme"


def _wheel(folder: Path, release: str, declared: str = "") -> None:
    """Write a wheel of `acme` for this Python alone; it may declare a package that it needs."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-none-any"
    info = f"acme-{release}.dist-info"
    with zipfile.ZipFile(folder / f"acme-{release}-{tag}.whl", "w") as file:
        file.writestr("acme.py", "")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: acme\nVersion: {release}\n{declared}")
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")


def _made(folder: Path) -> list[str]:
    there = (folder / "cache" / "tconv" / "environments").glob("[!.]*")
    return sorted(path.name.rpartition("-")[0] for path in there)


# Environments


def test_an_environment_is_made_once_by_whoever_wants_it(acme: str, command: Command, tmp_path: Path) -> None:
    """A release is run as any backend."""
    engine = engine_of(f"runner:{acme}==2")
    assert engine is not None
    commands: list[str] = []
    threads = [threading.Thread(target=lambda: commands.append(engine.command(None))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(commands) == 3
    assert len(set(commands)) == 1
    words = f"run --backend runner:{acme}==2 --dialect onnx/ConvTranspose-11 --cases small.yaml --no-new-calls -j 1"
    done = command(*words.split())
    assert done.returncode == 1, done.stderr
    assert "acme 2  onnx/ConvTranspose-11" in done.stdout
    assert "no: a stride of 7" in done.stdout
    assert _made(tmp_path) == ["acme-2"]


@pytest.mark.parametrize("installer", ["uv", pytest.param("pip", marks=pytest.mark.thorough)])
def test_a_row_may_name_a_page_of_wheels_and_leave_out_what_its_package_declares(
    installer: str, acme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another engine of the same package has the same environment. Nothing is left of one that is not whole."""
    _wheel(tmp_path / "wheels", "5", "Requires-Dist: no-such-package\n")
    table = Path(acme).with_name(TABLE)
    rows = yaml.safe_load(table.read_text())
    row = rows["acme"] | {"no-deps": True, "links": (tmp_path / "wheels").as_uri()}
    table.write_text(yaml.safe_dump(rows | {"alone": row, "other": row}))
    engines.cache_clear()
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    if installer == "pip":
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    made = []
    for name in ("alone", "other"):
        engine = engine_of(f"runner:{table.parent}/{name}==5")
        assert engine is not None
        made.append(engine.environment())
    assert made[0] == made[1]
    assert _made(tmp_path) == ["acme-5"]
    # A row that is corrected has another environment.
    with pytest.raises(BackendMissing, match=r"must succeed \(got: .*acme"):
        replace(engine, row=row | {"no-deps": False}).environment()
    assert _made(tmp_path) == ["acme-5"]


@pytest.mark.parametrize(
    ("wrong", "must"),
    [
        ("links: [https://example.org]", "text as links (got ['https://example.org'])"),
        ("no-deps: 'false'", "true or false as no-deps (got 'false')"),
        ("needs: numpy", "a list, or lists by releases as needs (got 'numpy')"),
        ("dialects: onnx/ConvTranspose-22", "a list as dialects (got 'onnx/ConvTranspose-22')"),
        ("package: [acme]", "text as package (got ['acme'])"),
    ],
)
def test_a_row_of_another_form_is_refused(wrong: str, must: str, tmp_path: Path) -> None:
    """Nothing is installed, and no name of one letter is looked up."""
    row = {"runner": "acme.py", "package": "acme", "version": "1", "dialects": [DIALECT]} | yaml.safe_load(wrong)
    (tmp_path / "engines.yaml").write_text(yaml.safe_dump({"acme": row}), encoding="utf-8")
    with pytest.raises(BackendMissing, match=re.escape(f"engines.yaml must give acme {must}")):
        engine_of(f"runner:{tmp_path}/acme")


@pytest.mark.parametrize("text", ["", "- acme", "acme: 3", "acme: {runner: acme.py, version: 3}"])
def test_a_table_that_is_not_whole_is_refused(text: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "engines.yaml").write_text(text, encoding="utf-8")
    done = command("run", "--backend", f"runner:{tmp_path}/acme")
    assert (done.returncode, done.stderr.count("Traceback")) == (3, 0)
    assert "must give each runtime dialects, package, runner, version" in done.stderr


def test_each_row_of_the_table_is_whole() -> None:
    for name, row in engines().items():
        engine = engine_of(f"runner:{name}")
        assert engine is not None
        assert (RUNNERS / row["runner"]).is_file()
        assert row["runtime"]
        assert [find_dialect(dialect).name for dialect in engine.dialects] == row["dialects"]
        assert str(engine.version) in engine.requirements[0]
        assert re.fullmatch(r"3\.\d+", engine.python)


def test_an_old_onnxruntime_gets_an_old_numpy_and_an_old_python() -> None:
    """Releases before 1.19 are built for numpy 1, and most do not say so."""
    old, new = engine_of("onnxruntime==1.10.0"), engine_of("onnxruntime==1.32.0")
    assert old is not None
    assert new is not None
    assert (old.requirements, old.python) == (["onnxruntime==1.10.0", "numpy<2"], "3.6")
    assert (new.requirements, new.python) == (["onnxruntime==1.32.0", "numpy"], "3.11")


def test_a_python_that_cannot_be_asked_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails, hangs up or is no Python of ours is passed over; the Python that runs tconv is always there."""
    for name, text in {
        "python3.7": "exit 1",
        "python3.8": "echo pypy 3.8 False",
        "python3.9": "echo cpython 3.5 False",
    }.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert [python.version for python in interpreters()] == [sys.version_info[:2]]


# The runner of onnxruntime's releases


ASKED = (
    "invalid/attributes/groups-*",
    "invalid/attributes/plain[fault=float64]",
    "output-padding/bounds/at-stride-by-hand",
    "padding/output-shape/*-by-hand",
)


@pytest.mark.parametrize("dialect", ["onnx/ConvTranspose-22", "onnx/ConvTranspose-11"])
def test_the_runner_of_onnxruntime_does_as_its_backend(dialect: str, tmp_path: Path) -> None:
    cases = [*Corpus.load(written(tmp_path)).cases("gate"), *Corpus.load().cases("gate", ASKED)]
    runner = f"exec:{sys.executable} {RUNNERS / 'runner_onnxruntime.py'} {dialect}"
    verdicts = []
    for backend in ("onnxruntime", runner):
        with Pool(Asking(backend, find_dialect(dialect), timeout=10.0)) as pool:
            assert pool.backend.name == "onnxruntime"
            records = pool.records(cases)
        verdicts.append(
            {case: (record.verdict.kind, getattr(record.verdict, "message", "")) for case, record in records.items()}
        )
    assert verdicts[0] == verdicts[1]
    # Which calls it breaks at, or dies of, is a matter of the release.
    assert {"agreed", "disputed", "refused-valid", "unsupported"} <= {kind for kind, _ in verdicts[1].values()}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("[ONNXRuntimeError] : 1 : FAIL : Unsupported model IR version: 10, max 9", "unsupported"),
        ("Opset 22 is under development and support for this is limited.", "unsupported"),
        ("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for the node", "unsupported"),
        ("[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model", "refused"),
        ("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : narrowing_error", "backend-error"),
        ("vector::_M_range_check", "backend-error"),
    ],
)  # fmt: skip
def test_what_a_release_has_not_got_yet_is_no_refusal(message: str, kind: str, tmp_path: Path) -> None:
    """A RuntimeError of an old release is told by its words: an opset that it does not know is unsupported."""
    (tmp_path / "onnxruntime.py").write_text(
        "__version__ = '0.3'\nclass SessionOptions: pass\n"
        f"class InferenceSession:\n    def __init__(self, model, options): raise RuntimeError({message!r})\n"
    )
    starter = tmp_path / "start.py"
    starter.write_text(
        f"import runpy, sys\nsys.path[:0] = [{str(tmp_path)!r}, {str(RUNNERS)!r}]\n"
        f"runpy.run_path({str(RUNNERS / 'runner_onnxruntime.py')!r}, run_name='__main__')\n"
    )
    case = next(iter(Corpus.load(written(tmp_path)).cases("gate")))
    with Pool(Asking(f"exec:{sys.executable} {starter} {DIALECT}", timeout=10.0)) as pool:
        verdict = pool.record(case).verdict
    assert verdict.kind == {"refused": "refused-valid"}.get(kind, kind)


# The command


@pytest.mark.thorough
def test_the_command_prints_what_changed_from_release_to_release(acme: str, command: Command) -> None:
    words = ["--cases", "small.yaml", "--waivers", "none", "--output", "out", "-j", "1"]
    done = command("history", acme, "4", "9", "1", "2", "3", *words)
    assert done.returncode == 0, done.stderr
    assert "acme 9 is left out: " in done.stderr
    first, *changes = re.split(r"^acme \d, .* -> acme \d, .*$", done.stdout, flags=re.MULTILINE)
    assert "Returns wrong values in small/padded" in first
    one = r"^ +1  (\w+ -> \w+).*\n(?:  .*\n)*?  +tconv show (\S+)"
    found = [re.findall(one, text, re.MULTILINE) for text in changes]
    assert found == [
        [("passed -> failed", "small/trouble")],
        [("failed -> failed", "small/trouble"), ("failed -> passed", "small/padded")],
        [("passed -> failed", "small/after"), ("failed -> passed", "small/trouble")],
    ]
    again = command("history", "--records", "out", "--cases", "small.yaml", "--waivers", "none")
    assert again.stdout == done.stdout


def test_a_later_release_without_all_records_is_told(command: Command, tmp_path: Path) -> None:
    """What has no record did not change either, but that no case became worse is not all there is to say.

    A note on all releases, such as one on their waivers, is printed once.
    """
    cases = written(tmp_path)
    done = command("run", "--backend", "wrong_backends:Right", "--cases", str(cases), "--output", "out", "-j", "1")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").glob("*.jsonl")
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    made = json.loads(header)
    for version, kept in (("1.0", lines), ("2.0", lines[:-1])):
        made["run"]["backend"]["version"] = version
        made["run"]["waivers"] = {"file": "old.yaml", "digest": "sha256:0"}
        text = "\n".join([json.dumps(made), *kept, ""])
        (tmp_path / f"{version}.jsonl").write_text(text, encoding="utf-8")
    path.unlink()
    done = command("history", "--records", ".", "--cases", str(cases))
    assert done.returncode == 0, done.stderr
    first, later = done.stdout.split(" -> ", 1)
    assert "red: " not in first
    assert done.stdout.count("the run began with the waivers") == first.count("the run began with the waivers") == 1
    assert re.search(r"^\w+ 2\.0 .* red: \d+ passed", later, re.MULTILINE)
    assert re.search(r"^red: \d+ cases must have a record \(got \d+\); resume the run$", later, re.MULTILINE)


def test_each_release_has_its_own_note_on_failures_that_were_not_asked_again(command: Command, tmp_path: Path) -> None:
    """Also if the note has the same words: as many failures of another release are other failures."""
    cases = written(tmp_path)
    asked = ("--backend", "wrong_backends:PadsSwapped", "--cases", str(cases), "--no-new-calls", "-j", "1")
    done = command("run", *asked, "--output", "out")
    assert done.returncode == 1, done.stderr
    (path,) = (tmp_path / "out").glob("*.jsonl")
    header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    for version in ("1.0", "2.0"):
        header["run"]["backend"]["version"] = version
        records = [{key: value for key, value in line.items() if key != "alone"} for line in lines]
        text = "".join(f"{json.dumps(line)}\n" for line in (header, *records))
        (tmp_path / f"{version}.jsonl").write_text(text, encoding="utf-8")
    path.unlink()
    done = command("history", "--records", ".", "--cases", str(cases))
    assert done.stdout.count("it is not known of") == 2
