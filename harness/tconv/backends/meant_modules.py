"""Hints for wrong names of backends: the path of a file, or a module without a class."""

from __future__ import annotations

import shlex
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

_ANY = "CLASS"
"""Stands for the class if the user names none."""


def instead_of_file(spec: str) -> str:
    """Return a message with the right name instead of a file's path; empty if the name is not a path.

    Args:
        spec: the name that the user gave.
    """
    file, _, attribute = spec.partition(":")
    if not (file.endswith(".py") or "/" in file or file.startswith(".")):
        return ""
    must = f"backend {spec!r} must be module:attribute, as Python imports it, and no file; run tconv in its folder"
    path = Path(file)
    module = path.name.lstrip(".").removesuffix(".py")
    if not module.isidentifier():
        return must
    folder = "" if path.parent == Path() else f"cd {shlex.quote(str(path.parent))} && "
    return f"{must}: {folder}tconv run --backend {shlex.quote(f'{module}:{attribute or _ANY}')}"


def with_class(spec: str) -> str:
    """Return '; did you mean X:CLASS?' if X is a module of the current folder; empty if not.

    Args:
        spec: the name that the user gave.
    """
    module = PathFinder.find_spec(spec, [str(Path.cwd())]) if spec.isidentifier() else None
    # A folder without Python files could also be imported; it has no origin.
    return f"; did you mean {spec}:{_ANY}, a class of {module.origin}?" if module is not None and module.origin else ""


def can_be_imported(spec: str) -> bool:
    """Return whether the top package of `package.module:attribute` exists; it is not imported.

    Args:
        spec: the name that the user gave.
    """
    top = spec.partition(":")[0].partition(".")[0]
    # As with `python -m`, modules of the current folder can be imported.
    return top in sys.modules or bool(top and (find_spec(top) or PathFinder.find_spec(top, [str(Path.cwd())])))
