"""Converts samples of the program counter, with their call chains."""

from __future__ import annotations

import numpy as np

from warpline.i18n import english
from warpline.interchange.nsys.context import Context, pick
from warpline.interchange.nsys.stacks import Stacks
from warpline.interchange.nsys.tables.access import groups
from warpline.model import AttributeSpec, Flag, KindSpec

EVENT_STACK_KIND = KindSpec(
    "event_stack",
    "Stack of an event",
    "cpu",
    "python",
    (AttributeSpec("stack", "stack", "Stack"), AttributeSpec("cpu", "int32", "Core")),
)
"""A stack taken at an event (a thread blocked). Not periodic, so it does not measure time."""


def convert_samples(context: Context, table: str) -> None:
    """Adds periodic samples as kind ``sample`` and stacks of events as ``event_stack``."""
    stacks = Stacks(context, "SAMPLING_CALLCHAINS")
    nameless = context.builder.string("no stack")
    for batch in context.batches(table, ints=("id", "start", "cpu", "globalTid", "cpuCycles")):
        stack, leaf, known = stacks.find(batch["id"])
        names = np.where(known, leaf, np.uint32(nameless))
        is_event = (batch["cpuCycles"] == 0).astype(np.int64)
        if is_event.any():
            context.builder.add_kind(EVENT_STACK_KIND)
        for (tid, of_event), index in groups(batch["globalTid"], is_event):
            attributes = pick(batch, index, cpu="cpu")
            if known[index].any():
                attributes["stack"] = np.ma.MaskedArray(stack[index], ~known[index])
            path, title = ("event-stacks", english("Event stacks")) if of_event else ("samples", "")
            context.add(
                context.thread_track(tid, path, "samples", title),
                "event_stack" if of_event else "sample",
                batch["start"][index],
                None,
                names[index],
                flags=Flag.ESTIMATED,
                attributes=attributes,
                label=table,
            )
