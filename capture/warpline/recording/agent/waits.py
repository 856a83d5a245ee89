"""Blocking calls that the agent recorded: the function, its object, the caller, and the release that ended each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.frames import parse_frame
from warpline.model.waits import KIND_OF_FUNCTION, WAIT_KINDS, Function, WaitKind
from warpline.recording.agent import records
from warpline.recording.agent.open_waits import open_calls
from warpline.recording.agent.python_stacks import NO_PLACE, PythonStacks
from warpline.recording.agent.samples import Samples
from warpline.recording.spool.columns import join, take
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.string_columns import capture_strings
from warpline.recording.spool.threads import ThreadLife, ThreadTable
from warpline.recording.symbols.callers import CallerNames
from warpline.recording.symbols.own_programs import is_interpreter
from warpline.storage import NO_STACK, CaptureBuilder

Int64Array = npt.NDArray[np.int64]
UInt32Array = npt.NDArray[np.uint32]

NOBODY = -1
_CONDITION = "Condition.wait ("
_JOIN = re.compile(
    r"^(Thread\.(join|_wait_for_tstate_lock)|_shutdown|_ThreadHandle\.join) \(.*threading\.py:\d+\)$"
)
_HOW_A_JOIN_BLOCKS = (WaitKind.UNKNOWN, WaitKind.LOCK, WaitKind.CONDITION, WaitKind.FUTEX)
SAME_MOMENT_NS = 2_000
"""Greatest difference between the kernel's time of a switch and the program's clock reading."""

_WITH_LINE = re.compile(r":\d+\)$")


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Calls that lasted longer than the threshold, columns [n] sorted by thread, then start.

    ``thread`` int64 indexes of threads; ``start_ns``, ``stop_ns`` CLOCK_MONOTONIC; ``process`` uint32 pid; ``object``
    uint64 address, descriptor or child; ``function`` and ``kind`` codes of `model.waits`; ``result`` int64;
    ``stack`` ids of the capture, `NO_STACK` for none; ``place`` (its most relevant frame), ``text``, ``caller``,
    ``task`` string ids; ``holder`` index of the thread that held the lock when the wait began, or released it,
    `NOBODY` if unknown; ``release`` index of the release that ended it, or −1; ``is_open`` bool: cut off by the end of
    the thread or of the recording; ``holder_place`` string id: where the holder released it, or where it was last
    sampled during the wait.
    """

    thread: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array
    process: UInt32Array
    object: npt.NDArray[np.uint64]
    function: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.uint8]
    result: Int64Array
    stack: UInt32Array
    place: UInt32Array
    text: UInt32Array
    caller: UInt32Array
    task: UInt32Array
    holder: Int64Array
    release: Int64Array
    is_open: npt.NDArray[np.bool_]
    holder_place: UInt32Array

    def __len__(self) -> int:
        return len(self.thread)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """Releases of locks that others waited for, and signals of conditions; columns [n] sorted by time.

    ``place`` is the innermost frame, ``own_place`` the most relevant one, usually of the program's own code.
    """

    thread: Int64Array
    time_ns: Int64Array
    process: UInt32Array
    object: npt.NDArray[np.uint64]
    stack: UInt32Array
    place: UInt32Array
    own_place: UInt32Array

    def __len__(self) -> int:
        return len(self.thread)


def read_waits(
    threads: ThreadTable, spools: Sequence[SpoolFile], builder: CaptureBuilder, stop_ns: int
) -> tuple[Waits, Releases]:
    """All calls and releases that the agents of all processes recorded until ``stop_ns``."""
    waits, releases, samples = [_no_waits()], [_no_releases()], []
    own_places = [_no_waits().place]
    callers = CallerNames()
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        calls = spool.records(records.OSRT_CALL, records.osrt_call)
        given = spool.records(records.OSRT_RELEASE, records.osrt_release)
        unfinished, unfinished_tid = open_calls(spool, threads, stop_ns)
        value = np.concatenate([calls.values, unfinished])
        if not len(value) and not len(given.values):
            continue
        stacks = PythonStacks(spool, builder)
        samples.append(Samples.of(spool, threads, stacks))
        pid = spool.header.pid
        tid = np.concatenate([calls.tid, unfinished_tid])
        start = value["start_ns"].astype(np.int64)
        text = capture_strings(spool, builder, value["text"])
        caller = capture_strings(spool, builder, value["caller"], callers.text)
        stack, place = _with_callers(builder, stacks, value["stack"], caller)
        own = stacks.own_places(value["stack"])
        own_places.append(np.where(own != NO_PLACE, own, place))
        held = value["holder"] != 0
        holder = np.full(len(value), NOBODY, np.int64)
        holder[held] = threads.lookup(pid, value["holder"][held], start[held])
        waits.append(
            Waits(
                thread=threads.lookup(pid, tid, start),
                start_ns=start,
                stop_ns=np.maximum(value["end_ns"].astype(np.int64), start),
                process=np.full(len(value), pid, np.uint32),
                object=value["object"].copy(),
                function=value["function"].astype(np.uint8),
                kind=_kinds(value["function"], _descriptor_kinds(spool, value["text"])),
                result=value["result"].copy(),
                stack=stack,
                place=place,
                text=text,
                caller=caller,
                task=capture_strings(spool, builder, value["task"]),
                holder=holder,
                release=np.full(len(value), -1, np.int64),
                is_open=np.arange(len(value)) >= len(calls.values),
                holder_place=np.zeros(len(value), np.uint32),
            )
        )
        moment = given.values["time_ns"].astype(np.int64)
        by_caller = (given.values["function"] & records.RELEASED_BY_CALLER) != 0
        from_stack = np.where(by_caller, 0, given.values["stack"])
        from_caller = np.where(by_caller, given.values["stack"], 0)
        caller = capture_strings(spool, builder, from_caller, callers.text)
        stack, place = _with_callers(builder, stacks, from_stack, caller)
        own = stacks.own_places(from_stack)
        releases.append(
            Releases(
                thread=threads.lookup(pid, given.tid, moment),
                time_ns=moment,
                process=np.full(len(moment), pid, np.uint32),
                object=given.values["object"].copy(),
                stack=stack,
                place=place,
                own_place=np.where(own != NO_PLACE, own, place),
            )
        )
    joined, freed = join(Waits, waits), join(Releases, releases)
    order = np.lexsort((-joined.stop_ns, joined.start_ns, joined.thread))
    joined = take(joined, order)
    freed = take(freed, np.argsort(freed.time_ns, kind="stable"))
    ended = _ended(joined, freed)
    kinds = _joins(_conditions(ended, freed, builder), builder)
    named = _named(kinds, freed, Samples.join(samples))
    return replace(named, place=np.concatenate(own_places)[order]), freed


def stacks_or_callers(
    spool: SpoolFile, builder: CaptureBuilder, ids: UInt32Array, callers: UInt32Array, names: CallerNames
) -> tuple[UInt32Array, UInt32Array]:
    """Capture ids of the Python stacks and places of records [n]; without a stack the place is the native caller.

    ``ids`` and ``callers`` are ids of the spool, ``names`` the callers read so far.
    """
    caller = capture_strings(spool, builder, callers, names.text)
    return _with_callers(builder, PythonStacks(spool, builder), ids, caller)


def _with_callers(
    builder: CaptureBuilder, stacks: PythonStacks, ids: UInt32Array, caller: UInt32Array
) -> tuple[UInt32Array, UInt32Array]:
    """Python stacks and places of calls [n]; without a stack the place is the native caller, and a frame of its own
    where its line is known.
    """
    stack, place = stacks.stacks(ids).filled(NO_STACK), stacks.places(ids).copy()
    native = np.flatnonzero((stack == NO_STACK) & (caller != NO_PLACE))
    for text in np.unique(caller[native]).tolist():
        # A function of the interpreter does not show where the program is.
        if not is_interpreter(parse_frame(builder.text(text)).module):
            rows = native[caller[native] == text]
            place[rows] = text
            if _WITH_LINE.search(builder.text(text)):
                stack[rows] = builder.stack(text)
    return stack, place


def _ended(waits: Waits, releases: Releases) -> Waits:
    """The waits with the release that ended each. The thread that released a semaphore counts as its unknown holder.

    A thread that has just given up the GIL and waits for it again is still listed as holder; that is removed.
    """
    release = match_releases(waits, releases)
    holder = np.where((waits.kind == WaitKind.GIL) & (waits.holder == waits.thread), NOBODY, waits.holder)
    if len(releases):
        unknown = (holder == NOBODY) & (waits.kind == WaitKind.LOCK) & (release >= 0)
        holder = np.where(unknown, releases.thread[release], holder)
    return replace(waits, release=release, holder=holder)


def _conditions(waits: Waits, releases: Releases, builder: CaptureBuilder) -> Waits:
    """The waits with semaphores that implement conditions marked as conditions without a holder.

    Python's conditions, events and queues wait so: the waiter holds the semaphore itself and another thread releases
    it. One that no thread releases is a lock taken twice, unless the Python frame is of a condition.
    """
    own = np.flatnonzero((waits.function == Function.SEMAPHORE) & (waits.holder == waits.thread))
    given = waits.release[own] >= 0
    given[given] = releases.thread[waits.release[own[given]]] != waits.thread[own[given]]
    places, which = np.unique(waits.place[own], return_inverse=True)
    known = np.array([builder.text(place).startswith(_CONDITION) for place in places.tolist()], bool)
    rows = own[given | known[which.reshape(-1)]] if len(own) else own
    kind, holder = waits.kind.copy(), waits.holder.copy()
    kind[rows], holder[rows] = WaitKind.CONDITION, NOBODY
    return replace(waits, kind=kind, holder=holder)


def _joins(waits: Waits, builder: CaptureBuilder) -> Waits:
    """The waits with those inside ``Thread.join`` marked as waits for the end of a thread, without a holder.

    Up to CPython 3.12 a join acquires a lock that the thread itself holds; later it waits for an event.
    """
    rows = np.flatnonzero(np.isin(waits.kind, _HOW_A_JOIN_BLOCKS))
    places, which = np.unique(waits.place[rows], return_inverse=True)
    known = np.array([bool(_JOIN.match(builder.text(place))) for place in places.tolist()], bool)
    rows = rows[known[which.reshape(-1)]] if len(rows) else rows
    kind, holder = waits.kind.copy(), waits.holder.copy()
    kind[rows], holder[rows] = WaitKind.JOIN, NOBODY
    return replace(waits, kind=kind, holder=holder)


def _named(waits: Waits, releases: Releases, samples: Samples) -> Waits:
    """The waits with the place of each holder."""
    release, holder = waits.release, waits.holder
    place = np.zeros(len(waits), np.uint32)
    released = release >= 0
    place[released] = releases.own_place[release[released]]
    rest = np.flatnonzero((place == 0) & (holder != NOBODY))
    place[rest] = samples.last_place(holder[rest], waits.start_ns[rest], waits.stop_ns[rest])
    return replace(waits, holder_place=place)


def match_releases(waits: Waits, releases: Releases) -> Int64Array:
    """The index of the release that ended each wait, int64 [n], −1 for none.

    It is the last release of the same object in the same process during the wait.
    """
    result = np.full(len(waits), -1, np.int64)
    if not len(waits) or not len(releases):
        return result
    of_wait, of_release = _groups(waits, releases)
    order = np.lexsort((releases.time_ns, of_release))
    # One sorted column of (group, time): 48 bits hold the times of three days.
    origin = int(min(waits.start_ns.min(), releases.time_ns.min()))
    keys = (of_release[order] << 48) + (releases.time_ns[order] - origin)
    at = np.searchsorted(keys, (of_wait << 48) + (waits.stop_ns - origin), "right") - 1
    ended = at >= 0
    ended[ended] = keys[at[ended]] >= (of_wait[ended] << 48) + (waits.start_ns[ended] - origin)
    result[ended] = order[at[ended]]
    return result


def cover(waits: Waits, thread: Int64Array, start_ns: Int64Array, stop_ns: Int64Array) -> Int64Array:
    """The index of the innermost call that contains each interval of a thread, int64 [n], −1 for none.

    ``thread`` [n] indexes of threads, ``start_ns`` and ``stop_ns`` CLOCK_MONOTONIC [n] in any order.
    """
    result = np.full(len(thread), -1, np.int64)
    if not len(waits):
        return result
    origin = int(min(waits.start_ns.min(), start_ns.min())) if len(start_ns) else 0
    keys = (waits.thread << 48) + (waits.start_ns - origin)
    at = np.searchsorted(keys, (thread << 48) + (start_ns - origin + SAME_MOMENT_NS), "right") - 1
    # Calls nest only through signal handlers: a few steps back find the outer one.
    for _step in range(4):
        open_ = (at >= 0) & (result < 0)
        open_[open_] = (waits.thread[at[open_]] == thread[open_]) & (
            waits.stop_ns[at[open_]] + SAME_MOMENT_NS >= stop_ns[open_]
        )
        result[open_] = at[open_]
        at = at - 1
    return result


def reasons(waits: Waits, threads: ThreadTable, builder: CaptureBuilder) -> UInt32Array:
    """A text for each wait, string ids [n]; equal waits share a text."""
    child = np.where(waits.kind == WaitKind.CHILD, waits.result, 0)
    columns = (waits.kind.astype(np.int64), waits.text.astype(np.int64), waits.holder, child)
    rows, inverse = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    texts = [
        _reason(kind, builder.text(text), None if holder == NOBODY else threads.threads[holder], child)
        for kind, text, holder, child in rows.tolist()
    ]
    return builder.strings(texts)[inverse.reshape(-1)] if texts else np.empty(0, np.uint32)


def _reason(kind: int, about: str, holder: ThreadLife | None, child: int) -> str:
    name = WAIT_KINDS[kind]
    if holder is not None:
        thread = f"{holder.name or 'thread'} ({holder.tid})"
        return english("{lock}, held by {thread}", lock=name, thread=thread)
    if child > 0:
        return english("child process {pid}", pid=child)
    if kind == WaitKind.FILE and about:
        return english("file {path}", path=about)
    if kind == WaitKind.TERMINAL and about:
        return english("terminal {path}", path=about)
    if kind == WaitKind.NETWORK and " " in about and " paired with " not in about:
        return english("network: {peer}", peer=about.partition(" ")[2])
    return name


def _groups(waits: Waits, releases: Releases) -> tuple[Int64Array, Int64Array]:
    """A number for each pair of process and object, for waits and for releases."""
    pairs = np.empty(len(waits) + len(releases), np.dtype([("process", "<u4"), ("object", "<u8")]))
    pairs["process"] = np.concatenate([waits.process, releases.process])
    pairs["object"] = np.concatenate([waits.object, releases.object])
    _pairs, numbers = np.unique(pairs, return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int64)
    return numbers[: len(waits)], numbers[len(waits) :]


def _kinds(functions: UInt32Array, descriptors: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Codes of `WaitKind` [n] for codes of functions; reads and writes get the kind of their descriptor [n]."""
    table = np.full(max(KIND_OF_FUNCTION) + 2, WaitKind.UNKNOWN, np.uint8)
    for function, kind in KIND_OF_FUNCTION.items():
        table[function] = kind
    kinds = table[np.minimum(functions, len(table) - 1)]
    return np.where(kinds == WaitKind.UNKNOWN, descriptors, kinds).astype(np.uint8)


def _descriptor_kinds(spool: SpoolFile, texts: UInt32Array) -> npt.NDArray[np.uint8]:
    """Codes of `WaitKind` for the texts of descriptors."""
    distinct, inverse = np.unique(texts, return_inverse=True)
    kinds = [descriptor_kind(spool.text(text)) for text in distinct.tolist()]
    return np.array(kinds or [WaitKind.FILE], np.uint8)[inverse.reshape(-1)]


def descriptor_kind(text: str) -> WaitKind:
    """The kind of a wait for a descriptor, by its link in /proc/PID/fd."""
    if text.startswith("pipe:"):
        return WaitKind.PIPE
    if text.startswith("socket:"):
        return WaitKind.NETWORK
    if text.startswith("anon_inode:"):
        return WaitKind.POLL
    if text.startswith(("/dev/pts/", "/dev/tty")):
        return WaitKind.TERMINAL
    return WaitKind.FILE


def _no_waits() -> Waits:
    long, short, code = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    address = np.empty(0, np.uint64)
    return Waits(
        thread=long,
        start_ns=long,
        stop_ns=long,
        process=short,
        object=address,
        function=code,
        kind=code,
        result=long,
        stack=short,
        place=short,
        text=short,
        caller=short,
        task=short,
        holder=long,
        release=long,
        is_open=code == 1,
        holder_place=short,
    )


def _no_releases() -> Releases:
    long, short = np.empty(0, np.int64), np.empty(0, np.uint32)
    return Releases(
        thread=long,
        time_ns=long,
        process=short,
        object=np.empty(0, np.uint64),
        stack=short,
        place=short,
        own_place=short,
    )
