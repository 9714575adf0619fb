"""The messages between a run and its dask workers: JSON as bytes, so that nothing that a message holds is pickled."""

from __future__ import annotations

import platform
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tconv.cases.case import Case, Operand
from tconv.dialects import dialect_named
from tconv.errors import BackendLost, BackendMissing, ClusterError, DialectError, OptionError, UsageError
from tconv.records import machine_facts
from tconv.records.headers import (
    BackendHeader,
    flat,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.execution.worker import Assignment


_OF_A_MACHINE = ("dialect", "folder", "log", "environment", "deadly")
"""Fields of an assignment that a dask worker sets itself."""
_MAY_DIFFER = {
    *(f"backend.machine.{fact}" for fact in machine_facts.MAY_DIFFER),
    f"backend.environment.{machine_facts.CONFINEMENT}",
}
_ERRORS = {error.__name__: error for error in (BackendMissing, BackendLost, DialectError, OptionError, ClusterError)}
"""What a worker may report; anything else is a failure of tconv itself."""
CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case], config=ConfigDict(ser_json_inf_nan="strings"))
"""Written values may be NaN or infinite, for which JSON has no number."""


class Order(BaseModel):
    """What a run asks of every dask worker.

    `run` is a word that no other run has. `settings` are fields of an `Assignment` that are the same on all machines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: str
    dialect: str | None
    timeout: float
    settings: dict[str, Any]


class Introduction(BaseModel):
    """What a dask worker judges, and with what: all that a verdict depends on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tconv: str
    platform: dict[str, str]
    dialect: str
    backend: BackendHeader


class Reply(BaseModel):
    """What a dask worker answers: an introduction, or lines by case and artifacts by file name, or an error.

    `lines` may be fewer than the cases that were sent, where their artifacts are large; the others were not run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    introduction: Introduction | None = None
    lines: tuple[tuple[str, str], ...] = ()
    artifacts: dict[str, bytes] = {}
    error: tuple[str, str] | None = None


def cases_of(data: bytes) -> list[Case]:
    """Return cases that were sent, with one object for each of their equal parts, as before they were sent.

    A worker finds sooner what it remembers of a part when it is the same object. A chunk of some hundred cases has
    about a dozen different parts of a kind.

    Args:
        data: cases, by `CASES`.
    """
    parts: dict[Any, Any] = {}

    def shared(operand: Operand) -> Operand:
        # Values may be zeros of either sign, which are equal.
        same: Operand = operand if operand.values else parts.setdefault(operand, operand)
        return same

    return [
        replace(
            case,
            attributes=parts.setdefault(case.attributes, case.attributes),
            x=shared(case.x),
            w=shared(case.w),
            b=case.b and shared(case.b),
            cites=parts.setdefault(case.cites, case.cites),
            about=parts.setdefault(case.about, case.about),
        )
        for case in CASES.validate_json(data)
    ]


def differences(introductions: Mapping[str, Introduction]) -> list[str]:
    """Return a phrase for each fact in which workers differ that must be equal: who says what.

    Args:
        introductions: by the name of the worker.
    """
    by_worker = {
        worker: {name: str(value) for name, value in flat(introduction.model_dump())}
        for worker, introduction in introductions.items()
    }
    names = dict.fromkeys(name for facts in by_worker.values() for name in facts)
    return [
        f"{name} is {', '.join(f'{text!r} on {worker}' for text, worker in by_text.items())}"
        for name in names
        if name not in _MAY_DIFFER
        and len(by_text := {facts.get(name, ""): worker for worker, facts in reversed(by_worker.items())}) > 1
    ]


def joined(introductions: Sequence[Introduction]) -> Introduction:
    """Return the introduction of workers that do not differ; where machines may differ, it has the facts of all."""
    first = introductions[0]
    backend = machine_facts.joined_backend([introduction.backend for introduction in introductions])
    return first.model_copy(update={"backend": backend})


def order_of(assignment: Assignment, timeout: float) -> Order:
    """Return the order of a new run.

    Args:
        assignment: what the workers are started for.
        timeout: seconds that a case may take.

    Raises:
        UsageError: only a dialect's name travels, and the assignment's dialect is not what the name stands for.
    """
    dialect = assignment.dialect
    if dialect is not None and dialect_named(dialect.name) != dialect:
        raise UsageError(f"a cluster must be given a dialect of tconv's own (got another {dialect.name})")
    settings = {f.name: getattr(assignment, f.name) for f in fields(assignment) if f.name not in _OF_A_MACHINE}
    return Order(run=uuid4().hex, dialect=dialect.name if dialect else None, timeout=timeout, settings=settings)


def checked(data: bytes, worker: str) -> Reply:
    """Return a reply, or raise the error that it tells of.

    Args:
        data: a `Reply`.
        worker: who says it.
    """
    reply = Reply.model_validate_json(data)
    if reply.error is None:
        return reply
    name, text = reply.error
    raise _ERRORS.get(name, RuntimeError)(f"{worker}: {text}")


def machine_name() -> str:
    """Return the name of this machine, for messages."""
    return platform.node() or "a machine without a name"
