"""The audit of models as text and as plain values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tconv.porting.audit import ANSWERS
from tconv.reports.phrases import attribute_words, phrase
from tconv.reports.porting import recipe_of, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.porting.audit import Answer, Finding, ModelAudit, NodeAudit, Runtime


class Summary(NamedTuple):
    """What follows for a runtime from the audit of models.

    Attributes:
        runtime: its name and version.
        answer: the worst answer of its nodes, those that are accepted left out.
        why: why, in a sentence.
        accepted: how many nodes are unsafe, and accepted.
    """

    runtime: str
    answer: Answer
    why: str
    accepted: int


def key_of(audit: ModelAudit, node: NodeAudit, runtime: str, finding: Finding) -> str:
    """Return the line by which a finding is accepted: model, node, runtime without its version, and kind."""
    return f"{audit.path.name} {node.call.name} {runtime.partition(' ')[0] or '*'} {finding.kind}"


def summarise(audits: Sequence[ModelAudit], runtime: Runtime, accepted: Mapping[str, bool]) -> Summary:
    """Return what follows for a runtime.

    Args:
        audits: the models.
        runtime: the runtime.
        accepted: the lines of the findings that are accepted; those that are found are marked with True.
    """
    of_answer: dict[Answer, list[tuple[NodeAudit, Finding | None]]] = {answer: [] for answer in ANSWERS}
    count = 0
    for audit in audits:
        for node in audit.nodes:
            answer, finding = node.answer(runtime.title)
            if answer == "unsafe" and finding and key_of(audit, node, runtime.title, finding) in accepted:
                count += 1
            else:
                of_answer[answer].append((node, finding))
    worst: Answer = next((answer for answer in reversed(ANSWERS) if of_answer[answer]), "safe")
    return Summary(runtime.title, worst, _why(worst, of_answer[worst], runtime), count)


def _why(answer: Answer, found: Sequence[tuple[NodeAudit, Finding | None]], runtime: Runtime) -> str:
    nodes = len({node.call.name for node, _ in found})
    count = f"{nodes} {'node' if nodes == 1 else 'nodes'}"
    example = next((f"{node.call.name}: {sentence_of(finding)}" for node, finding in found if finding), "")
    match answer:
        case "safe":
            return f"{count} alone {'gives' if nodes == 1 else 'give'} what the text says"
        case "not known" if runtime.missing:
            return f"{example or 'nothing is known against it'}; {runtime.missing}"
        case _:
            return "; ".join(filter(None, (count, example)))


def sentence_of(finding: Finding) -> str:
    """Return what a finding says."""
    if finding.verdict is None:
        return finding.says
    return "; ".join(filter(None, (f"{finding.kind}: {phrase(finding.verdict)}", finding.says)))


def first_lines(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a line for each runtime: the answer, and why."""
    for summary in summaries:
        accepted = f" ({summary.accepted} unsafe, accepted)" if summary.accepted else ""
        yield f"{summary.answer} on {summary.runtime}: {summary.why}{accepted}"


def lines(audit: ModelAudit) -> Iterator[str]:
    """Yield what is found of a model: its nodes, and below each what is found of it."""
    yield str(audit.path)
    sizes = dict.fromkeys(" ".join(f"{name}={size}" for name, size in node.sizes.items()) for node in audit.nodes)
    if audit.tried:
        yield f"  sizes that were tried, as none were given: {'; '.join(sizes)}"
    for text in audit.left_out:
        yield f"  no finding, as another node of the model cannot have these sizes: {text}"
    nodes: dict[str, list[NodeAudit]] = {}
    for node in audit.nodes:
        nodes.setdefault(node.call.name, []).append(node)
    for name, of_name in nodes.items():
        call = of_name[0].call
        words = "" if call.case is None else attribute_words(values_of(call.case, call.dialect))
        yield f"{name}  {call.dialect.name} {words}".rstrip()
        yield from _findings([finding for node in of_name for finding in node.findings])
        for node in of_name[:1]:
            if node.recipe is not None:
                proof = f"not proven: {node.unproven}" if node.unproven else "proven by running it"
                yield f"  write instead: {recipe_of(node.recipe)} ({proof})"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield lines; what is found several times, with other sizes or with other operands, stands once."""
    found: dict[tuple[str, ...], tuple[dict[str, None], dict[str, None]]] = {}
    for finding in findings:
        safe = finding.answer == "safe" and finding.by != "neighbourhood"
        sentence = "gives what the text says" if safe else sentence_of(finding)
        by, data = found.setdefault((finding.runtime or "text", finding.answer or "", sentence), ({}, {}))
        by[f"{finding.by} {finding.says}" if safe else finding.by] = None
        if finding.data:
            data[finding.data] = None
    for (runtime, answer, sentence), (by, data) in found.items():
        how = "" if runtime == "text" else f" [{', '.join(by)}]"
        with_data = f" (data {', '.join(data)})" if data else ""
        yield f"  {runtime}: {answer and f'{answer}: '}{sentence}{how}{with_data}"


def plain(audits: Sequence[ModelAudit], summaries: Sequence[Summary]) -> dict[str, Any]:
    """Return audits as plain values."""
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
