"""Runtimes whose old releases can be asked: the package that has them, and the runner that speaks for them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.version import Version

RUNNERS = Path(str(files("tconv.investigation.history") / "runners"))


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime that is installed by its package and asked through a runner.

    Attributes:
        package: the name of the distribution on the index.
        runner: a script that takes the dialect as its argument and speaks the runner protocol.
        dialect: the dialect that most releases speak, so that they can be compared.
        needs: what must be installed beside some releases, as pairs of a specifier of them and a requirement.
    """

    package: str
    runner: Path
    dialect: str
    needs: tuple[tuple[str, str], ...] = ()

    def requirements(self, version: Version) -> list[str]:
        """Return what an environment of a release must have, in pip's words."""
        beside = (
            needed for releases, needed in self.needs if SpecifierSet(releases).contains(version, prereleases=True)
        )
        return [f"{self.package}=={version}", *beside]


RUNTIMES: Mapping[str, Runtime] = MappingProxyType(
    {
        # 1.19 is the first that is built for numpy 2. Of those before, 1.17.3 and older do not declare that they need
        # an older one, and fail with it.
        "onnxruntime": Runtime(
            "onnxruntime",
            RUNNERS / "runner_onnxruntime.py",
            "onnx/ConvTranspose-11",
            (("<1.19", "numpy<2"), (">=1.19", "numpy")),
        ),
        "openvino": Runtime(
            "openvino", RUNNERS / "runner_openvino.py", "openvino/ConvolutionBackpropData-1", (("", "numpy"),)
        ),
        "openvino-onnx": Runtime(
            "openvino", RUNNERS / "runner_openvino_onnx.py", "onnx/ConvTranspose-11", (("", "numpy"),)
        ),
    }
)
"""By the names of their backends, whose waivers hold for them."""
