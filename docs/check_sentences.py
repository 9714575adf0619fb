"""Check that documents, docstrings and comments have short sentences and plain words, for readers of another language.

    python docs/check_sentences.py [FILE...]

It prints `file: problem: sentence` for each problem, then the numbers of words and sentences, and ends with 1 if there
is a problem. Code, targets of links and pages made from records are left out. In tables only words are checked.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tokenize
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
MADE = {"docs/reference/history.md"}
CONVERTED = (
    *("bench", "cases", "conformance", "docs/check_sentences.py", "harness/tconv"),
    *(f"tests/{name}" for name in ("drawn.py", "made_records.py", "mutants.py", "small_corpus.py", "wrong_backends")),
)
"""Folders and files whose docstrings and comments are checked."""
LONGEST = 30
MEAN = 18
BANNED = {
    r"where(?!\W*$|:| and | (to|it|they|this|these) )": "write if, in which, or a new sentence",
    r"otherwise|elsewise": "write if not, or differently",
    r"owed|ought|shall": "write expected, or must",
    r"mend(s|ed)?|amiss|spoilt": "write fixed, or wrong",
    r"told|tells": "write reported, or shows",
    r"whom|thereof|hence|thus|lest": "write a new sentence",
    r"whatever|whichever|whoever": "write any, or each",
    r"but for": "write except",
    r"nor": "write and not",
    r"likewise|besides|beside": "write also, together with, or next to",
    r"held against": "write compared with",
    r"by turns|in turns": "write alternately",
}
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.?!:])\s+(?=[\"'(*`A-Z0-9<]|\[)")


def paragraphs(text: str, *, tables: bool) -> Iterator[str]:
    """Yield each paragraph, item of a list and heading of a page; the rows of tables if they are asked for."""
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", "", _FENCE.sub("", text), flags=re.DOTALL)
    text = re.sub(r"^    .*$", "", re.sub(r"\]\([^)]*\)", "]", text), flags=re.MULTILINE)
    text = re.sub(r"`+[^`\n]*(?:\n[^`\n]*)?`+", "Code", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) )", text):
        is_table = block.lstrip().startswith("|")
        if is_table == tables and block.strip():
            yield " ".join(re.sub(r"^\s*(?:[-*#]+|\d+\.) ", "", block).split())


def sentences(text: str) -> Iterator[str]:
    """Yield each sentence of a page that is prose."""
    for paragraph in paragraphs(text, tables=False):
        yield from _END.split(paragraph)


def prose_of(source: str) -> str:
    """Return the docstrings and comments of a Python file as a page. Fields of docstrings are items of a list there."""
    texts = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            named = re.sub(r"^ {4}(\w+): ", r"- `\1`: ", inspect.cleandoc(node.value.value), flags=re.MULTILINE)
            fields = re.sub(r"^ {4}(?=[*\w., ]+: )", "- ", named, flags=re.MULTILINE)
            texts.append("\n\n" + re.sub(r"^ *>>> .*(?:\n.+)*|^ +", "", fields, flags=re.MULTILINE))
    row = 0
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comment = re.sub(r"^#!?|(noqa|type: ignore)\S*( [A-Z0-9, ]+ - )?", "", token.string)
            goes_on = token.start[0] == row + 1 and token.line.lstrip() == f"{token.string}\n"
            texts.append(("\n" if goes_on else "\n\n") + comment.strip())
            row = token.start[0]
    return "".join(texts)


def check(page: Path) -> tuple[list[str], list[int]]:
    """Return the problems of a page, and the number of words of each of its sentences."""
    text, problems, lengths = page.read_text(encoding="utf-8"), [], []
    if page.suffix == ".py":
        text = prose_of(text)
    prose = list(sentences(text))
    for sentence in prose:
        lengths.append(len(re.findall(r"[\w'/.-]*\w[\w'/.-]*", sentence)))
        if lengths[-1] > LONGEST:
            problems.append(f"{lengths[-1]} words: {sentence}")
    for sentence in (*prose, *paragraphs(text, tables=True)):
        for word, advice in BANNED.items():
            if found := re.search(rf"\b(?:{word})\b", sentence, re.IGNORECASE):
                problems.append(f"{found[0]!r}: {advice}: {sentence}")
    return problems, lengths


def main(names: list[str]) -> int:
    """Print the problems of the files; return the exit code."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    pages += sorted(page for page in (ROOT / "docs").rglob("*.md") if str(page.relative_to(ROOT)) not in MADE)
    modules = [path for name in CONVERTED for path in sorted((ROOT / name).rglob("*.py")) or [ROOT / name]]
    lengths: list[int] = []
    found = 0
    for page in [Path(name).resolve() for name in names] or [*pages, *modules]:
        problems, of_page = check(page)
        lengths += of_page
        found += len(problems)
        for problem in problems:
            print(f"{page.relative_to(ROOT)}: {problem}")
    mean = sum(lengths) / len(lengths)
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    print(f"{len(lengths)} sentences, mean {mean:.1f} words; {found} problems; {words:,} words on all pages")
    return int(found > 0 or mean > MEAN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
