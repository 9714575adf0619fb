"""The HTML report: one self-contained page for one run or several."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tconv.cases.patterns import facts_of
from tconv.dialects import DIALECTS
from tconv.dialects.readings import Together
from tconv.reports import atomic
from tconv.reports.page import figures, overview
from tconv.reports.page.artifacts import OPERANDS, VALUES, Shown, shown
from tconv.reports.phrases import explanation, inconsistency, phrase
from tconv.reports.statuses import STATUSES
from tconv.verdict.kinds import KINDS, Agreed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged
    from tconv.reports.page.overview import Overview

PAGE_LIMIT = 24 * 2**20
"""The most characters of a page; arrays beyond it stay in their artifacts."""

SCRIPTS = (
    "text.js",
    "patterns.js",
    "search.js",
    "records.js",
    "address.js",
    "arrays.js",
    "colours.js",
    "elements.js",
    "canvas.js",
    "heatmap.js",
    "values.js",
    "panel.js",
    "table.js",
    "page.js",
)
"""The modules of the page's script; each imports from those before it only."""

_IMPORT_OR_EXPORT = re.compile(r"^(?:import [^;]*;\n|export )", re.MULTILINE)
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_LONGEST = 200
_ORDER = tuple(STATUSES)
_TAG = len('<script type="application/json" id="arrays-"></script>\n') + 8


def write(assessments: Sequence[Assessment], destination: Path) -> None:
    """Write the page.

    The page is there as a whole or not at all: whoever reads it meanwhile finds the one before.

    Args:
        assessments: the runs, in the order in which the page shows them.
        destination: the file.
    """
    atomic.write(destination, _page(assessments))


def _page(assessments: Sequence[Assessment]) -> str:
    runs = overview.overviews(assessments)
    data = _json(_data(runs))
    empty = _render(runs, data, [])
    return _render(runs, data, _arrays(runs, PAGE_LIMIT - len(empty)))


def _render(runs: Sequence[Overview], data: str, arrays: Sequence[tuple[int, str]]) -> str:
    environment = Environment(
        loader=PackageLoader("tconv.reports", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _own("page.css")
    script = _script()
    return environment.get_template("page.html.j2").render(
        runs=runs,
        summary=overview.summary(runs),
        overview=overview,
        statuses=STATUSES,
        inconsistency=inconsistency,
        data=Markup(data),  # noqa: S704 - _json leaves nothing that markup could be made of
        arrays=[(number, Markup(block)) for number, block in arrays],  # noqa: S704 - likewise
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def _own(name: str) -> Markup:
    text = files("tconv.reports").joinpath("page", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package


def _script() -> Markup:
    """Return the modules as one: it needs no import, and nothing that could be fetched."""
    return Markup("\n").join(Markup(_IMPORT_OR_EXPORT.sub("", _own(name))) for name in SCRIPTS)  # noqa: S704 - likewise


def _policy(style: str, script: str) -> str:
    """Return the page's content security policy: its own style and script by their digests, and nothing else."""
    style_digest, script_digest = (b64encode(sha256(own.encode()).digest()).decode() for own in (style, script))
    return (
        f"default-src 'none'; script-src 'sha256-{script_digest}'; style-src 'sha256-{style_digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> str:
    """Return JSON that no parser of HTML takes for anything else; it is ASCII, U+2028 and its like escaped."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def _data(runs: Sequence[Overview]) -> dict[str, Any]:
    """Return what the script shows: tables of words, and a short array a record."""
    waivers: dict[tuple[int, str], int] = {}
    waiver_facts: list[dict[str, str]] = []
    case_facts: dict[tuple[tuple[str, str], ...], int] = {}
    rows: list[list[Any]] = []
    for number, run in enumerate(runs):
        for judged in run.assessment.judged:
            if judged.waiver is not None and (number, judged.waiver.name) not in waivers:
                waivers[number, judged.waiver.name] = len(waiver_facts)
                waiver_facts.append(overview.waiver_facts(judged.waiver))
            row = _row(number, judged, None if judged.waiver is None else waivers[number, judged.waiver.name])
            facts = _facts_beside_labels(judged.record.case, run.assessment)
            rows.append([*row, case_facts.setdefault(facts, len(case_facts))])
    return {
        "statuses": [[status.value, look.symbol] for status, look in STATUSES.items()],
        "kinds": list(KINDS),
        "runs": [_run(run) for run in runs],
        "waivers": waiver_facts,
        "facts": [dict(facts) for facts in case_facts],
        "readings": _readings(runs),
        "rows": rows,
    }


def _facts_beside_labels(case_id: str, assessment: Assessment) -> tuple[tuple[str, str], ...]:
    """Return the facts of a case that its id does not show: few sets of them serve many cases of a sweep."""
    labels = facts_of(case_id)
    return tuple((key, value) for key, value in assessment.facts.get(case_id, {}).items() if key not in labels)


def _run(run: Overview) -> dict[str, str]:
    header = run.assessment.run.header
    return {
        "key": run.key,
        "name": run.name,
        "backend": header.backend.spec or header.backend.name,
        "dialect": header.dialect,
        "cases": header.path,
    }


def _readings(runs: Sequence[Overview]) -> dict[str, dict[str, list[str]]]:
    """Return, by dialect, what each reading that is followed says and whom it cites."""
    followed = {
        (j.record.dialect, part)
        for run in runs
        for j in run.assessment.judged
        for name in figures.readings(j.record.verdict)
        for part in Together.parse(name).names
    }
    known: dict[str, dict[str, list[str]]] = {}
    for dialect in sorted({dialect for dialect, _ in followed} & DIALECTS.keys()):
        for reading in DIALECTS[dialect].disputed:
            if (dialect, reading.name) in followed:
                known.setdefault(dialect, {})[reading.name] = [reading.says, reading.cites]
    return known


def _row(run: int, judged: Judged, waiver: int | None) -> list[Any]:
    record = judged.record
    said = _line(phrase(record.verdict))
    if judged.waiver is not None:
        said = f"{judged.waiver.name}: {said}"
    return [
        run,
        record.case,
        _ORDER.index(judged.status),
        list(KINDS).index(record.verdict.kind),
        said,
        round(record.seconds, 6) if math.isfinite(record.seconds) else None,
        _detail(judged, waiver),
    ]


def _line(text: str) -> str:
    """Return a phrase in one line; the whole of a long message is in the panel."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _detail(judged: Judged, waiver: int | None) -> dict[str, Any]:
    """Return what the page shows of a record that is opened, keys that say nothing left out."""
    record = judged.record
    call = record.call
    if isinstance(record.verdict, Agreed) and not record.verdict.notes and call is None and not record.harmed:
        return {}
    detail = {
        "figures": figures.figures(record.verdict, call.data_format if call else ""),
        "readings": figures.readings(record.verdict),
        "prose": figures.prose(record.verdict),
        "reason": "" if judged.waiver else judged.reason,
        "tolerance": record.tolerance,
        "why": explanation(record),
        "harmed": record.harmed and f"{record.harmed}, after other cases and not alone",
        "artifact": record.artifact,
        "call": call
        and {
            "attributes": [(name, figures.text(value)) for name, value in call.attributes.items()],
            "inputs": [(name, figures.integers(shape), dtype) for name, shape, dtype in call.inputs],
            "layouts": [call.data_format, call.filter_format],
        },
    }
    said = {key: value for key, value in detail.items() if value}
    return said if waiver is None else said | {"waiver": waiver}


def _arrays(runs: Sequence[Overview], room: int) -> list[tuple[int, str]]:
    """Return the arrays of records, by their number, as far as there is room: values of all before operands of any.

    Artifacts lie beside the record file that names them.
    """
    judged = [j for run in runs for j in run.assessment.judged]
    folders = [run.assessment.run.path.parent for run in runs for _ in run.assessment.judged]
    wanted = sorted(
        ((n, j.record.artifact) for n, j in enumerate(judged) if j.record.artifact is not None),
        key=lambda numbered: _ORDER.index(judged[numbered[0]].status),
    )
    full = f"The arrays are not shown: the page's limit of {PAGE_LIMIT // 2**20} MiB is reached."
    blocks = {n: _json(asdict(Shown([f"{full} The artifact is {artifact}."]))) for n, artifact in wanted}
    room -= sum(len(block) + _TAG for block in blocks.values())
    for names in (VALUES, VALUES + OPERANDS):
        for n, artifact in wanted:
            block = _json(asdict(shown(folders[n], artifact, names)))
            room -= len(block) - len(blocks[n])
            if room < 0:
                return list(blocks.items())
            blocks[n] = block
    return list(blocks.items())
