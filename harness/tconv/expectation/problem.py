"""A case said in a dialect, with its operands, what is owed and the reference: benchdnn's word for it is problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import in_layouts, say
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES, make
from tconv.errors import UsageError
from tconv.expectation.owed import Inexpressible, Refuse, Values, expectation
from tconv.expectation.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class Said:
    """A case said in a dialect, with its arrays.

    Attributes:
        case: the case.
        row: the dialect.
        expected: what the dialect owes.
        call: the call.
        operands: in NCX and IOX.
        arrays: the same in the call's layouts.
    """

    case: Case
    row: Dialect
    expected: Values | Refuse
    call: Call
    operands: Mapping[str, Array]
    arrays: Mapping[str, Array]

    def truth(self) -> Truth:
        """Return the reference for the operands."""
        return Truth(self.operands, self.case.x.dtype)

    def owed(self) -> Array | None:
        """Return the output under the primary reading in the call's layout and type; None where a refusal is owed."""
        if isinstance(self.expected, Refuse):
            return None
        values = self.truth().values(self.expected.primary.geometry)
        with np.errstate(over="ignore", invalid="ignore"):
            return from_ncx(values.astype(NUMPY_TYPES[self.call.dtype]), self.call.data_format)

    def fed(self) -> dict[str, Array]:
        """Return what is fed to the model, by the names of its inputs, in their order."""
        return {one.name: self.arrays[one.role] for one in self.call.inputs if not one.constant}

    def also_allowed(self) -> Iterator[str]:
        """Yield what else the text allows than the primary reading: readings, and refusals."""
        if isinstance(self.expected, Refuse):
            return
        says = {reading.name: f"{reading.name}: {reading.says} [{reading.cites}]" for reading in self.row.disputed}
        for name in dict.fromkeys(name for other in self.expected.disputed for name in other.readings):
            yield says[name]
        for name in self.expected.refusals:
            yield f"a refusal: {name}"


def said(case: Case, row: Dialect) -> Said:
    """Return the case in the dialect's words.

    Raises:
        UsageError: the dialect cannot say it.
    """
    expected = expectation(case, row)
    if isinstance(expected, Inexpressible):
        raise UsageError(f"a case must be one that {row.name} can say (got {case.id}: {expected.reason})")
    call, operands = say(case, row), make(case.x, case.w, case.b)
    return Said(case, row, expected, call, operands, in_layouts(operands, call))
