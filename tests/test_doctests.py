"""The examples in docstrings of what others import, run by doctest; each public function and class has one."""

from __future__ import annotations

import doctest
from importlib import import_module
from types import ModuleType

import pytest

import tconv
from tconv.api import Geometry, Tolerance, Violation

MODULES = [
    "tconv.api.conforming",
    "tconv.api.reference",
    "tconv.investigation.strategies",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    """Every example gives what it says; an ellipsis stands for what is left out."""
    module = import_module(name)
    assert isinstance(module, ModuleType)
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


def test_every_public_function_has_an_example() -> None:
    """What is neither data nor an error has an example in its docstring."""
    data = (Geometry, Tolerance, Violation)
    public = [getattr(tconv, name) for name in tconv.__all__ if not name.startswith("__")]
    functions = [
        function
        for function in public
        if not (isinstance(function, type) and (issubclass(function, Exception) or function in data))
    ]
    assert len(functions) == 5
    assert [function.__name__ for function in functions if ">>> " not in (function.__doc__ or "")] == []
