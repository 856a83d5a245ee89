"""Rules about patterns of calls, on captures whose calls are known by construction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding
from warpline.analysis.framework.selection import View
from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import NO_STACK, CaptureBuilder, open_capture

MS = 1_000_000
SENDING, RECEIVING = "request (/src/client.py:16)", "request (/src/client.py:18)"


class Call(NamedTuple):
    """A call: its function, length in ns, result, line and object. From 1 ms on, the thread is blocked."""

    name: str
    length_ns: int
    result: int = 5
    frame: str = ""
    object: str = "socket:[7]"


def findings_of(
    path: Path, calls: Sequence[Call], kind: WaitKind, utc_ns: int | None = None
) -> dict[str, Finding]:
    """The findings by identifier of a thread that makes calls, each followed by 1 ms of running."""
    with CaptureBuilder(path) as builder:
        if utc_ns is not None:
            builder.meta.update(start_utc_ns=utc_ns)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state, osrt = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
            for role in ("state", "osrt")
        )
        starts = np.cumsum([0] + [call.length_ns + MS for call in calls])
        builder.set_span(0, int(starts[-1]))
        stacks = np.array(
            [builder.stack(builder.string(call.frame)) if call.frame else NO_STACK for call in calls]
        )
        lengths = np.array([call.length_ns for call in calls])
        builder.add_events(
            osrt, "osrt", starts[:-1], lengths, builder.strings([call.name for call in calls]),
            attributes={
                "wait": np.full(len(calls), kind, np.uint8),
                "return_value": np.array([call.result for call in calls], np.int64),
                "stack": np.ma.MaskedArray(stacks, stacks == NO_STACK),
                "object": builder.strings([call.object for call in calls]),
            },
        )  # fmt: skip
        blocked = lengths >= MS
        running_from = np.concatenate([[0], (starts[:-1] + lengths)[blocked]])
        running_to = np.concatenate([starts[:-1][blocked], starts[-1:]])
        running = builder.string("running")
        builder.add_events(
            state, "thread_state", running_from, running_to - running_from, [running] * len(running_from)
        )
        builder.add_events(
            state, "thread_state", starts[:-1][blocked], lengths[blocked],
            [builder.string("blocked")] * int(blocked.sum()),
            flags=np.full(int(blocked.sum()), Flag.IDLE, np.uint8),
            attributes={
                "wait": np.full(int(blocked.sum()), kind, np.uint8),
                "stack": np.ma.MaskedArray(stacks, stacks == NO_STACK)[blocked],
            },
        )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        return {finding.id: finding for finding in diagnose(View(capture)).findings}


def requests(sends: int, delays_ms: Sequence[float]) -> list[Call]:
    """Requests of some sends each, and answers that take so long."""
    calls = []
    for delay in delays_ms:
        calls += [Call("send", 20_000, frame=SENDING)] * sends
        calls.append(Call("recv", int(delay * MS), frame=RECEIVING))
    return calls


def test_two_small_sends_and_a_late_answer_show_delayed_acknowledgements(tmp_path: Path) -> None:
    found = findings_of(tmp_path / "run.h5", requests(2, [41] * 10), WaitKind.NETWORK)
    finding = found["delayed_acknowledgement"]
    assert finding.severity == "critical"
    assert (finding.where.file, finding.where.line) == ("/src/client.py", 16)
    assert "10 times two small sends" in finding.text
    assert finding.gain_ns == pytest.approx(410 * MS, rel=0.01)


def test_a_socket_with_a_timeout_waits_in_a_poll(tmp_path: Path) -> None:
    # Python polls before each call of such a socket, and the answer is there when it receives.
    local = "socket:[7] 127.0.0.1:80 from 127.0.0.1:4000"
    exchange = [
        Call("poll", 2_000, 1, SENDING, local), Call("send", 20_000, 8, SENDING, local),
        Call("poll", 2_000, 1, SENDING, local), Call("send", 20_000, 1471, SENDING, local),
        Call("poll", 42 * MS, 1, RECEIVING, local), Call("recv", 2_000, 5, RECEIVING, local),
    ]  # fmt: skip
    found = findings_of(tmp_path / "run.h5", exchange * 20, WaitKind.POLL)
    finding = found["delayed_acknowledgement"]
    assert "20 times two small sends" in finding.text
    assert finding.gain_ns == pytest.approx(840 * MS, rel=0.01)
    # No event loop is blamed for the polls of a blocking socket.
    assert "serial_requests" not in found
    # Beyond this machine, a send of 1471 bytes fills a segment and leaves at once.
    far = [call._replace(object="socket:[7] 10.0.0.2:80") for call in exchange * 20]
    assert "delayed_acknowledgement" not in findings_of(tmp_path / "far.h5", far, WaitKind.POLL)


@pytest.mark.parametrize(
    "calls",
    [
        requests(1, [41] * 10),
        requests(2, [80] * 10),
        requests(2, [41] * 3),
        requests(2, [36, 60] * 5),
        [call._replace(result=8000) for call in requests(2, [41] * 10)],
    ],
    ids=["one send", "a slow peer", "too few", "delays that vary", "large sends"],
)
def test_other_late_answers_are_no_delayed_acknowledgements(tmp_path: Path, calls: list[Call]) -> None:
    assert "delayed_acknowledgement" not in findings_of(tmp_path / "run.h5", calls, WaitKind.NETWORK)


def test_a_host_looked_up_again_and_again_is_named(tmp_path: Path) -> None:
    lookups = [Call("getaddrinfo", 5 * MS, 0, "get (/src/web.py:4)", "example.org")] * 20
    finding = findings_of(tmp_path / "run.h5", lookups, WaitKind.NETWORK)["repeated_lookups"]
    assert "example.org is looked up 20 times" in finding.text
    assert finding.where.line == 4
    assert "repeated_lookups" not in findings_of(tmp_path / "few.h5", lookups[:4], WaitKind.NETWORK)


def test_one_lookup_that_a_name_server_does_not_answer_is_no_repetition(tmp_path: Path) -> None:
    quick = [Call("getaddrinfo", 100_000, 0, "get (/src/web.py:4)", "often.example.org")] * 30
    slow = Call("getaddrinfo", 500 * MS, 0, "get (/src/web.py:4)", "rare.example.org")
    found = findings_of(tmp_path / "run.h5", [*quick, slow, *quick], WaitKind.NETWORK)
    assert "repeated_lookups" not in found
    finding = found["slow_lookup"]
    assert "a single lookup of a host name, rare.example.org, at get (/src/web.py:4)" in finding.text
    assert "all 61 lookups together take 506.0 ms" in finding.text
    assert finding.gain_ns == pytest.approx(500 * MS, rel=0.01)


def test_polls_that_time_out_are_a_note(tmp_path: Path) -> None:
    empty = Call("epoll_wait", 10 * MS, 0, "loop (/src/loop.py:9)")
    findings = findings_of(tmp_path / "run.h5", [empty] * 30, WaitKind.POLL)
    assert "serial_requests" not in findings
    finding = findings["empty_polls"]
    assert (finding.severity, finding.where.line) == ("note", 9)
    assert "30 waits" in finding.text
    useful = [empty, empty._replace(result=1)] * 30
    assert "empty_polls" not in findings_of(tmp_path / "useful.h5", useful, WaitKind.POLL)


def test_waits_for_files_count_calls_and_name_them(tmp_path: Path) -> None:
    calls = [Call("fsync", 2 * MS, 0, "save (/src/log.py:8)", "/data/log")] * 12
    finding = findings_of(tmp_path / "run.h5", calls, WaitKind.FILE)["waits_for_file"]
    assert "at save (/src/log.py:8): 12 fsync." in finding.text
    assert "once per batch" in finding.remedy


def exchanges(connections: int, requests_each: int) -> list[Call]:
    """Connections of a thread, each with a slow first reply and quick later ones."""
    calls = []
    for number in range(connections):
        thing = f"socket:[{number}] 127.0.0.1:80 from 127.0.0.1:{9000 + number}"
        calls.append(Call("connect", 20_000, 0, "open_session (/src/client.py:5)", thing))
        for request in range(requests_each):
            calls.append(Call("send", 20_000, frame="book (/src/client.py:8)", object=thing))
            calls.append(
                Call("recv", MS if request else 20 * MS, frame="book (/src/client.py:9)", object=thing)
            )
    return calls


def test_a_connection_for_each_request_costs_its_set_up(tmp_path: Path) -> None:
    found = findings_of(tmp_path / "run.h5", exchanges(20, 2), WaitKind.NETWORK)["connection_per_request"]
    assert (found.where.line, found.severity) == (5, "critical")
    assert "20 connections to 127.0.0.1:80" in found.text
    assert found.time_ns == pytest.approx(400 * MS, rel=0.2)


@pytest.mark.parametrize("calls", [exchanges(1, 40), exchanges(20, 8), exchanges(20, 1)])
def test_connections_that_are_kept_or_cheap_are_no_finding(tmp_path: Path, calls: list[Call]) -> None:
    assert "connection_per_request" not in findings_of(tmp_path / "run.h5", calls, WaitKind.NETWORK)


@pytest.mark.parametrize("is_read_back", [False, True])
@pytest.mark.parametrize(("count", "is_said"), [(60, True), (10, False)])
def test_a_file_written_again_for_each_change_is_named(
    tmp_path: Path, count: int, is_said: bool, is_read_back: bool
) -> None:
    calls = []
    for size in range(count):
        calls.append(Call("open", 2 * MS, 3, "save (/src/state.py:5)", "/data/state.json"))
        calls.append(Call("write", 100_000, 1000 + size, "save (/src/state.py:6)", "/data/state.json"))
        if is_read_back:
            calls.append(Call("write", 100_000, 1000, "save (/src/state.py:6)", "/data/state.json"))
            calls.append(Call("open", 2 * MS, 3, "save (/src/state.py:7)", "/data/state.json"))
    found = findings_of(tmp_path / "run.h5", calls, WaitKind.FILE)
    assert ("rewritten_file" in found) == is_said
    if is_said:
        assert "/data/state.json is opened and written again 60 times" in found["rewritten_file"].text
        assert found["rewritten_file"].where.file == "/src/state.py"


def test_timers_are_no_requests_and_the_inner_loop_awaits_them(tmp_path: Path) -> None:
    program = tmp_path / "sweep.py"
    program.write_text(
        "async def sweep(sensors):\n    return [await read(s) for s in sensors]\nasync def main():\n"
        "    for _ in range(8):\n        total += sum(await sweep(range(15)))\nasyncio.run(main())\n"
    )
    timer = Call("epoll_wait", 20 * MS, 0, f"<module> ({program}:6)", "anon_inode:[eventpoll]")
    utc_ns = program.stat().st_mtime_ns + 1
    finding = findings_of(tmp_path / "run.h5", [timer] * 30, WaitKind.POLL, utc_ns)["serial_requests"]
    assert (finding.title, finding.where.line) == ("Timers awaited one after another", 2)
    assert "timers (asyncio.sleep)" in finding.text
    assert "30 times, 20.00 ms each" in finding.text


@pytest.mark.parametrize(("at_once", "is_said"), [(1, True), (4, False)])
def test_replies_awaited_one_by_one_are_serial_requests(tmp_path: Path, at_once: int, is_said: bool) -> None:
    things = [f"socket:[{n}] 127.0.0.1:80 from 127.0.0.1:{9000 + n}" for n in range(at_once)]
    calls = [Call("connect", 20_000, 0, "ask (/src/client.py:5)", thing) for thing in things]
    for _ in range(40 // at_once):
        calls += [Call("send", 20_000, frame="ask (/src/client.py:7)", object=thing) for thing in things]
        for thing in things:
            calls.append(Call("epoll_wait", 20 * MS, 1, "main (/src/client.py:20)", "anon_inode:[eventpoll]"))
            calls.append(Call("recv", 20_000, object=thing))
    found = findings_of(tmp_path / "run.h5", calls, WaitKind.POLL)
    titles = {finding.title for finding in found.values()}
    assert ("Requests awaited one after another" in titles) == is_said
    if is_said:
        assert found["serial_requests"].where.line == 7


@pytest.mark.parametrize(
    ("asked", "is_said"),
    [(["send"], True), (["write"], True), ([], False)],
    ids=["a send each", "a write each", "the program only receives"],
)
def test_a_request_is_something_that_the_program_sends(
    tmp_path: Path, asked: list[str], is_said: bool
) -> None:
    local = "socket:[7] 127.0.0.1:80 from 127.0.0.1:4000"
    heard = Call("recv", 20 * MS, frame=RECEIVING)
    calls = [*(Call(name, 20_000, frame=SENDING, object=local) for name in asked), heard]
    # What is sent on another socket asks for nothing on this one.
    calls.append(Call("send", 20_000, frame=SENDING, object="socket:[77]"))
    found = findings_of(tmp_path / "run.h5", calls * 20, WaitKind.NETWORK)
    assert ("serial_requests" in found) is is_said
    assert ("waits_for_network" in found) is not is_said
