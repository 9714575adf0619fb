"""Backends that answer several calls in one model, rightly or not."""

from __future__ import annotations

import gc
import os
import signal
import time
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import Outcome, Produced, Refused
from tconv.execution.position import _INDEX, Position
from wrong_backends.right import FOREVER, HUNG, Array, Right, troubled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.call import Call


class Company(Right):
    """Right in company too: each call is answered as it is alone."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Answer each call."""
        return [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]


class LastWrongInCompany(Company):
    """The last output of a company shares its memory with another, and has that one's values."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil the last."""
        *others, last = (self.run(call, operands) for call, operands in zip(calls, arrays, strict=True))
        return [*others, Produced(last.array + 1) if isinstance(last, Produced) else last]


class WrongAlone(Company):
    """Right in company, wrong alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Add one."""
        right = super().run(call, arrays)
        return Produced(right.array + 1) if isinstance(right, Produced) else right

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Answer each call rightly."""
        return [Right.run(self, call, operands) for call, operands in zip(calls, arrays, strict=True)]


class WrongEverywhere(Company):
    """Wrong alone, and by another value in company."""

    def answer(self, y: Array) -> Outcome:
        """Spoil the last element."""
        y[..., -1] += 1
        return Produced(y)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil it twice."""
        outcomes = [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]
        return [self.answer(outcome.array) for outcome in outcomes if isinstance(outcome, Produced)]


class WrongAlike(Company):
    """Wrong by the same value alone and in company."""

    def answer(self, y: Array) -> Outcome:
        """Spoil the last element."""
        y[..., -1] += 1
        return Produced(y)


class WrongOnceInCompany(Company):
    """The first company that it is asked has a wrong answer, and the next has none."""

    asked = 0

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Spoil the first company's last."""
        self.asked += 1
        outcomes = [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)]
        if self.asked == 1 and isinstance(outcomes[-1], Produced):
            outcomes[-1] = Produced(outcomes[-1].array + 1)
        return outcomes


class RefusesLargeCompany(Company):
    """More than three calls are too many for one model."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse a large company as a whole."""
        return Refused("too many nodes") if len(calls) > 3 else super().run_together(calls, arrays)


class CompanyInOneBuffer(Company):
    """The outputs of a company, and of a call alone, are in the same memory each time: that is nothing wrong."""

    def __init__(self) -> None:
        self._memory = np.empty(2**16, np.uint8)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute into the memory."""
        return self._moved([super().run(call, arrays)])[0]

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Compute into the memory, one behind the other."""
        return self._moved([Right.run(self, call, of) for call, of in zip(calls, arrays, strict=True)])

    def _moved(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        moved, end = list[Outcome](), 0
        # What stood there before is gone: a float of these bytes is NaN.
        self._memory[:] = 255
        for outcome in outcomes:
            assert isinstance(outcome, Produced)
            array = outcome.array
            output = self._memory[end : end + array.nbytes].view(array.dtype).reshape(array.shape)
            output[...] = array
            moved.append(Produced(output))
            end += array.nbytes
        return moved


class RefusesTrouble(Company):
    """A call that it cannot stand is refused, in company too: by its name, and the others have no answer."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Refuse trouble."""
        return Refused("trouble") if troubled(call) else super().run(call, arrays)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse the first call that is trouble."""
        places = [place for place, call in enumerate(calls) if troubled(call)]
        if places:
            return [Refused("node is trouble") if place == places[0] else None for place in range(len(calls))]
        return super().run_together(calls, arrays)


class DiesInCompany(Company):
    """A company with a call that it cannot stand ends the process; alone the same call is answered."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Die of trouble."""
        if any(map(troubled, calls)):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run_together(calls, arrays)


class DiesOfTrouble(DiesInCompany):
    """A call that it cannot stand ends the process, in company and alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Die of trouble."""
        if troubled(call):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run(call, arrays)


class OverwritesItsCompany(DiesOfTrouble):
    """Before it dies, it writes zeros over the memory in which its worker says which other cases it asks."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Write over them, and die of trouble."""
        if troubled(call):
            self._write_over(_position())
        return super().run(call, arrays)

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Write over them, and die of trouble."""
        if any(map(troubled, calls)):
            self._write_over(_position())
        return super().run_together(calls, arrays)

    def _write_over(self, position: Position) -> None:
        position._cells[_INDEX + 1 :] = [0.0] * (position.most - 1)


class OverwritesItsPosition(OverwritesItsCompany):
    """Before it dies, it writes zeros over all that its worker says."""

    left = 0.0

    def _write_over(self, position: Position) -> None:
        position._cells[:] = [self.left] * len(position._cells)


class OverwritesWithOnes(OverwritesItsPosition):
    """The number is that of the first message, of the second case, and of a company of one."""

    left = 1.0


class OverwritesWithNaN(OverwritesItsPosition):
    """The number is none."""

    left = nan


def _position() -> Position:
    (position,) = (found for found in gc.get_objects() if isinstance(found, Position))
    return position


class HangsInCompany(Company):
    """A company with a call that it cannot stand is never answered."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Sleep on trouble."""
        if any(map(troubled, calls)):
            time.sleep(FOREVER)
        return super().run_together(calls, arrays)


class HangsOnceInCompany(Company):
    """The first company of all its processes is never answered; a file says that it was asked."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Sleep where nobody did before."""
        asked = Path(os.environ[HUNG])
        if not asked.exists():
            asked.touch()
            time.sleep(FOREVER)
        return super().run_together(calls, arrays)


class ShortInCompany(Company):
    """One outcome is missing."""

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Leave out the last."""
        return [self.run(call, operands) for call, operands in zip(calls, arrays, strict=True)][:-1]


class RefusesOnceInCompany(Company):
    """The first company is refused as a whole, and no other."""

    asked = 0

    def run_together(
        self, calls: Sequence[Call], arrays: Sequence[Mapping[str, Array]]
    ) -> Sequence[Outcome | None] | Outcome:
        """Refuse the first."""
        self.asked += 1
        return Refused("not now") if self.asked == 1 else super().run_together(calls, arrays)


class RaisesInCompany(Company):
    """What goes wrong in company leaves the backend as an exception."""

    def run_together(self, *_: object) -> Sequence[Outcome | None] | Outcome:
        """Raise."""
        raise RuntimeError("no company")
