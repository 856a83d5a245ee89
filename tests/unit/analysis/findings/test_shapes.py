"""A finding names the shape of a program first, and leaves its time to no other finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.findings.scenes import MS, PYTHON, Acts, Does, scene
from tests.unit.analysis.findings.test_engine import threads_capture

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.selection import Selection, View
from warpline.cli import main
from warpline.model.waits import WaitKind
from warpline.storage import open_capture

SLEEP, NETWORK, CONDITION, JOIN, LOCK, POLL = (
    WaitKind.SLEEP, WaitKind.NETWORK, WaitKind.CONDITION, WaitKind.JOIN, WaitKind.LOCK, WaitKind.POLL,
)  # fmt: skip
LOOP = (
    f"Handle._run ({PYTHON}/asyncio/events.py:80)",
    f"BaseEventLoop._run_once ({PYTHON}/asyncio/base_events.py:1922)",
    f"Runner.run ({PYTHON}/asyncio/runners.py:118)",
    "<module> (/src/app.py:20)",
)
IDLE_LOOP = (f"EpollSelector.select ({PYTHON}/selectors.py:468)", *LOOP[1:])
WORKER = (
    f"_WorkItem.run ({PYTHON}/concurrent/futures/thread.py:58)",
    f"_worker ({PYTHON}/concurrent/futures/thread.py:83)",
    f"Thread.run ({PYTHON}/threading.py:982)",
)
RESULT = (
    f"Condition.wait ({PYTHON}/threading.py:327)",
    f"Future.result ({PYTHON}/concurrent/futures/_base.py:451)",
    "<module> (/src/app.py:30)",
)
GET = (
    f"Condition.wait ({PYTHON}/threading.py:327)",
    f"Queue.get ({PYTHON}/queue.py:171)",
    "take (/src/app.py:40)",
)
PUT = (
    f"Condition.wait ({PYTHON}/threading.py:327)",
    f"Queue.put ({PYTHON}/queue.py:140)",
    "give (/src/app.py:50)",
)


def findings_of(path: Path, threads: list[Acts]) -> list[Finding]:
    with scene(path, threads) as capture:
        diagnosis = diagnose(View(capture))
    assert diagnosis.budget is not None
    assert sum(finding.time_ns for finding in diagnosis.findings) <= (
        diagnosis.budget.stop_ns - diagnosis.budget.start_ns
    )
    return list(diagnosis.findings)


def place(finding: Finding) -> str:
    return f"{finding.where.file}:{finding.where.line}"


def test_a_blocking_call_in_a_step_stops_the_event_loop(tmp_path: Path) -> None:
    step = Does(10 * MS, SLEEP, frames=("lookup (/src/app.py:3)", "handle (/src/app.py:7)", *LOOP))
    idle = Does(2 * MS, POLL, frames=IDLE_LOOP)
    first = findings_of(tmp_path / "loop.h5", [Acts((step, idle) * 10)])[0]
    assert (first.id, first.severity, place(first)) == ("blocks_event_loop", "critical", "/src/app.py:3")
    assert (first.time_ns, first.gain_ns) == (100 * MS, 90 * MS)
    assert first.text.startswith("10 blocking calls stop the event loop for 100.0 ms of 120.0 ms (83 %)")


def test_a_cell_of_a_notebook_may_block_the_loop_that_runs_it(tmp_path: Path) -> None:
    kernel = ("run_code (/x/site-packages/IPython/core/interactiveshell.py:9)", *LOOP)
    step = Does(10 * MS, SLEEP, frames=("lookup (/tmp/ipykernel_1/2.py:3)", *kernel))
    findings = findings_of(tmp_path / "cell.h5", [Acts((step,) * 10)])
    assert "blocks_event_loop" not in {finding.id for finding in findings}


def test_the_wait_of_an_event_loop_itself_blocks_nobody(tmp_path: Path) -> None:
    findings = findings_of(
        tmp_path / "idle.h5", [Acts((Does(90 * MS, POLL, frames=IDLE_LOOP), Does(10 * MS)))]
    )
    assert [(finding.id, finding.severity) for finding in findings] == [("waits_for_poll", "note")]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_pool_whose_workers_all_wait_is_too_small(tmp_path: Path, workers: int) -> None:
    task = Does(20 * MS, SLEEP, frames=("fetch (/src/app.py:5)", *WORKER))
    main = Acts((Does(200 * MS, CONDITION, 1, RESULT), Does(5 * MS)))
    first = findings_of(tmp_path / "pool.h5", [main, *[Acts((task,) * 10)] * workers])[0]
    assert (first.id, place(first), first.time_ns) == ("small_pool", "/src/app.py:5", 200 * MS)
    assert first.gain_ns == 180 * MS
    assert ("only worker" in first.text) == (workers == 1)


def test_a_pool_of_the_default_size_is_a_note(tmp_path: Path) -> None:
    # On one core, a ThreadPoolExecutor gets five workers by default.
    task = Does(20 * MS, SLEEP, frames=("fetch (/src/app.py:5)", *WORKER))
    main = Acts((Does(200 * MS, CONDITION, 1, RESULT), Does(5 * MS)))
    first = findings_of(tmp_path / "pool.h5", [main, *[Acts((task,) * 10)] * 5])[0]
    assert (first.id, first.severity) == ("small_pool", "note")
    assert "if what they wait for can serve more at once" in first.remedy


def test_a_pool_with_idle_workers_is_not_too_small(tmp_path: Path) -> None:
    task = Does(20 * MS, SLEEP, frames=("fetch (/src/app.py:5)", *WORKER))
    idle = Does(60 * MS, CONDITION, 0, (WORKER[1], WORKER[2]))
    main = Acts((Does(160 * MS, CONDITION, 1, RESULT), Does(5 * MS)))
    threads = [main, *[Acts((task, idle, task, idle))] * 4]
    assert "small_pool" not in {finding.id for finding in findings_of(tmp_path / "wide.h5", threads)}


def test_a_pool_that_waits_for_a_recorded_server_is_too_small(tmp_path: Path) -> None:
    ask = Does(20 * MS, NETWORK, 2, ("fetch (/src/app.py:5)", *WORKER))
    answers = Does(20 * MS, SLEEP, frames=("answer (/src/app.py:9)",))
    main = Acts((Does(200 * MS, CONDITION, 1, RESULT), Does(5 * MS)))
    threads = [main, Acts((ask,) * 10), Acts((answers,) * 10, process=1)]
    first = findings_of(tmp_path / "server.h5", threads)[0]
    assert (first.id, place(first), first.gain_ns) == ("small_pool", "/src/app.py:5", 180 * MS)


def test_a_worker_that_got_more_than_its_share_works_alone(tmp_path: Path) -> None:
    ask = ("send (/src/app.py:5)", *WORKER)
    answers = Does(200 * MS, SLEEP, frames=("answer (/src/app.py:9)",))
    main = Acts((Does(200 * MS, CONDITION, 1, RESULT), Does(5 * MS)))
    idle = Does(160 * MS, CONDITION, 0, WORKER)
    threads = [main, Acts((Does(200 * MS, NETWORK, 4, ask),))]
    threads += [Acts((Does(40 * MS, NETWORK, 4, ask), idle))] * 2
    first = findings_of(tmp_path / "uneven.h5", [*threads, Acts((answers,), process=1)])[0]
    assert (first.id, place(first)) == ("uneven_workers", "/src/app.py:30")
    assert first.time_ns == 160 * MS
    assert first.gain_ns == pytest.approx(107 * MS, abs=MS)


def test_a_lock_is_held_where_its_own_process_waits_for_a_peer(tmp_path: Path) -> None:
    get = ("get (/src/app.py:7)", "work (/src/app.py:3)")
    ask = Does(50 * MS, NETWORK, 3, ("ask (/src/app.py:8)", *get))
    threads = [
        Acts((Does(100 * MS, JOIN, 2), Does(MS))),
        Acts((ask,)),
        Acts((Does(50 * MS, LOCK, 1, get, lock=9), ask)),
        Acts((Does(100 * MS, SLEEP, frames=("answer (/src/app.py:9)",)),), process=1),
    ]
    first = findings_of(tmp_path / "held.h5", threads)[0]
    assert (first.id, place(first)) == ("waits_for_lock", "/src/app.py:8")


@pytest.mark.parametrize("is_paced", [True, False])
def test_a_sleep_that_keeps_a_pace_is_a_note(tmp_path: Path, is_paced: bool) -> None:
    works = [2, 5, 1, 4, 3] * 4
    does = []
    for work in works:
        sleep = 10 - work if is_paced else 8
        does += [Does(work * MS), Does(sleep * MS, SLEEP, frames=("frame (/src/app.py:4)",))]
    found = next(
        f for f in findings_of(tmp_path / "paced.h5", [Acts(tuple(does))]) if f.id == "waits_for_sleep"
    )
    assert (found.severity == "note") == is_paced


def test_two_sides_of_a_queue_that_wait_by_turns_need_more_room(tmp_path: Path) -> None:
    takes, slow = Does(40 * MS, CONDITION, 1, GET), Does(40 * MS, SLEEP, frames=("use (/src/app.py:41)",))
    gives, makes = Does(40 * MS, CONDITION, 0, PUT), Does(40 * MS, SLEEP, frames=("make (/src/app.py:51)",))
    threads = [Acts((takes, slow) * 3), Acts((makes, gives) * 3)]
    first = findings_of(tmp_path / "queue.h5", threads)[0]
    assert (first.id, place(first), first.gain_ns) == ("small_queue", "/src/app.py:50", 120 * MS)


def test_a_thread_for_each_item_costs_more_than_its_work(tmp_path: Path) -> None:
    start = Does(
        MS, CONDITION, 0, (
            f"Condition.wait ({PYTHON}/threading.py:327)", f"Event.wait ({PYTHON}/threading.py:629)",
            f"Thread.start ({PYTHON}/threading.py:969)", "<module> (/src/app.py:9)",
        ),
    )  # fmt: skip
    threads = [Acts((start, Does(MS, frames=("<module> (/src/app.py:9)",))) * 50)]
    threads += [
        Acts((Does(MS, SLEEP, frames=("work (/src/app.py:4)",)),), start=2 * MS * n + MS) for n in range(50)
    ]
    first = findings_of(tmp_path / "threads.h5", threads)[0]
    assert (first.id, place(first)) == ("thread_per_item", "/src/app.py:9")
    assert first.text.startswith("50 threads are started for single items")


@pytest.mark.parametrize("serves_itself", [True, False])
def test_threads_of_a_server_are_not_started_for_each_item_of_its_clients(
    tmp_path: Path, serves_itself: bool
) -> None:
    # The line that starts two workers waits for replies, too; the server starts a thread for each connection.
    start_frames = (f"Event.wait ({PYTHON}/threading.py:629)", f"Thread.start ({PYTHON}/threading.py:969)")
    server_frames = (
        f"ThreadingMixIn.process_request ({PYTHON}/socketserver.py:697)",
        f"BaseServer.serve_forever ({PYTHON}/socketserver.py:238)",
        "main (/src/app.py:92)",
    )
    handler_frames = (
        "do_GET (/src/app.py:12)",
        f"ThreadingMixIn.process_request_thread ({PYTHON}/socketserver.py:683)",
    )
    serves = Does(MS, CONDITION, 0, (*start_frames, *server_frames))
    idles = Does(3 * MS, POLL, frames=server_frames[1:])
    starts = Does(MS, CONDITION, 0, (*start_frames, "main (/src/app.py:92)"))
    asks = Does(3 * MS, NETWORK, 1, ("main (/src/app.py:92)",))
    closes = Does(
        MS, CONDITION, 1, (f"BaseServer.shutdown ({PYTHON}/socketserver.py:255)", "main (/src/app.py:95)")
    )
    roles = [Acts((*(starts, asks) * 60, closes)), Acts((serves, idles) * 60)]
    handlers = [
        Acts((Does(MS, SLEEP, frames=handler_frames if number % 2 else ()),), start=4 * MS * number + MS)
        for number in range(60)
    ]
    threads = [*(roles[::-1] if serves_itself else roles), *handlers]
    found = {finding.id for finding in findings_of(tmp_path / "server.h5", threads)}
    assert ("thread_per_item" in found) is serves_itself


def test_a_process_for_each_item_counts_processes(tmp_path: Path) -> None:
    wait = (
        f"Popen.wait ({PYTHON}/multiprocessing/popen_fork.py:43)",
        f"BaseProcess.join ({PYTHON}/multiprocessing/process.py:149)",
        "<module> (/src/app.py:6)",
    )  # fmt: skip
    threads = [Acts((Does(8 * MS, WaitKind.CHILD, frames=wait), Does(2 * MS)) * 20)]
    threads += [Acts((Does(8 * MS),), start=10 * MS * n, process=1 + n) for n in range(20)]
    first = findings_of(tmp_path / "processes.h5", threads)[0]
    assert (first.id, place(first)) == ("process_per_item", "/src/app.py:6")
    assert first.text.startswith("20 child processes are started for single items")


@pytest.mark.parametrize(("count", "is_said"), [(40, True), (8, False)])
def test_many_replies_awaited_one_by_one_are_serial_requests(
    tmp_path: Path, count: int, is_said: bool
) -> None:
    ask = (Does(10 * MS, NETWORK, frames=("ask (/src/app.py:12)", "<module> (/src/app.py:14)")), Does(MS))
    first = findings_of(tmp_path / "ask.h5", [Acts(ask * count)])[0]
    assert (first.id == "serial_requests") == is_said
    if is_said:
        assert (place(first), first.severity, first.gain_ns) == ("/src/app.py:12", "warning", 390 * MS)


def test_a_server_that_waits_for_clients_sends_no_requests(tmp_path: Path) -> None:
    accept = (f"socket.accept ({PYTHON}/socket.py:294)", "serve (/src/app.py:5)")
    findings = findings_of(
        tmp_path / "serve.h5", [Acts((Does(10 * MS, NETWORK, frames=accept), Does(MS)) * 40)]
    )
    assert [(finding.id, finding.severity) for finding in findings] == [("waits_for_network", "note")]


def test_objects_copied_between_processes_are_work_handed_over_by_value(tmp_path: Path) -> None:
    loads = Does(
        80 * MS, frames=(f"Queue.get ({PYTHON}/multiprocessing/queues.py:122)", "work (/src/app.py:4)")
    )
    main = Acts((Does(80 * MS, CONDITION, 1, RESULT), Does(20 * MS)))
    first = findings_of(tmp_path / "copies.h5", [main, Acts((loads,), process=1)])[0]
    assert (first.id, place(first), first.gain_ns) == ("copied_work", "/src/app.py:30", 80 * MS)


def test_threads_that_wait_again_at_once_were_woken_for_nothing(tmp_path: Path) -> None:
    wait = (f"Condition.wait ({PYTHON}/threading.py:327)", "worker (/src/app.py:8)")
    threads = [Acts((Does(100 * MS, JOIN, 1), Does(MS)))]
    threads += [Acts((Does(MS // 4, CONDITION, 0, wait), Does(MS // 4, frames=wait[1:])) * 200)] * 5
    findings = {finding.id: finding for finding in findings_of(tmp_path / "herd.h5", threads)}
    assert place(findings["vain_wake_ups"]) == "/src/app.py:8"
    assert findings["vain_wake_ups"].text.startswith("1,000 wake-ups of 5 threads")


def test_threads_that_are_woken_one_by_one_are_no_herd(tmp_path: Path) -> None:
    wait = (f"Condition.wait ({PYTHON}/threading.py:327)", "worker (/src/app.py:8)")
    threads = [Acts((Does(100 * MS, JOIN, 1), Does(MS)))]
    item = (Does(MS // 4, CONDITION, 0, wait), Does(MS // 4, frames=wait[1:]))
    threads += [Acts(item * 200, start=20_000 * number) for number in range(5)]
    assert "vain_wake_ups" not in {finding.id for finding in findings_of(tmp_path / "turns.h5", threads)}


def test_the_holder_of_a_lock_is_whoever_has_it_at_the_time(tmp_path: Path) -> None:
    # Thread 2 works elsewhere for 30 ms, while thread 3 holds the lock; then it gets the lock before thread 1 does.
    write = ("write (/src/app.py:18)",)
    threads = [
        Acts((Does(70 * MS, JOIN, 1), Does(MS))),
        Acts((Does(60 * MS, LOCK, 2, write, lock=9), Does(10 * MS))),
        Acts((
            Does(30 * MS, SLEEP, frames=("price (/src/app.py:13)",)), Does(10 * MS, LOCK, 3, write, lock=9),
            Does(20 * MS, SLEEP, frames=("write (/src/app.py:22)",)),
        )),
        Acts((Does(40 * MS, SLEEP, frames=("write (/src/app.py:22)",)),)),
    ]  # fmt: skip
    first = findings_of(tmp_path / "convoy.h5", threads)[0]
    assert (first.id, place(first), first.time_ns) == ("waits_for_lock", "/src/app.py:22", 60 * MS)


def test_joins_of_threads_that_all_run_are_not_one_at_a_time(tmp_path: Path) -> None:
    work = (f"select ({PYTHON}/selectors.py:1)", "work (/src/app.py:5)")
    main = Acts(
        (*(Does(20 * MS, JOIN, number, ("<module> (/src/app.py:9)",)) for number in (1, 2, 3, 4)), Does(MS))
    )
    running = [Acts((Does(20 * MS * number, WaitKind.FILE, frames=work),)) for number in (1, 2, 3, 4)]
    later = [
        Acts((Does(20 * MS, WaitKind.FILE, frames=work),), start=20 * MS * number + number)
        for number in range(4)
    ]
    ids = {finding.id for finding in findings_of(tmp_path / "running.h5", [main, *running])}
    assert "one_at_a_time" not in ids
    assert findings_of(tmp_path / "later.h5", [main, *later])[0].id == "one_at_a_time"


def test_threads_of_a_pipeline_that_are_joined_in_turn_are_not_one_at_a_time(tmp_path: Path) -> None:
    main = Acts(
        (*(Does(20 * MS, JOIN, number, ("run (/src/app.py:9)",)) for number in (1, 2, 3, 4)), Does(MS))
    )
    ask = ("ask (/src/app.py:5)",)
    # Each stage asks for its item when the one before has ended; it has waited for it since its start.
    stages = [
        Acts((Does((20 * number + 1) * MS, CONDITION, number or None, GET), Does(19 * MS, NETWORK, 5, ask)))
        for number in range(4)
    ]
    answers = Acts((Does(80 * MS, SLEEP, frames=("answer (/src/app.py:30)",)),), process=1)
    ids = {finding.id for finding in findings_of(tmp_path / "stages.h5", [main, *stages, answers])}
    assert "one_at_a_time" not in ids


# timeout(1) waits for the signal that its child has ended.
@pytest.mark.parametrize("wait", [WaitKind.CHILD, WaitKind.SIGNAL])
def test_a_launcher_is_not_the_subject(tmp_path: Path, wait: WaitKind) -> None:
    call = (f"call ({PYTHON}/subprocess.py:391)", "<module> (/src/launch.py:2)")
    launcher = Acts((Does(10 * MS), Does(100 * MS, wait, frames=call), Does(2 * MS)))
    program = Acts(
        (Does(20 * MS), Does(75 * MS, SLEEP, frames=("work (/src/app.py:5)",))), 15 * MS, process=1
    )
    with scene(tmp_path / "launcher.h5", [launcher, program]) as capture:
        diagnosis = diagnose(View(capture))
    assert diagnosis.budget is not None
    assert (diagnosis.budget.waited_for, diagnosis.budget.start_ns, diagnosis.budget.stop_ns) == (
        "python (72)", 15 * MS, 110 * MS,
    )  # fmt: skip
    assert "not_recorded" not in {part.cause for part in diagnosis.budget.parts}
    assert diagnosis.notices == ("Left out: 17.00 ms before python (72) started and after it ended.",)


def test_a_program_that_waits_for_several_children_is_the_subject(tmp_path: Path) -> None:
    waits = Acts((Does(10 * MS), Does(100 * MS, WaitKind.CHILD, 1), Does(2 * MS)))
    children = [Acts((Does(90 * MS),), 15 * MS, process=number) for number in (1, 2)]
    with scene(tmp_path / "children.h5", [waits, *children]) as capture:
        budget = diagnose(View(capture)).budget
    assert budget is not None
    assert budget.waited_for == "python (71)"


def test_time_before_a_thread_started_was_recorded(tmp_path: Path) -> None:
    threads = [Acts((Does(100 * MS),)), Acts((Does(40 * MS),), start=30 * MS)]
    with scene(tmp_path / "late.h5", threads) as capture:
        view = View(capture, Selection(10 * MS, 90 * MS))
        budget = diagnose(view, of="process/71.1/thread/72.1/state").budget
    assert budget is not None
    assert {part.cause: part.time_ns for part in budget.parts} == {"running": 40 * MS, "not_alive": 40 * MS}


def test_an_exported_part_says_what_the_range_says_in_the_whole(tmp_path: Path) -> None:
    states = [(30 * MS, 0, 0, 0), (40 * MS, 2, int(SLEEP), 0), (30 * MS, 0, 0, 0)]
    steps = [(0, 95 * MS)]
    part = tmp_path / "part.h5"
    with threads_capture(tmp_path / "whole.h5", [states], steps) as whole:
        expected = diagnose(View(whole, Selection(40 * MS, 80 * MS))).budget
        assert main(["export", str(whole.path), "--range", "40ms:80ms", str(part)]) == 0
    with open_capture(part) as capture:
        budget = diagnose(View(capture)).budget
    assert budget is not None
    assert expected is not None
    assert (budget.start_ns, budget.stop_ns, budget.parts) == (40 * MS, 80 * MS, expected.parts)


@pytest.mark.parametrize(("error_ns", "is_known"), [(3 * MS, False), (MS, True)])
def test_no_bound_is_given_where_the_replay_misses_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error_ns: int, is_known: bool
) -> None:
    monkeypatch.setattr(WaitGraph, "baseline_error_ns", lambda _graph, _actor: error_ns)
    sleeps = Acts((Does(90 * MS, SLEEP, frames=("serve (/src/app.py:11)",)), Does(10 * MS)))
    sleep = findings_of(tmp_path / "bound.h5", [sleeps])[0]
    assert sleep.severity == "critical"
    assert bool(sleep.gain_ns) == is_known
    assert ("How much time a fix saves is unknown" in sleep.text) != is_known
