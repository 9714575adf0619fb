"""Change one expression of the package at a time, and print which changes no test notices.

The mutations are drawn with a seed from all modules. A first run of the tests under coverage records which test reaches
which line, also in the processes that a test starts. Each mutation is then given to the tests that reach its line, the
quick ones first. Everything happens in a copy of the checkout, so the checkout stays as it is even if this is killed.

Run `python bench/mutations.py [--count 300] [--seed 51] [--small]`. It takes hours: a run of all quick tests under
coverage, and up to a minute for each mutation. `--small` draws only from lines that three quick test files reach.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from coverage import CoverageData

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CHECKOUT = Path(__file__).parent.parent
SMALL = tuple(f"tests/test_{name}.py" for name in ("call", "gate", "geometry"))
PYTEST = ("pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=quick", "-m", "not thorough")
# The environment names the test to which a process belongs.
COVERAGE = "[run]\nsource_pkgs = tconv\nparallel = true\nconcurrency = multiprocessing, thread\npatch = subprocess\n"
COVERAGE += "dynamic_context = test_function\ncontext = ${PYTEST_CURRENT_TEST-}\n"
MOST_TESTS, MOST_SECONDS = 40, 240
WHOLE = 0
"""The line that stands for a whole module: its tests are also those of lines that run only as it is imported."""
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A place in a module, and what stands there instead: offsets in bytes."""

    module: str
    line: int
    begin: int
    end: int
    new: str

    def is_noticed(self, copied: Path, tests: Sequence[str]) -> bool:
        """Return whether a test fails, or does not end, with this change in the copy."""
        path = copied / self.module
        source = path.read_bytes()
        path.write_bytes(source[: self.begin] + self.new.encode() + source[self.end :])
        try:
            return run(copied, *PYTEST, "-x", *tests).returncode != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_bytes(source)

    def __str__(self) -> str:
        old = (CHECKOUT / self.module).read_bytes()[self.begin : self.end].decode()
        return f"{self.module}:{self.line}: {' '.join(old.split())} -> {self.new}"


def changed(node: ast.AST) -> ast.AST | None:
    """Return what replaces a node, if this kind of node is changed."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator]):
            new.ops = [SWAPPED[type(operator)]()]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) if type(operator) in SWAPPED:
            new.op = SWAPPED[type(operator)]()
        case ast.Constant(value=bool() as value):
            new.value = not value
        case ast.Constant(value=int() as value):
            new.value = value + 1
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.Return(value=ast.expr()):
            new.value = ast.Constant(None)
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return new


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes, without annotations and decorators; Python 3.11 has no places for what is in a formatted string."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from nodes(child)


def mutations(module: str, source: bytes) -> Iterator[Mutation]:
    """Yield every mutation of a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(source)):
        if (new := changed(node)) is not None:
            text = ast.unparse(new) if isinstance(new, ast.stmt) else f"({ast.unparse(new)})"
            begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            yield Mutation(module, node.lineno, begin, end, text)


def run(copied: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in the copy, whose package comes before an installed one."""
    environment = os.environ | {"PYTHONPATH": str(copied / "harness")} | more
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=copied, env=environment, capture_output=True, text=True, check=False,
        timeout=MOST_SECONDS if "COVERAGE_FILE" not in more else None,
    )  # fmt: skip


def find_tests(copied: Path, files: Sequence[str]) -> tuple[Mapping[tuple[str, int], set[str]], Mapping[str, float]]:
    """Run the tests, and return which of them reach each line, and how many seconds each takes."""
    (copied / "coverage.ini").write_text(COVERAGE)
    at = {"COVERAGE_FILE": str(copied / ".coverage")}
    done = run(copied, "coverage", "run", "--rcfile=coverage.ini", "-m", *PYTEST, "--durations=0", "-vv", *files, **at)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    run(copied, "coverage", "combine", "--rcfile=coverage.ini", "--keep", **at)
    data, reached, seconds = CoverageData(at["COVERAGE_FILE"]), defaultdict(set), defaultdict(float)
    data.read()
    for path in data.measured_files():
        module = str(Path(path).relative_to(copied))
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in filter(None, "|".join(contexts).split("|")):
                file, _, test = context.rpartition(".")
                named = context if "::" in context else f"{file.replace('.', '/')}.py::{test}"
                for place in (line, WHOLE):
                    reached[module, place].add(named.split("[")[0].split(" ")[0])
    for line in done.stdout.splitlines():
        match line.split():
            case [time, "setup" | "call" | "teardown", test, *_] if "::" in test:
                seconds[test.split("[")[0]] += float(time[:-1])
    return reached, seconds


def main() -> None:
    """Draw, run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="number of mutations")
    parser.add_argument("--seed", type=int, default=51, help="seed of the draw")
    parser.add_argument("--small", action="store_true", help="less than a minute, for CI")
    arguments = parser.parse_args()
    tool = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]
    omitted, without = tool["coverage"]["run"]["omit"], shutil.ignore_patterns("node_modules", "__pycache__")
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "checkout")
        # All that the tests need.
        for name in ("/pyproject.toml", *tool["hatch"]["build"]["targets"]["sdist"]["include"]):
            source, target = CHECKOUT / name[1:], copied / name[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target, ignore=without) if source.is_dir() else shutil.copy2(source, target)
        reached, seconds = find_tests(copied, SMALL if arguments.small else ())
        modules = [path for path in sorted(copied.glob("harness/**/*.py")) if not any(map(path.match, omitted))]
        pool = [one for path in modules for one in mutations(str(path.relative_to(copied)), path.read_bytes())]
        if arguments.small:
            pool = [one for one in pool if reached.get((one.module, one.line))]
        drawn = Random(arguments.seed).sample(pool, arguments.count)  # noqa: S311 - chance that can be repeated
        survivors = []
        for one in drawn:
            tests = reached.get((one.module, one.line)) or reached.get((one.module, WHOLE), set())
            tests = sorted(tests, key=lambda test: seconds.get(test, 0.0))
            if not tests or not one.is_noticed(copied, tests[:MOST_TESTS]):
                survivors.append(one)
                print(f"{'survives' if tests else 'no test reaches'}  {one}", flush=True)
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} mutations are noticed, of {len(pool)} that are possible")


if __name__ == "__main__":
    main()
