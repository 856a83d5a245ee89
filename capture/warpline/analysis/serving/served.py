"""Requests to a model server as columns, with the engine steps and the GPU work that ran during them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.overlap import UnionOfPortions, covered_ns
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
KIND = "request"
NO_REQUESTS = NotRecorded(
    english("requests were not recorded"),
    english(
        "import a trace of vLLM, SGLang (OTLP JSON) or Triton, alone or together with a trace of the GPU"
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Served:
    """The requests of the selected range by start; arrays of equal length.

    ``row`` event rows, ``start`` and ``stop`` (capture ns, whole even if cut), ``numbers`` by attribute (`ATTRIBUTES`),
    masked where not recorded.
    """

    row: Int64Array
    name: Int64Array
    model: npt.NDArray[np.int64]
    start: Int64Array
    stop: Int64Array
    numbers: dict[str, npt.NDArray[np.int64]]

    @property
    def token_gap_ns(self) -> npt.NDArray[np.float64]:
        """Inter-token latency: the time after the first token, by each further token (ns); masked where unknown."""
        further = np.ma.asarray(self.numbers["completion_tokens"]) - 1
        after = (self.stop - self.start) - np.ma.asarray(self.numbers["first_token_ns"])
        hidden = np.ma.getmaskarray(further) | np.ma.getmaskarray(after)
        hidden |= (np.ma.getdata(further) < 1) | (np.ma.getdata(after) < 0)
        gaps = np.ma.getdata(after) / np.where(hidden, 1, np.ma.getdata(further))
        return np.ma.MaskedArray(gaps.astype(np.float64), hidden)


ATTRIBUTES = ("queue_ns", "prefill_ns", "decode_ns", "first_token_ns", "prompt_tokens", "completion_tokens")


def served_requests(view: View) -> Served | None:
    """The requests of the selection; None without any."""
    if not view.has(KIND):
        return None
    events = view.events(KIND)
    events = events.take(np.argsort(events.start, kind="stable"))
    return Served(
        row=events.row,
        name=events.name.astype(np.int64),
        model=np.ma.asarray(view.column(KIND, "model", events.index)).astype(np.int64),
        start=events.start,
        stop=events.stop,
        numbers={
            name: np.ma.asarray(view.column(KIND, name, events.index)).astype(np.int64) for name in ATTRIBUTES
        },
    )


def gpu_time(view: View, served: Served) -> Int64Array | None:
    """Time a GPU worked during each request (ns): the union of all GPU work; None if none was recorded.

    Requests of one batch share the work, so their times do not add up.
    """
    kinds = [kind for kind in GPU_KINDS if kind in view.capture.kinds]
    devices = frozenset(track.index for track in view.capture.tracks if track.device is not None)
    busy = UnionOfPortions()
    found = False
    for kind in kinds:
        for events in view.batches(kind, devices):
            found |= len(events) > 0
            busy.add(events.start, events.stop)
    return covered_ns(busy.intervals(), served.start, served.stop) if found else None
