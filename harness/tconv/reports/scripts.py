"""Scripts and data of pages that load nothing else: modules joined to one script, JSON, and the policy for both."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from markupsafe import Markup

from tconv.reports.templates import content

if TYPE_CHECKING:
    from collections.abc import Iterable

_IMPORTED = re.compile(r"^import [^;]*\"\./([^\"]+)\";$", re.MULTILINE)
_IMPORT_OR_EXPORT = re.compile(r"^(?:import [^;]*;\n|export )", re.MULTILINE)
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def in_order(module: str) -> list[str]:
    """Return the names of a module and of all that it imports, each behind those that it imports itself."""
    names: dict[str, None] = {}
    for imported in _IMPORTED.findall(content(module)):
        names |= dict.fromkeys(in_order(imported))
    return [*names, module]


def joined(modules: Iterable[str]) -> Markup:
    """Return modules, in their order, joined to one script without imports: the page loads no other file."""
    texts = (_IMPORT_OR_EXPORT.sub("", content(name)) for name in modules)
    return Markup("\n".join(texts))  # noqa: S704 - files of this package


def policy(style: str, script: str) -> str:
    """Return a page's content security policy: it allows this style and this script, by their digests."""
    style_digest, script_digest = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        f"default-src 'none'; script-src 'sha256-{script_digest}'; style-src 'sha256-{style_digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def as_data(value: object) -> Markup:
    """Return JSON that can stand in a script element: in ASCII, with the characters escaped that begin markup."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)
    return Markup(text)  # noqa: S704 - what begins markup is escaped
