"""Adds samples of stacks to a capture, plain or weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.stack_tables import stack_column
from warpline.model import AttributeSpec, KindSpec
from warpline.model.kinds import BUILTIN_KINDS_BY_NAME

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

WEIGHT = "weight"
"""The attribute with a sample's weight; without it, each sample counts as one."""


def add_weights(builder: CaptureBuilder, unit: str) -> None:
    """Give samples a weight in a unit: ``ns``, ``bytes``, or "" for a number of samples."""
    known = BUILTIN_KINDS_BY_NAME["sample"]
    weight = AttributeSpec(WEIGHT, "int64", "Weight", unit)
    builder.add_kind(KindSpec(known.name, known.title, known.category, known.color, (weight,)))


def add_stack_samples(
    sink: EventSink,
    thread: Holder,
    times: Int64Array,
    stacks: Int64Array,
    names: npt.NDArray[np.uint32],
    *,
    durations: Int64Array | None = None,
    **attributes: Any,
) -> Int64Array:
    """Adds samples of a thread and returns their ids. A stack of -1 is missing; without durations they are moments."""
    stops = None if durations is None else times + durations
    return sink.add(
        sink.thread_track(thread, "samples"),
        "sample",
        times,
        stops,
        names,
        attributes={"stack": stack_column(stacks), **attributes},
    )
