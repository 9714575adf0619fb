"""The pytest plugin: case files become test files, and their cases its items.

It does nothing until an ini file sets `tconv_cases` or `tconv_audit`. Then every case file of that folder is a file of
tests, and so is every model. Case files in a folder outside of the ini file's folder are not visited by pytest, so such
files are collected as children of the ini file. This module is loaded for every user of pytest with tconv installed, so
it imports nothing that takes time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings."""
    parser.addini("tconv_cases", "A case file, or a folder of them; relative to this file.", "string", default="")
    parser.addini("tconv_backend", "An installed backend or package.module:attribute.", "string", default="onnxruntime")
    parser.addini("tconv_dialect", "The dialect; default: the backend's first.", "string", default="")
    parser.addini("tconv_tier", "The tier: smoke, gate or full.", "string", default="gate")
    parser.addini(
        "tconv_waivers", "A file, relative to this one, or none; default: those that ship.", "string", default=""
    )
    parser.addini("tconv_strict", "Accepting an invalid model is a failure.", "bool", default=False)
    parser.addini("tconv_audit", "ONNX models to audit, relative to this file; globs.", "args", default=[])
    parser.addini("tconv_accept", "A file of findings of audits that are accepted.", "string", default="")
    parser.addini("tconv_timeout", "Seconds for one case.", "float", default=60.0)


def pytest_configure(config: pytest.Config) -> None:
    """Take part if the settings ask for it."""
    if config.getini("tconv_cases"):
        import_module("tconv.pytest_plugin.gatekeeper").take_part(config)
    if config.getini("tconv_audit"):
        config.pluginmanager.register(import_module("tconv.pytest_plugin.audits").Auditor(config), "tconv-auditor")
