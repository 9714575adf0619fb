"""The settings of the plugin in an ini file, or an error that names the line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tconv.backends import refuse_unknown
from tconv.corpus.corpus import TIERS_TO_FULL
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, FileError, UsageError
from tconv.gate import waivers
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tconv.corpus import Tier
    from tconv.dialects import Dialect
    from tconv.gate.waivers import WaiverFile

_LEAST_SECONDS = 0.05
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is run, and how.

    Attributes:
        base: the folder of the ini file; pytest visits the files below it.
        roots: case files and folders of them.
        backend: an installed name or `package.module:attribute`.
        dialect: the dialect; None for the backend's first.
        tier: smoke, gate or full.
        waivers: a file, `none`, or None for those that ship for the backend.
        strict: whether accepting an invalid model is a failure.
        timeout: seconds that one case may take.
    """

    base: Path
    roots: tuple[Path, ...]
    backend: str
    dialect: Dialect | None
    tier: Tier
    waivers: str | None
    strict: bool
    timeout: float

    @property
    def elsewhere(self) -> tuple[Path, ...]:
        """The roots that pytest does not visit."""
        return tuple(root for root in self.roots if not root.is_relative_to(self.base))

    def root_of(self, path: Path) -> Path | None:
        """Return the root that a file is or lies below, or None."""
        resolved = path.resolve()
        return next((root for root in self.roots if resolved.is_relative_to(root)), None)

    def waiver_file(self, backend: str) -> WaiverFile | None:
        """Return the waivers for the backend of that name.

        Raises:
            FileError: the file is not there, or something in it is not as it must be.
        """
        return waivers.chosen_waivers(self.waivers, backend)


def folder_of(root: Path) -> Path:
    """Return the folder that the ids of a root's cases are relative to."""
    return root if root.is_dir() else root.parent


def read(config: pytest.Config) -> Settings:
    """Return the settings of the ini file.

    Raises:
        FileError: a value is not as it must be, at its place in the ini file.
        UsageError: the same, where the value comes from the command line.
    """
    base = config.rootpath if config.inipath is None else config.inipath.parent
    waiver_file = _text(config, "tconv_waivers")
    settings = Settings(
        base=base.resolve(),
        roots=tuple(_root(config, path) for path in _value(config, "tconv_cases")),
        backend=_backend(config),
        dialect=_dialect(config),
        tier=_tier(config),
        waivers=waiver_file if waiver_file in (None, "none") else str(base / waiver_file),
        strict=_value(config, "tconv_strict"),
        timeout=_timeout(config),
    )
    # A bad waiver file is reported before the run, not after it.
    settings.waiver_file(settings.backend)
    return settings


def _value(config: pytest.Config, name: str) -> Any:  # noqa: ANN401 - of the setting's declared type
    try:
        return config.getini(name)
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise _error(config, name, f"must be of its type ({error})") from None


def _text(config: pytest.Config, name: str) -> str | None:
    return _value(config, name).strip() or None


def _root(config: pytest.Config, path: Path) -> Path:
    if not path.exists():
        raise _error(
            config, "tconv_cases", f"must be case files or folders of them (got nothing at {str(path.resolve())!r})"
        )
    return path.resolve()


def _backend(config: pytest.Config) -> str:
    """Return how the backend is named, where there can be one of that name; whether it starts, its worker tells."""
    spec = _text(config, "tconv_backend") or "onnxruntime"
    try:
        refuse_unknown(spec)
    except BackendMissing as error:
        raise _error(config, "tconv_backend", f"must name a backend: {error}") from None
    return spec


def _dialect(config: pytest.Config) -> Dialect | None:
    name = _text(config, "tconv_dialect")
    return None if name is None else DIALECTS[_known(config, "tconv_dialect", name, DIALECTS)]


def _tier(config: pytest.Config) -> Tier:
    # An item for each of a million cases is more than pytest can hold.
    return _known(config, "tconv_tier", _text(config, "tconv_tier") or "gate", TIERS_TO_FULL)


def _known(config: pytest.Config, name: str, word: str, words: Collection[_Word]) -> _Word:
    """Return a setting's word if it is one of `words`."""
    for allowed in words:
        if allowed == word:
            return allowed
    raise _error(config, name, f"must be one of {', '.join(words)} (got {word!r}){nearest(word, words)}")


def _timeout(config: pytest.Config) -> float:
    seconds: float = _value(config, "tconv_timeout")
    if not _LEAST_SECONDS <= seconds < math.inf:
        raise _error(config, "tconv_timeout", f"must be seconds, at least {_LEAST_SECONDS} (got {seconds:g})")
    return seconds


def _error(config: pytest.Config, name: str, message: str) -> FileError | UsageError:
    """Return the error at the place where the setting is written."""
    overridden = any(option.partition("=")[0].strip() == name for option in config.getoption("override_ini") or ())
    if config.inipath is None or overridden:
        return UsageError(f"-o {name}: {message}")
    for number, line in enumerate(config.inipath.read_text(encoding="utf-8").splitlines(), start=1):
        if match := re.match(rf"\s*{name}\b", line):
            return FileError(config.inipath, f"{name} {message}", number, len(match[0]) - len(name) + 1)
    return FileError(config.inipath, f"{name} {message}")
