"""Which module is meant by a name of a backend that names none: a file, or a module without its class."""

from __future__ import annotations

import shlex
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

_ANY = "CLASS"
"""What stands for the class where the user names none."""


def instead_of_file(spec: str) -> str:
    """Return what must stand there instead of a file's path, as a message; empty where there is no such path.

    Args:
        spec: how the user names the backend.
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
    """Return '; did you mean X:CLASS?' where X is a module of the current folder, or an empty text.

    Args:
        spec: how the user names the backend.
    """
    module = PathFinder.find_spec(spec, [str(Path.cwd())]) if spec.isidentifier() else None
    # A folder without Python's files in it could be imported too, and has no origin.
    return f"; did you mean {spec}:{_ANY}, a class of {module.origin}?" if module is not None and module.origin else ""


def can_be_imported(spec: str) -> bool:
    """Return whether there is the module of `package.module:attribute`, or the package above it; neither is imported.

    Args:
        spec: how the user names the backend.
    """
    top = spec.partition(":")[0].partition(".")[0]
    # As with `python -m`, modules in the current folder can be imported.
    return top in sys.modules or bool(top and (find_spec(top) or PathFinder.find_spec(top, [str(Path.cwd())])))
