"""The facts of a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from tconv.shown_texts import plain


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """The facts of a backend. Its texts become `plain` ones, which run no code of the backend.

    Attributes:
        name: its name in records and waiver files.
        version: the version of the runtime.
        dialects: its dialects, the default first.
        environment: further facts that a result may depend on: libraries, threads, processor.
        simd: the vector extensions that the runtime may use, in Linux's words; None if they are not known.
        supplied: questions of `rules` that the backend answers instead of the runtime, for example because it computes
            the output's shape or the pads.
        contexts: whether it takes graphs around the operator, `Call.graph`. If not, cases in a context are not asked.
    """

    name: str
    version: str
    dialects: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    supplied: tuple[str, ...] = ()
    simd: tuple[str, ...] | None = None
    contexts: bool = False

    def __post_init__(self) -> None:
        for of in fields(self):
            object.__setattr__(self, of.name, _of_plain_texts(getattr(self, of.name)))


def _of_plain_texts(value: object) -> object:
    match value:
        case str():
            return plain(value)
        case tuple() | list():
            return tuple(map(_of_plain_texts, value))
        case Mapping():
            return {_of_plain_texts(key): _of_plain_texts(item) for key, item in value.items()}
        case _:
            return value
