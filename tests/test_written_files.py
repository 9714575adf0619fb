"""What a command writes to is never replaced by something else: links, pipes and devices stay what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from small_corpus import environment, record_file, tconv, written
from tconv.cli.output import refuse_unwritable
from tconv.errors import FileError
from tconv.reports import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = ("run", "--backend", "wrong_backends:Right", "-j", "1", "--cases")


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    """Whether there is something at its end or not; a link to itself is refused in words."""
    for name, before in (("there", "old"), ("not-yet", None)):
        file, link = tmp_path / name, tmp_path / f"link-{name}"
        if before:
            file.write_text(before)
        link.symlink_to(name)
        refuse_unwritable([link])
        assert file.exists() == (before is not None)
        atomic_write.write(link, "new")
        assert (link.is_symlink(), file.read_text()) == (True, "new")
    (tmp_path / "endless").symlink_to("endless")
    with pytest.raises(FileError, match="must be a file that can be written"):
        atomic_write.write(tmp_path / "endless", "new")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"endless", "link-not-yet", "link-there", "not-yet", "there"}


def test_a_link_that_waits_for_the_text_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is written under another name first: that name cannot be guessed, and must be of no file."""
    (tmp_path / "precious").write_text("precious text")
    for name in (f".page.{os.getpid()}.partial", ".guessed.partial"):
        (tmp_path / name).symlink_to("precious")
    atomic_write.write(tmp_path / "page", "new")
    assert (tmp_path / "page").is_symlink() is False
    monkeypatch.setattr(atomic_write, "token_hex", lambda _: "guessed")
    with pytest.raises(FileError, match="File exists"):
        atomic_write.write(tmp_path / "page", "newer")
    assert [(tmp_path / name).read_text() for name in ("precious", "page")] == ["precious text", "new"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_gets_the_whole_text_once(tmp_path: Path) -> None:
    """Its reader is there before the run, and reads JUnit's XML to its end."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE, encoding="utf-8") as reader:  # noqa: S607
        done = tconv(tmp_path, *RIGHT, str(written(tmp_path)), "--junit", "pipe")
        read = reader.communicate()[0]
    assert done.returncode == 0, done.stderr
    assert read.rstrip().endswith("</testsuites>")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="the system has no paths of descriptors")  # noqa: PTH110
def test_what_is_written_to_standard_output_is_utf8(tmp_path: Path) -> None:
    program = "from pathlib import Path; from tconv.reports import atomic_write; print('before'); "
    program += "atomic_write.write(Path('/dev/stdout'), '\u2713\\n'); print('after')"
    command, latin = [sys.executable, "-c", program], environment(PYTHONIOENCODING="latin-1")
    done = subprocess.run(command, cwd=tmp_path, env=latin, capture_output=True, check=False)
    assert done.stdout == "before\n\u2713\nafter\n".encode(), done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="the system has no paths of descriptors")  # noqa: PTH110
@pytest.mark.parametrize("path", ["/dev/stdout", "link", "out.txt"])
def test_standard_output_that_is_a_file_gets_the_report_and_what_is_printed(tmp_path: Path, path: str) -> None:
    """`--junit /dev/stdout > out.txt`: the file stays the shell's, and neither text overwrites the other."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    command = [sys.executable, "-m", "tconv", *RIGHT, str(written(tmp_path)), "--junit", path]
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as out:
        out.write("before\n")
        out.flush()
        done = subprocess.run(command, cwd=tmp_path, env=environment(), stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert text.startswith("before\n<?xml")
    assert text.count("</testsuites>") == 1
    assert text.rstrip().endswith(".html")
    assert (tmp_path / "link").is_symlink()


def test_a_trial_leaves_no_folder_behind(tmp_path: Path) -> None:
    refuse_unwritable([tmp_path / "a/b/c.xml"])
    (tmp_path / "file").touch()
    with pytest.raises(FileError):
        refuse_unwritable([tmp_path / "file/d/e.xml"])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_records_are_not_written_into_a_device(tmp_path: Path) -> None:
    """They are read again at the end: it is said before a case runs."""
    cases = str(written(tmp_path))
    records = record_file(tmp_path, output="reports")
    records.parent.mkdir()
    records.symlink_to("/dev/null")
    done = tconv(tmp_path, *RIGHT, cases)
    assert done.returncode == 2
    assert "must be a file, as it is read again (got a pipe or device); choose another --output" in done.stderr
