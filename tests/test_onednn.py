"""oneDNN's adapter beside a played library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tconv.backends import Produced, ShapeOnly, onednn
from tconv.dialects import find_dialect
from tconv.expectation.problem import expressed

if TYPE_CHECKING:
    from tconv.corpus import Corpus
    from tconv.vocabulary import Array, Ints


@pytest.mark.parametrize("backend", [onednn.OneDnn, onednn.OneDnnBackwardData])
@pytest.mark.parametrize("sizes", [(0, -2, 1), (0, 2, 1)])
def test_a_size_below_zero_is_an_answer(
    backend: type[onednn.OneDnn], sizes: Ints, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No array has such a size, but 3.13.2 compiles and executes it: its sizes are what the library describes."""

    class PlayedGraph:
        def run(self, *_: object) -> tuple[Array, Ints]:
            return np.zeros([max(size, 0) for size in sizes], np.float32), sizes

    monkeypatch.setattr(onednn, "Graph", PlayedGraph)
    case = corpus.find("found/openvino/size-below-zero-of-no-batch")
    assert case is not None
    problem = expressed(case, find_dialect(backend.DIALECTS[0]))
    outcome = backend().run(problem.call, problem.arrays)
    if min(sizes) < 0:
        assert outcome == ShapeOnly(sizes, "f32")
    else:
        assert isinstance(outcome, Produced)
        assert outcome.array.shape == sizes
