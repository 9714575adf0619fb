"""Whatever Python makes of an interrupt, the command ends as interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv import cli

if TYPE_CHECKING:
    import pytest


class _Field:
    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_while_a_class_is_made_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before Python 3.12 it comes as a RuntimeError, which is no fault of tconv."""

    def interrupted(**_: object) -> None:
        type("Interrupted", (), {"field": _Field()})

    monkeypatch.setattr(cli._tconv, "main", interrupted)
    assert cli._code() == 130
    assert capsys.readouterr().err.startswith("tconv: interrupted")
