"""The record of a case: backend, call, verdict and diagnosis; and its line in a record file."""

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
from tconv.diagnosis.misreadings import meanings
from tconv.diagnosis.placement import Placement  # noqa: TC001 - the file boundary reads the annotations
from tconv.dialects import (
    DIALECTS,
    MisreadingNames,
    RecordedDialect,
)
from tconv.records.texts import with_plain_values
from tconv.verdict.kinds import BackendError, Crashed, RefusedValid, TimedOut, Verdict, WrongDtype, WrongOutput
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.call import Call
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

    @classmethod
    def of(cls, call: Call) -> CallSummary:
        """Return the summary of a call."""
        attributes = {
            name: list(value) if isinstance(value, tuple) else value for name, value in call.attributes.items()
        }
        inputs = [(tensor.name, list(tensor.shape), str(tensor.dtype or "integers")) for tensor in call.inputs]
        return cls(attributes, inputs, str(call.data_format), str(call.filter_format))


@dataclass(frozen=True, slots=True)
class FreshAnswer(Recorded):
    """The answer to a case that was asked again, alone in a fresh process.

    Attributes:
        kind: the kind of the verdict there.
        same: whether the result is that of the run, with the same figures if the sums are exact.
        first_only: whether only the first answer there was wrong, and later ones were right.
    """

    kind: str
    same: bool
    first_only: bool = False


@dataclass(frozen=True, slots=True)
class Sums(Recorded):
    """The type in which the backend accumulates products of 16-bit numbers in calls like this one, by a probe.

    Attributes:
        dtype: the element type.
        filters: the kind of group, with `1x1` if the filter has a single tap.
        rank: the number of spatial axes.
        accumulator: the type of the sums: `dtype` or f32. None if the probe found neither, or crashed.
    """

    dtype: DType
    filters: str
    rank: int
    accumulator: DType | None = None


@dataclass(frozen=True, slots=True)
class Change(Recorded):
    """What was done differently when a context that fails was asked again, in a fresh process.

    Attributes:
        option: an option of the backend, as `name=value`; empty for none.
        apart: operations, as `Pad and ConvTranspose`, between which the tensor was a further output of the graph, so
            that nothing can be fused across it; empty for none.
    """

    option: str = ""
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Record(Recorded):
    """One case's line.

    Attributes:
        case: the case's id.
        backend: the backend's name.
        dialect: the dialect of the call.
        verdict: the verdict.
        seconds: the time of the backend, without the harness.
        artifact: the file with operands, expected and actual values, relative to the record file; None for a pass.
        call: the call; None for a plain pass.
        tolerance: how the allowed distance is derived, if values were compared and differ.
        diagnosis: misreadings, each of which gives the wrong output; ` + ` joins those that give it together.
        described: where and how the output is wrong, if no misreading gives it; or which other failures show it.
        relation: the arithmetic relation of the wrong elements to the expected ones, if no misreading gives them.
        placement: the geometry that the values of a wrong output show.
        alone: the answer when the case was asked again, alone in a fresh process; None if it was not asked again.
        earlier: the earlier cases of a process that ended at this case, in their order. Cases that are known to agree
            are left out. Empty if the process ends at the case alone too.
        digest: a digest of a wrong output for comparison with a later run, see `verdict.values.digest`; None if there
            is no output, or only its shape and type.
        executed: in a context, the operations that the runtime executes, if it reports that it fuses or folds some,
            adds others, or computes in 8 bits.
        sums: the type of 16-bit sums for which the bound was derived; None: no bound, or f32 without a probe.
        asked: the settings of a new call that tested an explanation; it is no case of the corpus and does not count.
            None for a case.
        changed: of a new call, what was done differently than for the case of this id; None for nothing.
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
    changed: Change | None = None
    executed: tuple[str, ...] = ()

    @property
    def new_call(self) -> Case | None:
        """The new call that tconv made; None for a case of the corpus.

        Raises:
            ImpossibleCase: the settings make no case.
        """
        return None if self.asked is None else build(self.case, self.asked.written())

    @property
    def why(self) -> Diagnosis:
        """The diagnosis of its output alone, without other cases.

        Records of an older version may name misreadings that are no longer in the catalogue. They explain nothing here.
        """
        known = meanings(DIALECTS[self.dialect]).keys() if self.diagnosis else set()
        explained = tuple(of for of in self.diagnosis if known >= set(of.names))
        return Diagnosis(explained, self.described or "", self.relation or "", self.placement)

    @property
    def accumulator(self) -> DType:
        """The type of 16-bit sums that the record was judged by."""
        return (self.sums and self.sums.accumulator) or DType.F32

    @property
    def varies(self) -> bool:
        """Whether the answer depends on earlier calls: alone in a fresh process it is another one."""
        return self.alone is not None and not self.alone.same

    @property
    def may_vary(self) -> bool:
        """Whether its answer may depend on earlier calls: a failure, no crash, that was not asked again."""
        return self.alone is None and isinstance(self.verdict, WrongOutput | WrongDtype | RefusedValid | BackendError)

    @property
    def size(self) -> tuple[int, int, str]:
        """The size of its case: elements of its inputs, then the length of its id."""
        elements = sum(math.prod(shape) for _, shape, _ in self.call.inputs) if self.call else 0
        return elements, len(self.case), self.case

    @property
    def answer_varies(self) -> bool:
        """Whether its answer varies, apart from crashes and timeouts; then other answers may vary too."""
        return self.varies and not isinstance(self.verdict, Crashed | TimedOut)


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def record_line(record: Record) -> str:
    """Return a record's line, without its newline. Defaults are left out, except the kind of the verdict."""
    plain = _RECORD.dump_python(record, mode="json", exclude_defaults=True)
    plain |= {"verdict": {"kind": record.verdict.kind, **plain["verdict"]}, "seconds": round(record.seconds, 6)}
    return json.dumps(with_plain_values(plain), separators=(",", ":"), allow_nan=False)


def record_of(line: str | bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValidationError: the line is no record.
    """
    return _RECORD.validate_json(line)
