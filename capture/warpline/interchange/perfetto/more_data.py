"""GPU render stages and counters, memory of processes, and samples of stacks in a Perfetto trace."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.messages.message_tables import MISSING, count_or_zero
from warpline.interchange.perfetto.described_tracks import DescribedTracks
from warpline.interchange.perfetto.sequences import Packets, Sequences
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]

_MEMORY = {
    "vm_size": english("Virtual memory"), "rss": english("Resident memory"), "anon": english("Anonymous memory"),
    "file": english("Memory of files"), "shmem": english("Shared memory"), "swap": english("Swapped memory"),
}  # fmt: skip
_MOST_FRAMES = 512


class MoreData:
    """Collects what is neither a track event nor ftrace's."""

    def __init__(self, sink: EventSink, sequences: Sequences, tree: DescribedTracks) -> None:
        self._sink = sink
        self._builder = sink.builder
        self._sequences = sequences
        self._tree = tree
        self._queues: list[str] = []
        self._stages: list[str] = []
        self._gpu_counters: dict[tuple[int, int], str] = {}
        self._stacks: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._lost_samples = 0

    def add(self, piece: Packets) -> None:
        """Reads a piece."""
        self._add_memory(piece)
        self._add_stages(piece)
        self._add_gpu_counters(piece)
        self._read_frames(piece)
        self._add_samples(piece)

    def _add_memory(self, piece: Packets) -> None:
        tables, place = piece.tables, "record.stats.process"
        time = piece.time[tables.parent("record.stats")[tables.parent(place)]]
        pids = tables[f"{place}.pid"]
        for key, title in _MEMORY.items():
            values = tables[f"{place}.{key}"]
            known = (values != MISSING) & (time != MISSING) & (pids > 0)
            for pid in np.unique(pids[known]).tolist():
                chosen = known & (pids == pid)
                process = self._tree.holder(pid, None)
                track = self._sink.track(
                    self._sink.specs.process_counter(process.uri, key, title), row=process
                )
                self._sink.add_counter(track, title, "bytes", time[chosen], values[chosen] * 1024.0)

    # The GPU

    def _add_stages(self, piece: Packets) -> None:
        tables, place = piece.tables, "record.stage"
        self._sequences.intern(piece, "stage", tables.text)
        table = "record.interned.context"
        states = self._sequences.interned_states(piece, table)
        for state, iid, pid in zip(
            states.tolist(), tables[f"{table}.iid"].tolist(), tables[f"{table}.pid"].tolist(), strict=True
        ):
            self._sequences.remember("context", state, iid, max(pid, 0))
        for sort, names in (("queue", self._queues), ("stage", self._stages)):
            names += [tables.text(code) for code in tables[f"{place}.specs.{sort}.name"].tolist()]
        packets = tables.parent(place)
        columns = ("duration", "gpu", "context", "queue", "stage", "queue_id", "stage_id", "name_iid", "name")
        for packet, *row in zip(
            packets.tolist(), *(tables[f"{place}.{name}"].tolist() for name in columns), strict=True
        ):
            duration, gpu, context, queue, stage, queue_id, stage_id, name_iid, name = row
            state, start = int(piece.state[packet]), int(piece.time[packet])
            if MISSING in {start, duration}:
                continue
            queue_name = self._sequences.named("stage", state, queue) or _at(self._queues, queue_id)
            text = (
                tables.text(name)
                or self._builder.text(self._sequences.named("event", state, name_iid, 0))
                or self._sequences.named("stage", state, stage)
                or _at(self._stages, stage_id)
                or english("GPU work")
            )
            process = self._tree.holder(self._sequences.named("context", state, context, 0), None)
            number = queue if queue != MISSING else max(queue_id, 0)
            track = self._sink.stream(max(gpu, 0), process, number, name=queue_name)
            times = np.array([start], np.int64)
            self._sink.add(
                track, "gpu_event", times, times + duration, self._builder.string(clean_text(text))
            )

    def _add_gpu_counters(self, piece: Packets) -> None:
        tables, place = piece.tables, "record.gpu_counters"
        gpu = count_or_zero(tables[f"{place}.gpu"])
        descriptors = tables.parent(f"{place}.descriptor")
        specs = tables.parent(f"{place}.descriptor.spec")
        for row, number, name in zip(
            descriptors[specs].tolist(),
            tables[f"{place}.descriptor.spec.id"].tolist(),
            tables[f"{place}.descriptor.spec.name"].tolist(),
            strict=True,
        ):
            self._gpu_counters[int(gpu[row]), number] = tables.text(name)
        samples: defaultdict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
        time = piece.time[tables.parent(place)]
        for row, number, whole, real in zip(
            tables.parent(f"{place}.counter").tolist(),
            *(tables[f"{place}.counter.{name}"].tolist() for name in ("id", "value", "double_value")),
            strict=True,
        ):
            if time[row] == MISSING:
                continue
            value = (
                float(np.int64(real).view(np.float64))
                if real != MISSING
                else float(whole if whole != MISSING else 0)
            )
            samples[int(gpu[row]), number].append((int(time[row]), value))
        for (device, number), rows in samples.items():
            name = clean_text(self._gpu_counters.get((device, number), "")) or english(
                "counter {number}", number=number
            )
            spec = self._sink.specs.gpu_counter(device, str(number), name)
            track = self._sink.track(spec, self._sink.gpu(device))
            self._sink.add_counter(
                track, name, "", np.array([when for when, _ in rows]), np.array([value for _, value in rows])
            )

    # Samples

    def _read_frames(self, piece: Packets) -> None:
        tables, sequences = piece.tables, self._sequences
        for kind in ("function", "path"):
            sequences.intern(piece, kind, tables.text)
        for table, inner, names in (
            ("mapping", "path", ("iid",)),
            ("callstack", "frame", ("iid",)),
            ("frame", "", ("iid", "function", "mapping", "address")),
        ):
            place = f"record.interned.{table}"
            states = sequences.interned_states(piece, place)
            rows = list(zip(*(tables[f"{place}.{name}"].tolist() for name in names), strict=True))
            lists: list[list[int]] = [[] for _ in rows]
            if inner:
                for parent, value in zip(
                    tables.parent(f"{place}.{inner}").tolist(),
                    tables[f"{place}.{inner}.value"].tolist(),
                    strict=True,
                ):
                    lists[parent].append(value)
            for state, row, values in zip(states.tolist(), rows, lists, strict=True):
                sequences.remember(table, state, row[0], values if inner else row[1:])

    def _add_samples(self, piece: Packets) -> None:
        tables, place = piece.tables, "record.sample"
        packets = tables.parent(place)
        self._lost_samples += int(count_or_zero(tables[f"{place}.lost"]).sum())
        known = (
            (piece.time[packets] != MISSING)
            & (tables[f"{place}.tid"] != MISSING)
            & (tables[f"{place}.skipped"] == MISSING)
        )
        rows = np.flatnonzero(known)
        if not len(rows):
            return
        pids, tids, cpus, calls = (
            tables[f"{place}.{name}"][rows] for name in ("pid", "tid", "cpu", "callstack")
        )
        states, times = piece.state[packets][rows], piece.time[packets][rows]
        stacks = [
            self._stack(state, call) for state, call in zip(states.tolist(), calls.tolist(), strict=True)
        ]
        unknown = self._builder.string(english("no stack"))
        names = np.array([unknown if stack is None else stack[1] for stack in stacks], np.uint32)
        ids = np.array([0 if stack is None else stack[0] for stack in stacks], np.uint32)
        missing = np.array([stack is None for stack in stacks], bool)
        for pid, tid in sorted(set(zip(pids.tolist(), tids.tolist(), strict=True))):
            chosen = np.flatnonzero((pids == pid) & (tids == tid))
            track = self._sink.thread_track(self._tree.holder(max(pid, 0), tid), "samples")
            attributes = {
                "stack": np.ma.MaskedArray(ids[chosen], missing[chosen]),
                "cpu": np.ma.MaskedArray(count_or_zero(cpus[chosen]), cpus[chosen] == MISSING),
            }
            self._sink.add(
                track,
                "sample",
                times[chosen],
                None,
                names[chosen],
                flags=int(Flag.ESTIMATED),
                attributes=attributes,
            )

    def _stack(self, state: int, callstack: int) -> tuple[int, int] | None:
        """The stack of an interned call stack, and its innermost frame."""
        key = state, callstack
        if key not in self._stacks:
            frames = self._sequences.named("callstack", state, callstack, [])[:_MOST_FRAMES]
            stack: int | None = None
            name = 0
            for frame in frames:
                name = self._builder.string(clean_text(self._frame(state, frame)))
                stack = self._builder.stack(name) if stack is None else self._builder.stack(name, stack)
            self._stacks[key] = None if stack is None else (stack, name)
        return self._stacks[key]

    def _frame(self, state: int, iid: int) -> str:
        function, mapping, address = self._sequences.named("frame", state, iid, (0, 0, 0))
        name = self._sequences.named("function", state, function, "")
        if name:
            return str(name)
        paths = self._sequences.named("mapping", state, mapping, [])
        file = str(self._sequences.named("path", state, paths[-1], "")) if paths else ""
        return f"{file or '?'}+{address & (1 << 64) - 1:#x}"

    def finish(self) -> None:
        """Says what was lost."""
        if self._lost_samples:
            self._builder.add_warning(
                english("The kernel lost {count:,} samples.", count=self._lost_samples), is_loss=True
            )


def _at(names: list[str], place: int) -> str:
    return names[place] if 0 <= place < len(names) else ""
