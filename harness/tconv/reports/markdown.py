"""Text and code for the cells of a table in GitHub's Markdown."""

from __future__ import annotations

import re

from tconv.shown_texts import one_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def escaped(text: object) -> str:
    """Return text with Markdown's special characters escaped, as one line for the cell of a table."""
    return _SPECIAL.sub(r"\\\1", one_line(str(text)))


def code(text: object) -> str:
    """Return text as code in the cell of a table: a bar would end the cell, and a backtick would end the code."""
    return "`" + one_line(str(text)).replace("`", "'").replace("|", "\\|") + "`"
