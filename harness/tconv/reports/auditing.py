"""The audit of models as text, as a page, and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tconv.errors import FileError
from tconv.porting.findings import ANSWERS
from tconv.reports.phrases import attribute_words, counted, phrase
from tconv.reports.porting import recipe_of, values_of
from tconv.reports.templates import content, environment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.porting.audit import ModelAudit
    from tconv.porting.findings import Answer, Finding, NodeAudit
    from tconv.porting.runtime import Runtime


_Found: TypeAlias = "tuple[ModelAudit, NodeAudit, Finding | None]"


class Summary(NamedTuple):
    """The result of an audit for one runtime.

    Attributes:
        runtime: its name and version.
        answer: the worst answer of its nodes, without accepted findings.
        why: the reason, in a sentence.
        accepted: the number of unsafe nodes that are accepted.
    """

    runtime: str
    answer: Answer
    why: str
    accepted: int


def key_of(audit: ModelAudit, node: NodeAudit, runtime: str, finding: Finding) -> str:
    """Return the line that accepts a finding: model, node, runtime without its version, and kind."""
    return f"{audit.path.name} {node.call.name} {runtime.partition(' ')[0] or '*'} {finding.kind}"


def read_accepted(path: Path) -> frozenset[str]:
    """Return the lines of a file, without comments.

    Raises:
        FileError: the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8"
        raise FileError(path, f"must be a text of accepted findings (got: {reason}); check the path") from None
    kept = (line.partition("#")[0].strip() for line in lines)
    return frozenset(" ".join(line.split()) for line in kept if line)


def summarise(audits: Sequence[ModelAudit], runtime: Runtime, accepted: Collection[str]) -> Summary:
    """Return the result for a runtime.

    Args:
        audits: the models.
        runtime: the runtime.
        accepted: the lines of the accepted findings.
    """
    of_answer: dict[Answer, list[_Found]] = {answer: [] for answer in ANSWERS}
    count = 0
    for audit in audits:
        for node in audit.nodes:
            answer, finding = node.answer(runtime.title)
            if answer == "unsafe" and finding and key_of(audit, node, runtime.title, finding) in accepted:
                count += 1
            else:
                of_answer[answer].append((audit, node, finding))
    worst: Answer = next((answer for answer in reversed(ANSWERS) if of_answer[answer]), "safe")
    return Summary(runtime.title, worst, _why(worst, of_answer[worst], runtime), count)


def _why(answer: Answer, found: Sequence[_Found], runtime: Runtime) -> str:
    nodes = len({(audit.path, node.call.name) for audit, node, _ in found})
    count = counted(nodes, "node")
    example = next((f"{node.call.name}: {sentence_of(finding)}" for _, node, finding in found if finding), "")
    match answer:
        case "safe":
            return f"{count}, run alone, {'gives' if nodes == 1 else 'give'} what the text says"
        case "not known" if runtime.missing:
            return f"{example or 'nothing is known against it'}; {runtime.missing}"
        case _:
            return "; ".join(filter(None, (count, example)))


def sentence_of(finding: Finding) -> str:
    """Return the sentence of a finding."""
    if finding.verdict is None:
        return finding.says
    return "; ".join(filter(None, (f"{finding.kind}: {phrase(finding.verdict)}", finding.says)))


def first_lines(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a line for each runtime: the answer, and the reason."""
    for summary in summaries:
        accepted = f" ({summary.accepted} unsafe, accepted)" if summary.accepted else ""
        yield f"{summary.answer} on {summary.runtime}: {summary.why}{accepted}"


class Row(NamedTuple):
    """A finding about a node, which may have come up for several sizes or operands.

    Attributes:
        runtime: the runtime that it is about, or `text`.
        answer: what follows for the node; empty if nothing follows.
        sentence: the finding.
        by: its source.
        data: the sizes of the data that showed it.
    """

    runtime: str
    answer: str
    sentence: str
    by: tuple[str, ...]
    data: tuple[str, ...]


class Block(NamedTuple):
    """A node of a model, with all sizes that were tried.

    Attributes:
        name: its name.
        dialect: the operator.
        words: its attributes.
        rows: its findings.
        instead: how to write it so that it is safe; empty if this is not needed, or not known.
    """

    name: str
    dialect: str
    words: str
    rows: Sequence[Row]
    instead: str


def notes(audit: ModelAudit) -> Iterator[str]:
    """Yield the sizes that were tried for open ones, and the sizes that the model cannot have."""
    sizes = dict.fromkeys(" ".join(f"{name}={size}" for name, size in node.sizes.items()) for node in audit.nodes)
    if audit.tried:
        yield f"sizes that were tried, as none were given: {'; '.join(sizes)}"
    for text in audit.left_out:
        yield f"no finding, as another node of the model cannot have these sizes: {text}"


def blocks(audit: ModelAudit) -> Iterator[Block]:
    """Yield the findings of each node of a model."""
    nodes: dict[str, list[NodeAudit]] = {}
    for node in audit.nodes:
        nodes.setdefault(node.call.name, []).append(node)
    for name, (first, *others) in nodes.items():
        call, instead = first.call, ""
        if first.recipe is not None:
            proof = f"not proven: {first.unproven}" if first.unproven else "proven by running it"
            instead = f"{recipe_of(first.recipe)} ({proof})"
        words = "" if call.case is None else attribute_words(values_of(call.case, call.dialect))
        rows = _rows([finding for node in (first, *others) for finding in node.findings])
        yield Block(name, call.dialect.name, words, rows, instead)


def _rows(findings: Sequence[Finding]) -> list[Row]:
    found: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for finding in findings:
        safe = finding.answer == "safe" and finding.by != "neighbourhood"
        sentence = "gives what the text says" if safe else sentence_of(finding)
        by, data = found.setdefault((finding.runtime or "text", finding.answer or "", sentence), ({}, {}))
        by[f"{finding.by} {finding.says}" if safe else finding.by] = None
        if finding.data:
            data[finding.data] = None
    return [Row(*what, tuple(by), tuple(data)) for what, (by, data) in found.items()]


def lines(audit: ModelAudit) -> Iterator[str]:
    """Yield the findings of a model: its nodes, and below each node its findings."""
    yield str(audit.path)
    yield from (f"  {note}" for note in notes(audit))
    for name, dialect, words, rows, instead in blocks(audit):
        yield f"{name}  {dialect} {words}".rstrip()
        for row in rows:
            how = "" if row.runtime == "text" else f" [{', '.join(row.by)}]"
            data = f" (data {', '.join(row.data)})" if row.data else ""
            yield f"  {row.runtime}: {row.answer and f'{row.answer}: '}{row.sentence}{how}{data}"
        if instead:
            yield f"  write instead: {instead}"


COLOURS: Mapping[str, str] = {
    "safe": "passed", "to look at": "reported", "not known": "inconclusive", "unsafe": "failed", "": "",
}  # fmt: skip
"""The classes of the answers in the page's style."""


def page(audits: Sequence[ModelAudit], summaries: Sequence[Summary]) -> str:
    """Return the audit as one HTML file, which loads nothing and has no script."""
    models = [(audit.path.name, list(notes(audit)), list(blocks(audit))) for audit in audits]
    template = environment().get_template("audit.html.j2")
    return template.render(style=content("page.css"), models=models, summaries=summaries, colours=COLOURS)


def plain(audits: Sequence[ModelAudit], summaries: Sequence[Summary]) -> dict[str, Any]:
    """Return audits as JSON values."""
    return {
        "format": 1,
        "runtimes": [summary._asdict() for summary in summaries],
        "models": [
            {
                "model": str(audit.path),
                "sizes_were_tried": audit.tried,
                "left_out": list(audit.left_out),
                "nodes": [_plain_node(audit, node) for node in audit.nodes],
            }
            for audit in audits
        ],
    }


def _plain_node(audit: ModelAudit, node: NodeAudit) -> dict[str, Any]:
    case = node.call.case
    return {
        "node": node.call.name,
        "dialect": node.call.dialect.name,
        "sizes": dict(node.sizes),
        "data": None if case is None else list(case.x.shape),
        "filter": None if case is None else list(case.w.shape),
        "attributes": {} if case is None else values_of(case, node.call.dialect),
        "recipe": None if node.recipe is None else recipe_of(node.recipe),
        "proven": node.recipe is not None and not node.unproven,
        "findings": [
            {
                "by": finding.by,
                "runtime": finding.runtime,
                "answer": finding.answer,
                "kind": finding.kind,
                "says": sentence_of(finding),
                "data": finding.data,
                "accept": key_of(audit, node, finding.runtime, finding),
            }
            for finding in node.findings
        ],
    }
