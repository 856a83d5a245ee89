"""Events of Linux's ftrace in a Perfetto trace: the scheduler, frequencies and idle states of cores, prints."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.messages.message_tables import MISSING, count_or_zero
from warpline.interchange.framework.pairing import match_borders
from warpline.interchange.framework.scheduling import SchedulerLog, raw_state
from warpline.interchange.perfetto.described_tracks import DescribedTracks
from warpline.interchange.perfetto.sequences import BOOTTIME, Packets, Sequences
from warpline.model import Flag
from warpline.model.track_factory import TrackSpec
from warpline.untrusted import number_in

Int64Array = npt.NDArray[np.int64]

_EVENT = "record.ftrace.event"
_COMPACT = "record.ftrace.compact"
_CLONE_THREAD = 0x10000
_UNKNOWN = "unknown"
_NOT_IDLE = (1 << 32) - 1


class Ftrace:
    """Collects the ftrace events of a trace."""

    def __init__(self, sink: EventSink, sequences: Sequences, tree: DescribedTracks) -> None:
        self._sink = sink
        self._sequences = sequences
        self._tree = tree
        self._names: dict[int, str] = {}
        self._process_of: dict[int, int] = {}
        self._scheduler = SchedulerLog(sink, self._thread)
        self._counters: defaultdict[tuple[int, str], list[tuple[Int64Array, Int64Array]]] = defaultdict(list)
        self._marks: list[tuple[int, int, str]] = []
        self._lost = 0

    def add(self, piece: Packets) -> None:
        """Reads the bundles of a piece, and the threads of the process tree."""
        self._read_tree(piece)
        tables = piece.tables
        if not tables.count("record.ftrace"):
            return
        self._lost += int((tables["record.ftrace.lost"] > 0).sum())
        cpus = count_or_zero(tables["record.ftrace.cpu"])
        self._add_compact(piece, cpus)
        if not tables.count(_EVENT):
            return
        time = self._sequences.on_trace_clock(BOOTTIME, tables[f"{_EVENT}.time"])
        cpu = cpus[tables.parent(_EVENT)]
        thread = count_or_zero(tables[f"{_EVENT}.thread"])
        parent = tables.parent(f"{_EVENT}.switch")
        prev, following = (count_or_zero(tables[f"{_EVENT}.switch.{name}"]) for name in ("prev", "next"))
        if len(parent):
            states = raw_state(count_or_zero(tables[f"{_EVENT}.switch.prev_state"]))
            self._scheduler.add_switches(time[parent], cpu[parent], prev, states, following)
            self._note_names(piece, prev, tables[f"{_EVENT}.switch.prev_comm"])
            self._note_names(piece, following, tables[f"{_EVENT}.switch.next_comm"])
        for table in ("waking", "wakeup", "new"):
            parent = tables.parent(f"{_EVENT}.{table}")
            woken = count_or_zero(tables[f"{_EVENT}.{table}.thread"])
            if len(parent):
                self._scheduler.add_wakeups(time[parent], woken, thread[parent])
                self._note_names(piece, woken, tables[f"{_EVENT}.{table}.comm"])
        for table in ("task", "rename"):
            self._note_names(
                piece, count_or_zero(tables[f"{_EVENT}.{table}.pid"]), tables[f"{_EVENT}.{table}.comm"]
            )
        parent = tables.parent(f"{_EVENT}.task")
        for creator, pid, flags in zip(
            thread[parent].tolist(),
            tables[f"{_EVENT}.task.pid"].tolist(),
            count_or_zero(tables[f"{_EVENT}.task.clone_flags"]).tolist(),
            strict=True,
        ):
            is_thread = flags & _CLONE_THREAD
            self._process_of.setdefault(pid, self._process_of.get(creator, pid) if is_thread else pid)
        for table, title in (("frequency", english("Frequency")), ("idle", english("Idle state"))):
            parent = tables.parent(f"{_EVENT}.{table}")
            core = count_or_zero(tables[f"{_EVENT}.{table}.cpu"])
            state = count_or_zero(tables[f"{_EVENT}.{table}.state"])
            for number in np.unique(core).tolist():
                chosen = core == number
                self._counters[number, title].append((time[parent][chosen], state[chosen]))
        parent = tables.parent(f"{_EVENT}.print")
        for when, tid, text in zip(
            time[parent].tolist(),
            thread[parent].tolist(),
            tables[f"{_EVENT}.print.text"].tolist(),
            strict=True,
        ):
            self._marks.append((when, tid, tables.text(text).rstrip("\n")))

    def _add_compact(self, piece: Packets, cpus: Int64Array) -> None:
        """Switches and wake-ups that are stored as lists of numbers, times as differences."""
        tables = piece.tables

        def lists(name: str) -> tuple[Int64Array, Int64Array]:
            return tables.parent(f"{_COMPACT}.{name}"), tables[f"{_COMPACT}.{name}.value"]

        text_of = dict[int, list[int]]()
        for bundle, code in zip(*(column.tolist() for column in lists("text")), strict=True):
            text_of.setdefault(bundle, []).append(code)
        for sort, others in (("switch", ("state", "next", "comm")), ("waking", ("thread", "comm"))):
            bundles, differences = lists(f"{sort}_time")
            columns = [lists(f"{sort}_{name}") for name in others]
            for number in np.unique(bundles).tolist():
                chosen = [values[parents == number] for parents, values in ((bundles, differences), *columns)]
                length = min(map(len, chosen))
                times, *rest = (values[:length] for values in chosen)
                time = self._sequences.on_trace_clock(BOOTTIME, np.cumsum(times))
                cpu = np.full(length, cpus[tables.parent(_COMPACT)[number]])
                names = [*text_of.get(number, []), MISSING]
                codes = np.array(names, np.int64)[np.clip(rest[-1], 0, len(names) - 1)]
                if sort == "switch":
                    # The thread that left the core is the one that came before.
                    prev = np.r_[np.int64(-1), rest[1][:-1]]
                    self._scheduler.add_switches(time, cpu, prev, raw_state(rest[0]), rest[1])
                    self._note_names(piece, rest[1], codes)
                else:
                    self._scheduler.add_wakeups(time, rest[0], np.full(length, -1))
                    self._note_names(piece, rest[0], codes)

    def _read_tree(self, piece: Packets) -> None:
        tables = piece.tables
        place = "record.tree.process"
        names: dict[int, str] = {}
        for parent, code in zip(
            tables.parent(f"{place}.cmdline").tolist(), tables[f"{place}.cmdline.value"].tolist(), strict=True
        ):
            names.setdefault(parent, tables.text(code))
        for row, pid in enumerate(tables[f"{place}.pid"].tolist()):
            self._process_of[pid] = pid
            self._tree.name(pid, None, names.get(row, "").rpartition("/")[2])
        place = "record.tree.thread"
        for tid, pid, name in zip(
            *(tables[f"{place}.{column}"].tolist() for column in ("tid", "pid", "name")), strict=True
        ):
            self._process_of[tid] = pid
            if name >= 0:
                self._names.setdefault(tid, tables.text(name))

    def _note_names(self, piece: Packets, tids: Int64Array, codes: Int64Array) -> None:
        named = np.flatnonzero((codes >= 0) & (np.abs(tids) < 1 << 31))
        count = len(piece.tables.texts) + 1
        for pair in np.unique(tids[named] * count + codes[named]).tolist():
            self._names[pair // count] = piece.tables.text(pair % count)

    def _thread(self, tid: int) -> Holder:
        pid: int | str | None = self._process_of.get(tid)
        if pid is None:
            pid = self._sink.process_of_thread(tid)
        if isinstance(pid, int):
            name = self._names.get(tid, "")
            self._tree.name(pid, tid, name)
            if tid == pid:
                self._tree.name_if_unknown(pid, name)
            return self._tree.holder(pid, tid)
        self._sink.process(_UNKNOWN, english("threads of unknown processes"))
        return self._sink.thread(_UNKNOWN, tid, self._names.get(tid, ""))

    def finish(self) -> None:
        """Adds everything to the capture."""
        self._scheduler.finish()
        group = self._sink.specs.cores()
        for (core, title), parts in sorted(self._counters.items()):
            times, values = (np.concatenate(column) for column in zip(*parts, strict=True))
            cores = self._sink.track(self._sink.specs.core(core), self._sink.track(group))
            spec = TrackSpec(
                uri=f"{self._sink.specs.core(core).uri}/counters/{title}", title=title, role="counter"
            )
            order = np.argsort(times, kind="stable")
            numbers = np.where(values == _NOT_IDLE, -1, values)[order].astype(np.float64)
            is_frequency = title == english("Frequency")
            self._sink.add_counter(
                self._sink.track(spec, cores),
                title,
                "Hz" if is_frequency else "",
                times[order],
                numbers * 1000 if is_frequency else numbers,
            )
        self._add_marks()
        if self._lost:
            self._sink.builder.add_warning(
                english(
                    "The kernel lost events before {count:,} of its buffers could be read.", count=self._lost
                ),
                is_loss=True,
            )

    def _add_marks(self) -> None:
        """Ranges and instants that programs wrote into ``trace_marker`` (``B|71|name``, ``E|71``, ``C|71|name|5``)."""
        rows: list[tuple[int, int, int, int]] = []
        counters: defaultdict[tuple[int, str], list[tuple[int, float]]] = defaultdict(list)
        string = self._sink.builder.string
        for time, tid, text in self._marks:
            sort, _, rest = text.partition("|")
            pid, _, name = rest.partition("|")
            if sort == "B" and name:
                self._process_of.setdefault(tid, number_in(pid, tid))
                rows.append((time, tid, 1, string(clean_text(name))))
            elif sort == "E":
                rows.append((time, tid, 0, -1))
            elif sort == "C" and (value := _number(name.rpartition("|")[2])) is not None:
                counters[
                    int(pid) if pid.isdecimal() and len(pid) < 10 else tid, name.rpartition("|")[0]
                ].append((time, value))
            else:
                rows.append((time, tid, 2, string(clean_text(text))))
        for (owner, name), values in counters.items():
            process = self._tree.holder(owner, None)
            track = self._sink.track(self._sink.specs.process_counter(process.uri, name, name), row=process)
            self._sink.add_counter(
                track,
                name,
                "",
                np.array([time for time, _ in values]),
                np.array([value for _, value in values]),
            )
        if not rows:
            return
        time, tid, action, name = np.array(rows, np.int64).T
        borders = np.flatnonzero(action < 2)
        pairs = match_borders(tid[borders], time[borders], action[borders] == 1, name[borders])
        opens = borders[pairs.begin]
        closed = pairs.end >= 0
        ends = (
            np.where(closed, time[borders[np.maximum(pairs.end, 0)]], time.max()) if len(borders) else opens
        )
        instants = np.flatnonzero(action == 2)
        chosen = np.r_[opens, instants]
        tids, places = np.unique(tid[chosen], return_inverse=True)
        tracks = np.array(
            [self._sink.thread_track(self._thread(number), "ranges") for number in tids.tolist()], np.int64
        )
        flags = np.r_[np.where(closed, 0, Flag.CUT_END), np.full(len(instants), Flag.INSTANT)].astype(
            np.uint8
        )
        self._sink.add(
            tracks[places.reshape(-1)],
            "range",
            time[chosen],
            np.r_[ends, time[instants]],
            name[chosen].astype(np.uint32),
            flags=flags,
        )
        self._sink.builder.add_skipped(
            english("ends of marks"), pairs.lone_ends, english("no range was open on the thread")
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
