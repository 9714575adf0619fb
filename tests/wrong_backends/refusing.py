"""Backends that refuse what they do not implement, in the words of runtimes that tconv has no adapter for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends import Outcome, Refused
from wrong_backends.right import Array, Right, log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class RefusesGroups(Right):
    """A refusal of every call with groups that is not depthwise, with its sizes and attributes."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        channels = arrays["x"].shape[1 if call.data_format == "NCX" else -1]
        if call.groups not in {1, channels}:
            log(call)
            return Refused(self.words(call, arrays))
        return super().run(call, arrays)

    def words(self, call: Call, arrays: Mapping[str, Array]) -> str:
        written = ", ".join(f"{name}={_listed(value)}" for name, value in call.attributes.items())
        x, w = list(arrays["x"].shape), arrays["w"].shape
        return f"{call.groups} groups are not implemented: x {x}, w {w}; {written}"


class RefusesGroupsAsIree(RefusesGroups):
    """The same refusal as IREE 3.13.0 words it, with the operation in full, twice, and the command line."""

    def words(self, call: Call, arrays: Mapping[str, Array]) -> str:
        here = f"/a/tmp{abs(hash(str(call.attributes))):012x}"
        names = ", ".join(f"%arg{at}" for at, _ in enumerate(arrays))
        types = ", ".join(_type(array) for array in arrays.values())
        written = ", ".join(f"torch.onnx.{name} = {_as_mlir(value)}" for name, value in call.attributes.items())
        result = f"{{{written}}} : ({types}) -> {_type(arrays['x'])}"
        return f"""Error invoking IREE compiler tool iree-compile
Error code: 1
Diagnostics:
{here}/m.mlir:4:10: error: failed to legalize operation 'torch.operator' that was explicitly marked illegal: \
%{len(arrays)} = "torch.operator"({names}) <{{name = "onnx.ConvTranspose"}}> {result} loc("{here}/m.mlir":4:10)
    %0 = torch.operator "onnx.ConvTranspose"({names}) {result}
         ^


Invoked with:
 iree-compile {here}/iree-compile m.mlir --iree-input-type=onnx --iree-hal-target-backends=llvm-cpu

Need more information? Set IREE_SAVE_TEMPS=/some/dir in your environment to save all artifacts and reproducers.
"""


class RefusesDilationsAsTensorFlow(Right):
    """A refusal of dilations as TensorFlow 2.21.0 words it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if max(call.attributes.get("dilations", (1,)), default=1) > 1:  # type: ignore[type-var, arg-type] # written lists
            log(call)
            return Refused(
                "InvalidArgumentError: {{function_node __wrapped__Conv2DBackpropInput_device_/job:localhost/replica:0/"
                "task:0/device:CPU:0}} Current CPU implementations do not yet support dilation rates larger than 1. "
                "[Op:Conv2DBackpropInput]"
            )
        return super().run(call, arrays)


class RefusesGroupsAndDilations(RefusesDilationsAsTensorFlow):
    """Two refusals of different words with the same attributes behind both."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        written = ", ".join(f"{name}={_listed(value)}" for name, value in call.attributes.items())
        if isinstance(super().run(call, arrays), Refused) and "dilations" in call.attributes:
            return Refused(f"dilations are not implemented ({written})")
        if call.groups != 1:
            return Refused(f"groups are not implemented ({written})")
        return super().run(call, arrays)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _as_mlir(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(f'{entry} : si64' for entry in value)}]"
    return f"{value} : si64"


def _type(array: Array) -> str:
    return f"!torch.vtensor<[{','.join(map(str, array.shape))}],{array.dtype}>"
