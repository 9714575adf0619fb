"""The shipped runtimes that keep company: what they answer together is what each case gets alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment

if TYPE_CHECKING:
    from tconv.corpus import Corpus

PATTERNS = ("layouts/**", "groups/**", "bias/**", "output-padding/**")
SHARE = 4
"""One case in so many is asked."""


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino", "onednn", "onednn-backward-data"])
def test_company_gives_what_alone_gives(corpus: Corpus, backend: str) -> None:
    """The same kinds of verdicts, agreements, refusals and deaths; a refusal's words may number its nodes."""
    cases = list(corpus.cases("smoke", PATTERNS))[::SHARE]

    def records(together: int) -> dict[str, str]:
        with Pool(Assignment(backend, None, None, "", together=together), 1, 60.0) as pool:
            return {line.case: line.record.verdict.kind for line in pool.run(cases)}

    try:
        assert records(8) == records(1)
    except BackendMissing as error:
        pytest.skip(str(error))
