"""Finds what ended a wait without a lock: a write, a connection or the end of a child, and how certain that is."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model.waits import Function, WaitKind
from warpline.recording.agent.waits import Releases, Waits
from warpline.recording.spool.threads import ThreadTable
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]

ONLY_RELEASE = english("the only release during the wait; certain")
LAST_RELEASE = english("the last release during the wait; likely")
WRITTEN = english("the last write before the read; likely")
CHILD = english("the child process that was waited for; certain")

_WRITES = (Function.WRITE, Function.PWRITE, Function.WRITEV, Function.SEND, Function.CONNECT)
_READS = (Function.READ, Function.PREAD, Function.READV, Function.RECV, Function.POLL, Function.ACCEPT)
_POLLS = (Function.POLL, Function.SELECT, Function.EPOLL_WAIT)
_TIME_BITS = 48  # nanoseconds of three days
_PAIR = re.compile(r"socket:\[(\d+)\] paired with socket:\[(\d+)\]")
_INODE = re.compile(r"socket:\[(\d+)\]")
_ANY_ADDRESS = ("0.0.0.0:", "[::]:", ":::")


def match_data(waits: Waits, builder: CaptureBuilder) -> tuple[Int64Array, Int64Array]:
    """Reads of pipes and sockets and the writes that ended them, indexes int64 [m] each.

    A read is matched with the last write that began during it, in any recorded process; waiting for a client with the
    connection that began during it. A wait for several descriptors is for the one that its thread reads next.
    """
    is_poll = np.isin(waits.function, _POLLS)
    is_stream = (waits.kind == WaitKind.PIPE) | (waits.kind == WaitKind.NETWORK) | is_poll
    rows = np.flatnonzero(is_stream)
    texts, which = np.unique(waits.text[rows], return_inverse=True)
    written, read, listened = _channels([builder.text(text) if text else "" for text in texts.tolist()])
    which = which.reshape(-1)
    function = waits.function[rows]
    is_write, is_read = np.isin(function, _WRITES), np.isin(function, _READS) | is_poll[rows]
    channel = np.where(is_write, written[which], read[which])
    channel = np.where(function == Function.CONNECT, listened[which], channel)
    # A wait that times out was ended by nobody.
    channel = np.where(is_poll[rows] & (waits.result[rows] == 0), -1, channel)
    polls = np.flatnonzero(is_poll[rows] & (channel < 0) & (waits.result[rows] != 0))
    channel[polls] = _read_next(waits, rows, polls, np.where(is_read & ~is_poll[rows], channel, -1))
    writes, reads = np.flatnonzero(is_write & (channel >= 0)), np.flatnonzero(is_read & (channel >= 0))
    if not len(writes) or not len(reads):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    origin = int(waits.start_ns.min())
    start, stop = waits.start_ns[rows] - origin, waits.stop_ns[rows] - origin
    keys = (channel[writes] << _TIME_BITS) + start[writes]
    order = np.argsort(keys)
    stream = channel[reads] << _TIME_BITS
    at = np.searchsorted(keys[order], stream + stop[reads], "right") - 1
    matched = at >= 0
    matched[matched] = keys[order[at[matched]]] >= stream[matched] + start[reads[matched]]
    return rows[reads[matched]], rows[writes[order[at[matched]]]]


def _read_next(waits: Waits, rows: Int64Array, polls: Int64Array, channel: Int64Array) -> Int64Array:
    """For each poll, the channel of the call that its thread makes next; −1 when that reads none."""
    thread, start = waits.thread[rows].astype(np.int64), waits.start_ns[rows]
    order = np.lexsort((start, thread))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    following = order[np.minimum(place[polls] + 1, len(order) - 1)]
    is_own = (following != polls) & (thread[following] == thread[polls])
    return np.where(is_own, channel[following], -1)


def _channels(texts: list[str]) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Numbers of the channels that a write to each descriptor goes to, that a read comes from, and that its connection
    goes to; −1 for none.
    """
    numbers: dict[tuple[str, str], int] = {}
    peers = {inode: peer for text in texts for inode, peer in _PAIR.findall(text)}
    peers |= {peer: inode for inode, peer in peers.items()}
    written, read, listened = (np.full(len(texts), -1, np.int64) for _ in range(3))
    for index, text in enumerate(texts):
        own = peer = ""
        if text.startswith("pipe:"):
            own = peer = text
        elif text.startswith("socket:"):
            inode = _INODE.match(text)
            own = inode[1] if inode else ""
            peer = peers.get(own, "")
            if not peer:
                peer, own = _addresses(text)
        if own and peer:
            written[index] = numbers.setdefault((own, peer), len(numbers))
            read[index] = numbers.setdefault((peer, own), len(numbers))
        elif (own and not text.startswith("socket:[")) or ":" in own:
            # A socket without a peer waits for clients.
            listener = _port(own) if own.startswith(_ANY_ADDRESS) else own
            read[index] = numbers.setdefault(("", listener), len(numbers))
    for index, text in enumerate(texts):
        peer = _addresses(text)[0] if text.startswith("socket:") else ""
        if peer:
            listened[index] = numbers.get(("", peer), numbers.get(("", _port(peer)), -1))
    return written, read, listened


def _addresses(text: str) -> tuple[str, str]:
    """The peer's address and the own one in a socket's text; empty without one."""
    peer, _from, own = (" " + text.partition(" ")[2]).partition(" from ")
    return peer.strip(), own


def _port(address: str) -> str:
    return ":" + address.rpartition(":")[2]


def match_children(waits: Waits, threads: ThreadTable) -> tuple[Int64Array, Int64Array]:
    """Completed waits for a child, and the child's last thread: indexes of waits and of threads, int64 [m] each."""
    waited = np.flatnonzero((waits.function == Function.WAIT) & (waits.result > 0) & ~waits.is_open)
    last: dict[int, list[tuple[int, int]]] = {}
    wanted = set(waits.result[waited].tolist())
    for index, life in enumerate(threads.threads):
        if (
            life.death_ns is not None
            and life.tid in wanted
            and threads.processes[life.process].pid == life.tid
        ):
            # The exit time of the kernel: the process may be seen as gone only after its parent was woken.
            exit_ns = life.death_ns if life.exit_ns is None else life.exit_ns
            last.setdefault(life.tid, []).append((exit_ns, index))
    rows: list[int] = []
    children: list[int] = []
    for row in waited.tolist():
        # The kernel records an exit before it wakes the parent. Ids may have been used before.
        deaths = [entry for entry in last.get(int(waits.result[row]), []) if entry[0] <= waits.stop_ns[row]]
        if deaths:
            rows.append(row)
            children.append(max(deaths)[1])
    return np.array(rows, np.int64), np.array(children, np.int64)


def only_releases(waits: Waits, releases: Releases) -> npt.NDArray[np.bool_]:
    """Whether the release that ended a wait was the only one of its object during the wait, bool [n]."""
    rows = np.flatnonzero(waits.release >= 0)
    result = np.zeros(len(waits), bool)
    if not len(rows):
        return result
    pairs = np.empty(len(releases), np.dtype([("process", "<u4"), ("object", "<u8")]))
    pairs["process"], pairs["object"] = releases.process, releases.object
    _pairs, group = np.unique(pairs, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    order = np.lexsort((releases.time_ns, group))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    before = place[waits.release[rows]] - 1
    earlier = order[np.maximum(before, 0)]
    same = (before >= 0) & (group[earlier] == group[waits.release[rows]])
    result[rows] = ~same | (releases.time_ns[earlier] < waits.start_ns[rows])
    return result
