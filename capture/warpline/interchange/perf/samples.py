"""Adds the samples and events of perf, text or binary, to a capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.kernel_events import KernelEvents, LongColumns
from warpline.interchange.framework.kernel_texts import add_kernel_event
from warpline.interchange.framework.samples import add_weights
from warpline.interchange.framework.stack_tables import StackChains, stack_column
from warpline.model import AttributeSpec, KindSpec

_MOST = (1 << 62) - 1


class PerfEvents:
    """Collects samples; tracepoints of the kernel become what they are. `finish` adds everything."""

    def __init__(self, sink: EventSink) -> None:
        self.sink = sink
        self.kernel = KernelEvents(sink)
        self._chains = StackChains(sink.builder)
        self._rows = LongColumns(7)
        self._counts: Counter[str] = Counter()
        add_weights(sink.builder, "")
        event = AttributeSpec("event", "string", english("Event"))
        sink.builder.add_kind(KindSpec("sample", "Sample", "cpu", "python", (event,)))

    def sample(
        self,
        time: int,
        tid: int,
        cpu: int,
        period: int,
        event: str,
        frames: Sequence[str],
        fields: str = "",
    ) -> None:
        """A sample of a thread; ``frames`` are clean texts from the innermost one, ``fields`` those of a tracepoint."""
        self._counts[event] += 1
        name = event.rpartition(":")[2] if ":" in event else ""
        if name.startswith("sched_") and fields:
            add_kernel_event(self.kernel, time, max(cpu, 0), tid, name, fields)
            return
        stack, leaf = self._chains.add(frames[::-1])
        label = self.sink.builder.string(clean_text(event))
        self._rows.add(time, tid, cpu, min(period, _MOST), stack, leaf or label, label)

    def count(self, event: str) -> None:
        """Count an event that is not added as a sample."""
        self._counts[event] += 1

    def finish(self) -> None:
        """Add everything to the capture."""
        self.kernel.finish()
        if len(self._rows):
            self._add_samples()
        for event, count in self._counts.items():
            self.sink.builder.meta.setdefault("perf_events", {})[clean_text(event)] = count

    def _add_samples(self) -> None:
        time, tid, cpu, period, stack, name, event = self._rows.columns()
        numbers, places, counts = np.unique(tid, return_inverse=True, return_counts=True)
        tracks = np.zeros(len(numbers), np.int64)
        # The busiest thread comes first, the idle threads of the cores last.
        for place in np.lexsort((-counts, numbers == 0)).tolist():
            thread = self.kernel.thread(int(numbers[place]))
            tracks[place] = self.sink.thread_track(thread, "samples")
        self.sink.add(
            tracks[places.reshape(-1)],
            "sample",
            time,
            None,
            name.astype(np.uint32),
            attributes={
                "stack": stack_column(stack),
                "cpu": np.ma.masked_less(cpu, 0).astype(np.int32),
                "weight": period,
                "event": event.astype(np.uint32),
            },
        )
