"""Who ended a wait: held against a look at every pair."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.recording.agent.test_waits import make_releases, make_waits

from warpline.model.waits import Function, WaitKind
from warpline.recording.agent.waits import Waits, match_releases
from warpline.recording.sources.osrt.endings import match_children, match_data, only_releases
from warpline.recording.spool.threads import ThreadTable
from warpline.storage import CaptureBuilder

small = st.integers(0, 40)


@given(
    st.lists(st.tuples(st.integers(0, 3), small, small, st.integers(1, 3)), max_size=10),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 90), st.integers(1, 3)), max_size=10),
)
def test_a_sole_release_has_no_other_during_the_wait(
    waiting: list[tuple[int, int, int, int]], given_back: list[tuple[int, int, int]]
) -> None:
    waits, releases = make_waits(waiting), make_releases(given_back)
    waits = replace(waits, release=match_releases(waits, releases))
    only = only_releases(waits, releases)
    for row in range(len(waits)):
        inside = (releases.object == waits.object[row]) & (releases.time_ns >= waits.start_ns[row])
        inside &= releases.time_ns <= waits.stop_ns[row]
        assert only[row] == (inside.sum() == 1)


def transfers(builder: CaptureBuilder, rows: list[tuple[str, Function, int, int]]) -> Waits:
    """Reads and writes (descriptor, function, start, stop), each by a thread of its own."""
    waits = make_waits(
        [(thread, start, stop - start, 1) for thread, (_t, _f, start, stop) in enumerate(rows)]
    )
    texts = [text for text, _function, _start, _stop in rows]
    kinds = [WaitKind.PIPE if text.startswith("pipe") else WaitKind.NETWORK for text in texts]
    functions = [function for _text, function, _start, _stop in rows]
    return replace(
        waits,
        text=np.array([builder.string(text) for text in texts], np.uint32),
        result=np.ones(len(rows), np.int64),
        kind=np.array(kinds, np.uint8),
        function=np.array(functions, np.uint8),
    )


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        ("pipe:[1]", "pipe:[1]"),
        ("socket:[1] 10.0.0.2:80 from 10.0.0.1:9", "socket:[2] 10.0.0.1:9 from 10.0.0.2:80"),
        ("socket: /run/own from /run/peer", "socket: /run/peer from /run/own"),
        ("socket:[7] paired with socket:[8]", "socket:[8] paired with socket:[7]"),
        # The child that inherited one end does not know what it is paired with.
        ("socket:[8]", "socket:[7] paired with socket:[8]"),
    ],
)
def test_a_read_ends_with_the_last_write_to_the_other_end(tmp_path: Path, reader: str, writer: str) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        waits = transfers(
            builder,
            [
                (reader, Function.READ, 10, 50),
                (writer, Function.SEND, 20, 25),
                (writer, Function.SEND, 40, 45),
                (writer, Function.SEND, 60, 65),
                ("pipe:[5]", Function.WRITE, 30, 35),
                ("socket:[9] 1.1.1.1:80 from 10.0.0.2:80", Function.WRITE, 41, 45),
                (reader, Function.READ, 46, 49),
            ],
        )
        read, write = match_data(waits, builder)
    assert list(zip(read.tolist(), write.tolist(), strict=True)) == [(0, 2)]


def test_a_thread_does_not_read_its_own_writes_to_a_socket(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        own = "socket:[1] 10.0.0.2:80 from 10.0.0.1:9"
        waits = transfers(builder, [(own, Function.READ, 10, 50), (own, Function.SEND, 20, 25)])
        read, _write = match_data(waits, builder)
    assert not len(read)


@pytest.mark.parametrize("listener", ["127.0.0.1:80", "0.0.0.0:80"])
def test_a_server_waits_for_the_client_that_connects(tmp_path: Path, listener: str) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        waits = transfers(
            builder,
            [
                (f"socket:[1] from {listener}", Function.POLL, 10, 50),
                ("socket:[2] 127.0.0.1:80 from 127.0.0.1:9", Function.CONNECT, 45, 48),
                ("socket:[3] 127.0.0.1:81 from 127.0.0.1:10", Function.CONNECT, 46, 47),
            ],
        )
        read, write = match_data(waits, builder)
    assert list(zip(read.tolist(), write.tolist(), strict=True)) == [(0, 1)]


def test_a_wait_for_several_descriptors_is_for_the_one_read_next(tmp_path: Path) -> None:
    server, client = "socket:[1] 1.1.1.1:9 from 1.1.1.1:80", "socket:[2] 1.1.1.1:80 from 1.1.1.1:9"
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        waits = transfers(
            builder,
            [
                ("anon_inode:[eventpoll]", Function.EPOLL_WAIT, 10, 50),
                (server, Function.RECV, 51, 52),
                (client, Function.SEND, 45, 48),
            ],
        )
        waits = replace(waits, thread=np.array([0, 0, 1]))
        read, write = match_data(waits, builder)
        timed_out = replace(waits, result=np.array([0, 1, 1]))
        assert not len(match_data(timed_out, builder)[0])
    assert list(zip(read.tolist(), write.tolist(), strict=True)) == [(0, 2)]


def test_a_child_that_ended_is_found_by_its_id_and_time() -> None:
    threads = ThreadTable()
    threads.add_fork(1, 70, 70, 60, 60)
    threads.add_exit(20, 70, 70)
    threads.add_fork(30, 70, 70, 60, 60)
    threads.add_exit(40, 70, 70)
    threads.add_fork(31, 71, 71, 60, 60)
    waits = make_waits([(9, 10, 12, 1), (9, 35, 10, 1), (9, 50, 10, 1)])
    waits = replace(
        waits, function=np.full(3, Function.WAIT, np.uint8), result=np.array([70, 70, 71], np.int64)
    )
    rows, found = match_children(waits, threads)
    deaths = [threads.threads[index].death_ns for index in found.tolist()]
    assert (rows.tolist(), deaths) == ([0, 1], [20, 40])
