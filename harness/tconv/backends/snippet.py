"""Python code that calls a runtime without tconv, and expressions that several backends need for it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from types import ModuleType

    from tconv.cases.call import Call


@dataclass(frozen=True, slots=True)
class Snippet:
    """Python code that calls a runtime.

    Attributes:
        modules: the modules that it imports; the first one has the version.
        lines: the code up to `y`, the output as an array in the call's layout. It begins with `model`, an
            `onnx.ModelProto`, and `feeds`, arrays by the names of its inputs; or with arrays named as in the dialect.
        refusals: the names of the exceptions that are refusals.
        of_model: whether it needs `model` and `feeds`.
        shape_only: whether only the shape and type of `y` have a meaning.
        version: the expression for the runtime's version; empty for that of the first module.
        setup: lines of a module, before all others, that `lines` need.
        package: the package that has the runtime; empty for that of the first module.
    """

    modules: tuple[str, ...]
    lines: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    of_model: bool = True
    shape_only: bool = False
    version: str = ""
    setup: tuple[str, ...] = ()
    package: str = ""


def plain_source(module: ModuleType) -> list[str]:
    """Return the lines of a module that needs nothing of tconv, without docstrings, annotations and comments."""
    tree = _Plain().visit(ast.parse(inspect.getsource(module)))
    return ast.unparse(ast.fix_missing_locations(tree)).splitlines()


class _Plain(ast.NodeTransformer):
    """Leaves out what only readers and type checkers need."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if node.module == "__future__" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        return ast.AnnAssign(node.target, ast.Name("object"), node.value, node.simple)


def name_of(call: Call, role: str) -> str:
    """Return the dialect's name for an input of the call; empty if the call does not have it."""
    return next((tensor.name for tensor in call.inputs if tensor.role == role), "")


def x_in_ncx(call: Call) -> str:
    """Return the expression for the data in NCX."""
    name = name_of(call, "x")
    axes = permutation(call.data_format, call.rank)
    return name if call.data_format is DataFormat.NCX else f"{name}.transpose({axes})"


def w_in_iox(call: Call) -> str:
    """Return the expression for the filter in IOX."""
    name = name_of(call, "w")
    if call.filter_format is FilterFormat.GIOX:
        return f"{name}.reshape({list(call.written.w.shape)})"
    axes = permutation(call.filter_format, call.rank)
    return name if call.filter_format is FilterFormat.IOX else f"{name}.transpose({axes})"


def y_from_ncx(call: Call, line: str) -> list[str]:
    """Return the line that transposes `y` from NCX to the call's layout; none if that is NCX.

    Args:
        call: the call.
        line: the line, with `AXES` for the permutation.
    """
    axes = inverse(permutation(call.data_format, call.rank))
    return [] if call.data_format is DataFormat.NCX else [line.replace("AXES", str(axes))]
