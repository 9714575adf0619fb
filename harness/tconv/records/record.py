"""One case's record: who was asked what, the verdict, and where the output is wrong; and its line in a record file."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, TypeAdapter

from tconv.backends.outcome import Recorded
from tconv.corpus.building import build
from tconv.corpus.case_file import Settings  # noqa: TC001 - the file boundary reads the annotations
from tconv.diagnosis import Diagnosis
from tconv.diagnosis.placement import Placement  # noqa: TC001 - the file boundary reads the annotations
from tconv.dialects import (  # noqa: TC001 - as above
    MisreadingNames,
    RecordedDialect,
)
from tconv.records.texts import with_plain_values
from tconv.verdict.kinds import BackendError, Crashed, RefusedValid, TimedOut, Verdict, WrongDtype, WrongOutput
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.case import Case


@dataclass(frozen=True, slots=True)
class CallSummary(Recorded):
    """The call, in the dialect's words.

    Attributes:
        attributes: the attributes that are written.
        inputs: each input as its name, its shape in the call's layout, and its element type.
        data_format: the layout of data and output.
        filter_format: the layout of the filter.
    """

    attributes: dict[str, str | int | list[int]]
    inputs: list[tuple[str, list[int], str]]
    data_format: str
    filter_format: str


@dataclass(frozen=True, slots=True)
class FreshAnswer(Recorded):
    """What came of a case that was asked again, alone in a fresh process.

    Attributes:
        kind: the kind of the verdict there.
        same: whether that is what came of it in the run, with the same figures where sums have no rounding.
        first_only: whether only the first answer there was wrong, and those after it right.
    """

    kind: str
    same: bool
    first_only: bool = False


@dataclass(frozen=True, slots=True)
class Sums(Recorded):
    """In which type the backend adds the products of 16-bit numbers in calls like this one, as a probe found it.

    Attributes:
        dtype: the element type.
        filters: the kind of group, with `1x1` if the filter has a single tap.
        rank: the number of spatial axes.
        accumulator: the type in which the products are added: `dtype` or f32. None if the probe found neither, or ended
            the runtime.
    """

    dtype: DType
    filters: str
    rank: int
    accumulator: DType | None = None


@dataclass(frozen=True, slots=True)
class Record(Recorded):
    """One case's line.

    Attributes:
        case: the case's id.
        backend: the backend's name.
        dialect: the dialect in which it was expressed.
        verdict: the verdict.
        seconds: how long the backend took, without the harness.
        artifact: the file with operands, expected and actual values, relative to the record file; None for a pass.
        call: the call, where it is not a plain pass.
        tolerance: how the allowed distance is derived, where values were compared and differ.
        diagnosis: misreadings that give the very output that was wrong, each by itself; pairs are joined by ` + `.
        described: where and how the output is wrong, where no misreading gives it; or which other failures show it.
        relation: what the wrong elements are beside what is expected, where that is seen and no misreading gives them.
        placement: where the values of a wrong output lie, as far as they tell.
        alone: what came of the case when it was asked again, alone in a fresh process; None if it was not.
        earlier: of a process that ended at this case, and does not at the case alone: the cases that it was asked
            before, the last one last, without those of which it is known that they agreed.
        digest: of a wrong output, what is compared with a later run, see `verdict.values.digest`; None if there is
            no output, or only its shape and type.
        executed: in a context, the operations that the runtime executes, if it says that it fuses or folds some of the
            graph's, adds others, or computes in 8 bits.
        sums: what the bound of 16-bit numbers was derived for; None if there was none, or no probe found it: then f32.
        asked: the settings of a new call that tconv made to test an explanation, which is no case of the corpus and
            counts as none; None of a case.
    """

    case: str
    backend: str
    dialect: RecordedDialect
    verdict: Annotated[Verdict, Field(discriminator="kind")]
    seconds: float = 0.0
    artifact: str | None = None
    call: CallSummary | None = None
    tolerance: str | None = None
    diagnosis: tuple[MisreadingNames, ...] = ()
    described: str | None = None
    relation: str | None = None
    placement: Placement | None = None
    alone: FreshAnswer | None = None
    earlier: tuple[str, ...] = ()
    digest: str | None = None
    sums: Sums | None = None
    asked: Settings | None = None
    executed: tuple[str, ...] = ()

    @property
    def new_call(self) -> Case | None:
        """The new call that tconv made; None of a case of the corpus.

        Raises:
            ImpossibleCase: the settings make none.
        """
        return None if self.asked is None else build(self.case, self.asked.written())

    @property
    def why(self) -> Diagnosis:
        """Why its output is wrong, as far as the output alone tells."""
        return Diagnosis(self.diagnosis, self.described or "", self.relation or "", self.placement)

    @property
    def accumulator(self) -> DType:
        """The type that products of 16-bit numbers are added in, by which the record was judged."""
        return (self.sums and self.sums.accumulator) or DType.F32

    @property
    def varies(self) -> bool:
        """Whether the answer depends on the calls before it: alone in a fresh process there is another one."""
        return self.alone is not None and not self.alone.same

    @property
    def may_vary(self) -> bool:
        """Whether its answer may depend on the calls before it, for all that is known; not of a death."""
        return self.alone is None and isinstance(self.verdict, WrongOutput | WrongDtype | RefusedValid | BackendError)

    @property
    def size(self) -> tuple[int, int, str]:
        """How large its case is: elements of its inputs, then the length of its id."""
        elements = sum(math.prod(shape) for _, shape, _ in self.call.inputs) if self.call else 0
        return elements, len(self.case), self.case

    @property
    def answer_varies(self) -> bool:
        """Whether it varies so that other answers may vary too: the end of a process says nothing of them."""
        return self.varies and not isinstance(self.verdict, Crashed | TimedOut)


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def record_line(record: Record) -> str:
    """Return a record's line, without its newline. Defaults are left out, but not the kind of the verdict."""
    plain = _RECORD.dump_python(record, mode="json", exclude_defaults=True)
    plain |= {"verdict": {"kind": record.verdict.kind, **plain["verdict"]}, "seconds": round(record.seconds, 6)}
    return json.dumps(with_plain_values(plain), separators=(",", ":"), allow_nan=False)


def record_of(line: str | bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValidationError: the line is no record.
    """
    return _RECORD.validate_json(line)
