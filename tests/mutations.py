"""Break the product in one line at a time, and ask whether the quick tests notice it.

Run `python tests/mutations.py [--thorough] [WORD]...` in an environment that has the packages of the tests. For each
mutation a copy of the package is changed, and those test files run that are about its module, as `tox -e tests` runs
them, or as `tox -e thorough` does. It prints a line for each, and ends with 1 where one survives. It is no test: each
mutation takes seconds of processor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
THOROUGH = ("-x", "-q", "-p", "no:cacheprovider")
QUICK = ("-m", "not thorough", "--hypothesis-profile=quick", *THOROUGH)


class Mutation(NamedTuple):
    """A line of a module, what it becomes, and the test files that are about it, by the middle of their names."""

    module: str
    line: str
    becomes: str
    tests: str


MUTATIONS = (
    Mutation("cases/layouts.py", "array.transpose(*range(2, array.ndim), 1, 0)", "array.T", "layouts"),
    Mutation("cases/operands.py", "|{operand.seed}", "", "operands"),
    Mutation("corpus/covering_arrays.py", "missing[m, numbers[best]] = False", "missing[m] = False", "covering_arrays"),
    Mutation("corpus/tiers.py", 'STRENGTH["gate"], masks)', "3, masks)", "tiers coverage"),
    Mutation("corpus/coverage.py", "for rows_of in (mask & chosen, mask)", "for rows_of in (chosen, mask)", "coverage"),
    Mutation("corpus/lint.py", "if case.breaks is None and any(", "if any(", "lint"),
    Mutation("dialects/geometry.py", "(kernel - 1) * dilation + 1", "kernel * dilation", "geometry"),
    Mutation("dialects/readings.py", "key=lambda branch: len(branch.readings)", "key=lambda branch: 0", "readings"),
    Mutation("diagnosis/placement.py", "values[::-1], values[:1] * rank", "values, values[:1] * rank", "learning"),
    Mutation(
        "diagnosis/misreadings/precision.py",
        "wrong, several = error > unit / 2",
        "wrong, several = error > 0 * unit",
        "right_names",
    ),
    Mutation("diagnosis/faulty_products.py", "((0, lacking), (2, -lacking))", "((0, lacking),)", "right_names"),
    Mutation("execution/cluster.py", "said.items() ^ expected.items()", "said.items() & ()", "cluster"),
    Mutation("expectation/bound.py", "nu / (1 - nu)", "nu", "bound"),
    Mutation("expectation/bound.py", "terms.count + 1, _F64", "terms.count, _F64", "bound reference"),
    Mutation("expectation/sums.py", "min(places.stop, (axis.output - 1", "min(places.stop, (axis.output - 2", "sums"),
    Mutation("expectation/underflow.py", "product < smallest_normal)", "product <= smallest_normal)", "judge"),
    Mutation("gate/assessment.py", 'for use in self.uses if use.state == "void"', "for use in ()", "gate"),
    Mutation("gate/waivers.py", "prereleases=True", "prereleases=False", "waivers"),
    Mutation("investigation/shrinking.py", "reversed(range(rank))", "range(0)", "shrinking"),
    Mutation("learning/formulas.py", "sum((sign * columns[name]", "sum((columns[name]", "learning"),
    Mutation("records/shards.py", "positions % self.count + 1", "positions // self.count + 1", "shards"),
    Mutation("verdict/judge.py", "if dtype != truth.dtype:", "if False:", "judge"),
    Mutation("verdict/transform_errors.py", "off.size / _SHARE))", "1))", "transform_errors"),
)


def main(wanted: list[str]) -> int:
    """Make each mutation whose module has one of the words in its name, and return 1 where one survives."""
    options, words = (THOROUGH, wanted[1:]) if wanted[:1] == ["--thorough"] else (QUICK, wanted)
    chosen = [mutation for mutation in MUTATIONS if not words or any(word in mutation.module for word in words)]
    survived = 0
    for mutation in chosen:
        with tempfile.TemporaryDirectory() as folder:
            noticed = _noticed(mutation, Path(folder), options)
        survived += not noticed
        print(f"{noticed or 'SURVIVES':<60} {mutation.module}: {mutation.line} -> {mutation.becomes}", flush=True)  # noqa: T201 - a script
    print(f"{len(chosen) - survived} of {len(chosen)} mutations are noticed")  # noqa: T201 - likewise
    return int(survived > 0)


def _noticed(mutation: Mutation, folder: Path, options: tuple[str, ...]) -> str:
    """Return the first test that fails with the mutation, or an empty text."""
    shutil.copytree(ROOT / "harness", folder / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    # The data are found beside the package's root.
    for name in ("cases", "conformance"):
        (folder / name).symlink_to(ROOT / name)
    module = folder / "harness" / "tconv" / mutation.module
    text = module.read_text(encoding="utf-8")
    if mutation.line not in text:
        raise SystemExit(f"{mutation.module} must have {mutation.line!r}: bring the table up to date")
    module.write_text(text.replace(mutation.line, mutation.becomes), encoding="utf-8")
    files = [f"tests/test_{name}.py" for name in mutation.tests.split()]
    paths = [str(folder / "harness"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1, 2):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0].split("::", 1)[-1] if failed else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
