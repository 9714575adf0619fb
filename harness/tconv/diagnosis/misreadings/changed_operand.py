"""How the change of one operand is a change of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings.misreading import OperandsOtherwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import Operands
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, Signature


def in_filter(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    """Return the change of the filter, (C, O/G, K...), alone; `change` returns None for no change."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        w = change(operands["w"], geometry)
        return operands if w is None or w is operands["w"] else operands | {"w": w}

    return OperandsOtherwise(changed)


def in_data(change: Callable[[Array, Geometry], Array | None]) -> OperandsOtherwise:
    """Return the change of the data, (N, C, X...), alone; `change` returns None for no change."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        x = change(operands["x"], geometry)
        return operands if x is None else operands | {"x": x}

    return OperandsOtherwise(changed)


def along_channels(bias: Array, rank: int) -> Array:
    """Return a bias, (O,), as it is added to an output with so many axes."""
    return bias.reshape(-1, *(1,) * (rank - 2))


def in_bias(change: Callable[[Array, Geometry], Array]) -> OperandsOtherwise:
    """Return the change of the bias, (O,), alone, where there is one."""

    def changed(operands: Operands, geometry: Geometry, _: Signature) -> Operands:
        return operands if "b" not in operands else operands | {"b": change(operands["b"], geometry)}

    return OperandsOtherwise(changed)
