"""The known word that a person may have meant: `; did you mean X?`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORDS_OF_OTHER_TOOLS: Final = {
    "stride": ("strides",),
    "dilation": ("dilations",),
    "kernel_size": ("kernel",),
    "padding": ("pads_begin", "pads_end"),
    "pads": ("pads_begin", "pads_end"),
    "group": ("groups",),
    "notset": ("explicit",),
    "nchw": ("NCX",),
    "ncdhw": ("NCX",),
    "ncw": ("NCX",),
    "nhwc": ("NXC",),
    "ndhwc": ("NXC",),
    "nwc": ("NXC",),
    "float32": ("f32",),
    "float": ("f32",),
    "float16": ("f16",),
    "half": ("f16",),
    "bfloat16": ("bf16",),
    "float64": ("f64",),
    "double": ("f64",),
}
"""The words of other tools, in small letters, and tconv's words for the same."""
_FEW = 3
"""The largest number of suggested words."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean X?' for the known word nearest to `word`; empty if none is near.

    Capitals do not count. Words of other tools are known too: 'SAME_UPPER', 'stride', 'NHWC'.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it, and every command would wait for it

    words = {text.lower(): text for text in map(str, known)}
    meant = [text for text in _WORDS_OF_OTHER_TOOLS.get(word.lower(), ()) if text.lower() in words]
    versions = _versions(word.lower(), words)
    match = meant or versions or [words[text] for text in get_close_matches(word.lower(), words, n=1, cutoff=0.6)]
    if not match and word:
        # The beginning of long names, such as 'openvino'.
        match = [words[text] for text in words if text.startswith(word.lower())]
    if not match or len(match) > _FEW:
        return ""
    *others, last = map(repr, match)
    joint = " and " if meant else " or "
    return f"; did you mean {joint.join(filter(None, (', '.join(others), last)))}?"


def _versions(word: str, words: Mapping[str, str]) -> list[str]:
    """Return the names that a name with an unknown version number may mean, such as `name-11` for `name-12`.

    A number may be the beginning of a known one. If not, it means the last version before it. Without a number, all
    versions may be meant.
    """
    versioned = _VERSIONED.fullmatch(word)
    name, number = (versioned[1], versioned[2]) if versioned else (word, "")
    split = ((_VERSIONED.fullmatch(text), names) for text, names in words.items())
    known_versions = sorted((int(form[2]), text) for form, text in split if form and f"/{form[1]}".endswith(f"/{name}"))
    begun = [text for version, text in known_versions if str(version).startswith(number)]
    return begun or [text for version, text in known_versions if version <= int(number)][-1:]


_VERSIONED = re.compile(r"(.+)-([0-9]{1,9})")
