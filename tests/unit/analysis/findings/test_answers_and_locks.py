"""Waits whose cause lies elsewhere: servers that answer late, locked databases, helpers that hold the GIL, files."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.findings.scenes import MS, PYTHON, Acts, Does, scene

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.catalogue.waits import ends_of_helpers
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.diagnose import diagnose, open_case
from warpline.analysis.findings.finding import Finding
from warpline.analysis.framework.selection import View
from warpline.model.waits import WaitKind

ASKS = ("ask (/src/client.py:9)",)
SERVES = (f"BaseRequestHandler.__init__ ({PYTHON}/socketserver.py:755)",)


def findings_of(path: Path, threads: list[Acts], start_utc_ns: int = 0) -> dict[str, Finding]:
    meta = {"start_utc_ns": start_utc_ns} if start_utc_ns else {}
    with scene(path, threads, meta=meta) as capture:
        return {finding.id: finding for finding in diagnose(View(capture)).findings}


@pytest.mark.parametrize(
    ("process", "server", "client", "is_answer"),
    [
        (1, (), ASKS, True),
        (0, SERVES, ASKS, True),
        (0, (), ASKS, False),
        (1, (), (f"Connection._recv ({PYTHON}/multiprocessing/connection.py:378)", *ASKS), False),
    ],
    ids=["another process", "a server library", "a thread of the program", "a worker behind a pipe"],
)
def test_the_sleep_of_a_server_that_answers_is_a_note(
    tmp_path: Path, process: int, server: tuple[str, ...], client: tuple[str, ...], is_answer: bool
) -> None:
    ask = Does(20 * MS, WaitKind.NETWORK, 1, client)
    sleep = Does(20 * MS, WaitKind.SLEEP, frames=("handle (/src/server.py:5)", *server))
    threads = [Acts((ask, Does(MS)) * 10), Acts((sleep, Does(MS)) * 10, process=process)]
    found = findings_of(tmp_path / "run.h5", threads)["waits_for_sleep"]
    assert (found.severity == "note") is is_answer
    assert ("the time that a server takes" in found.text) is is_answer


@pytest.mark.parametrize("is_absolute", [True, False])
def test_sleeps_until_multiples_of_a_period_keep_a_pace(tmp_path: Path, is_absolute: bool) -> None:
    # Both wake up late by some random time; only the first catches up in the next period.
    late = np.random.default_rng(4).integers(0, 2 * MS, 60).tolist()
    does, ahead = [], 0
    for delay in late:
        length = 20 * MS - ahead + delay if is_absolute else 20 * MS + delay
        does += [Does(length, WaitKind.SLEEP, frames=("meter (<string>:9)",)), Does(MS)]
        ahead = delay
    found = findings_of(tmp_path / "run.h5", [Acts(tuple(does))])["waits_for_sleep"]
    assert (found.severity == "note") is is_absolute


@pytest.mark.parametrize(
    ("joins_ms", "waits_for", "is_told"),
    [(3, WaitKind.JOIN, True), (3, WaitKind.CONDITION, True), (200, WaitKind.JOIN, False)],
)
def test_a_helper_that_works_until_it_is_told_would_end_sooner_without_the_gil(
    tmp_path: Path, joins_ms: int, waits_for: WaitKind, is_told: bool
) -> None:
    work = ("refresh (/src/app.py:4)",)
    loop = (Does(5 * MS, WaitKind.GIL, 1, ASKS), Does(MS, frames=ASKS))
    join = Does(joins_ms * MS, waits_for, 1, ("main (/src/app.py:20)",))
    threads = [Acts((*loop * 40, join, Does(MS))), Acts((Does((240 + joins_ms) * MS, frames=work),))]
    with scene(tmp_path / "run.h5", threads) as capture:
        case = open_case(View(capture))
        assert isinstance(case, Case)
        ends, gil = ends_of_helpers(case), case.segments.cause == Cause.GIL
        assert ends.any() == is_told
        assert (case.gain_ns(gil | ends) > 190 * MS) == is_told


def test_a_thread_that_gives_the_target_its_items_is_no_helper_that_is_told_to_stop(tmp_path: Path) -> None:
    get = Does(MS, WaitKind.CONDITION, 1, ("main (/src/app.py:20)",))
    loop = (Does(5 * MS, WaitKind.GIL, 1, ASKS), get, Does(MS, frames=ASKS))
    threads = [Acts(loop * 40), Acts((Does(280 * MS, frames=("produce (/src/app.py:4)",)),))]
    with scene(tmp_path / "run.h5", threads) as capture:
        case = open_case(View(capture))
        assert isinstance(case, Case)
        assert not ends_of_helpers(case).any()


@pytest.mark.parametrize("sleeps_itself", [True, False])
def test_a_sleep_inside_sqlite_waits_for_a_locked_database(tmp_path: Path, sleeps_itself: bool) -> None:
    program = tmp_path / "shop.py"
    call = "time.sleep(0.02)" if sleeps_itself else "db.execute('BEGIN IMMEDIATE')"
    program.write_text(f"def refresh(db):\n    {call}\n")
    busy = (f"refresh ({program}:2)",)
    writes = Does(
        MS, WaitKind.FILE, None, ("store (/src/shop.py:8)",), 0, False, 64, "pwrite", "/data/shop.db-wal"
    )
    asks = Does(20 * MS, WaitKind.NETWORK, None, ASKS)
    threads = [
        Acts((Does(20 * MS, WaitKind.SLEEP, frames=busy, function="nanosleep"), Does(MS)) * 10),
        Acts((asks, writes) * 10),
    ]
    found = findings_of(tmp_path / "run.h5", threads, time.time_ns() + 10**9)
    assert ("waits_for_lock" in found) is not sleeps_itself
    if not sleeps_itself:
        lock = found["waits_for_lock"]
        assert (lock.severity, lock.where.file, lock.where.line) == ("critical", str(program), 2)
        assert "SQLite sleeps 10 times" in lock.text
        assert "the thread that writes next is at ask (/src/client.py:9)" in lock.text


@pytest.mark.parametrize(("path", "is_said"), [("/data/x.npy", True), ("/dev/null", False)])
def test_a_file_that_a_library_opens_and_reads_each_time_is_named(
    tmp_path: Path, path: str, is_said: bool
) -> None:
    loads = (f"load ({PYTHON}/site-packages/numpy/lib/_npyio_impl.py:484)", "batch (/src/train.py:41)")
    opens = Does(MS, WaitKind.FILE, None, loads, 0, False, 3, "open", path)
    reads = Does(MS, WaitKind.FILE, None, (), 0, False, 4096, "read", path)
    threads = [Acts((opens, reads, Does(20 * MS, frames=loads)) * 12)]
    found = findings_of(tmp_path / "run.h5", threads)["hot_spot"]
    assert ("opening and reading the same file again" in found.text) is is_said
    assert found.where.line == 41
    assert (f"{path} is opened 12 times" in found.text) is is_said


POLLS = """
def run(self):
    while True:
        try:
            item = self.inbox.get_nowait()
        except Empty:
            time.sleep(0.01)
"""
TESTS = """
def run(path):
    # The loop changes nothing that it tests:
    # somebody else must.

    while not os.path.exists(path):
        time.sleep(0.01)
"""
PACES = """
def run(self):
    now = time.monotonic()
    self.level = self.level + (now - self.last) * self.rate
    if self.level < 1:

        time.sleep((1 - self.level) / self.rate)
"""


@pytest.mark.parametrize(
    ("source", "severity", "title"),
    [
        (POLLS, "critical", "Sleeping between questions (polling)"),
        (TESTS, "critical", "Sleeping between questions (polling)"),
        (TESTS.replace("not os.path.exists(path)", "time.time() < path"), "critical", "Sleeping"),
        (PACES, "note", "Sleeping to keep a pace"),
        (POLLS.replace("get_nowait", "next_line"), "critical", "Sleeping"),
    ],
    ids=["polling", "testing", "a delay", "a rate", "neither"],
)
def test_the_source_of_a_sleep_tells_what_it_is_for(
    tmp_path: Path, source: str, severity: str, title: str
) -> None:
    program = tmp_path / "app.py"
    program.write_text(source)
    sleep = Does(20 * MS, WaitKind.SLEEP, frames=(f"run ({program}:7)",))
    start_utc_ns = program.stat().st_mtime_ns + 1
    found = findings_of(tmp_path / "run.h5", [Acts((sleep, Does(MS)) * 10)], start_utc_ns)["waits_for_sleep"]
    assert (found.severity, found.title) == (severity, title)


@pytest.mark.parametrize(
    ("source", "sleeps", "each_ms", "severity"),
    [
        (POLLS, 10, 2, "warning"),
        (TESTS, 1, 20, "warning"),
        (POLLS.replace("get_nowait", "next_line"), 10, 2, "note"),
        (POLLS.replace("get_nowait", "next_line"), 4, 60, "note"),
        (POLLS.replace("get_nowait", "next_line"), 10, 60, "warning"),
        (POLLS.replace("get_nowait", "next_line"), 1, 100, "note"),
    ],
    ids=["it polls", "it tests", "little in all", "few", "one per item", "a pause"],
)
def test_a_few_short_sleeps_without_polling_are_a_note(
    tmp_path: Path, source: str, sleeps: int, each_ms: int, severity: str
) -> None:
    program = tmp_path / "app.py"
    program.write_text(source)
    sleep = Does(each_ms * MS, WaitKind.SLEEP, frames=(f"run ({program}:7)",))
    work = Does(4 * each_ms * MS, frames=("work (/src/work.py:1)",))
    start_utc_ns = program.stat().st_mtime_ns + 1
    found = findings_of(tmp_path / "run.h5", [Acts((sleep, work) * sleeps)], start_utc_ns)
    assert found["waits_for_sleep"].severity == severity


@pytest.mark.parametrize(
    ("first_ms", "imports_ms", "rest_ms", "severity"),
    [(20, 350, 630, "note"), (20, 600, 380, "warning"), (500, 350, 150, "warning")],
    ids=["at the start", "most of the range", "later"],
)
def test_imports_at_the_start_are_a_note_below_half_of_the_range(
    tmp_path: Path, first_ms: int, imports_ms: int, rest_ms: int, severity: str
) -> None:
    imports = ("_find_and_load (<frozen importlib._bootstrap>:1176)", "<module> (/src/main.py:3)")
    work = ("work (/src/main.py:9)",)
    does = [Does(MS, frames=work)] * first_ms + [Does(MS, frames=imports)] * imports_ms
    # Waits for a core do not make the start longer.
    does = [Does(100 * MS, ready=True), *does, *[Does(MS, frames=work)] * rest_ms]
    found = findings_of(tmp_path / "run.h5", [Acts(tuple(does))])
    assert found["imports"].severity == severity


def test_a_holder_is_named_by_what_it_does_inside_the_block(tmp_path: Path) -> None:
    """The sample nearest to the holder may be one of the line after the block; there the lock is not held."""
    program = tmp_path / "serve.py"
    program.write_text("def serve():\n    with lock:\n        encode()\n    reply()\n")
    inside, after, asks = (f"serve ({program}:{line})" for line in (3, 4, 2))
    waits = Does(10 * MS, WaitKind.LOCK, by=1, frames=(asks,), lock=1)
    holds = (Does(6 * MS, frames=(inside,)), Does(4 * MS, frames=(after,)), Does(MS, frames=(inside,)))
    threads = [Acts((waits, Does(MS, frames=("main (/src/main.py:1)",))) * 10), Acts(holds * 10)]
    lock = findings_of(tmp_path / "run.h5", threads, program.stat().st_mtime_ns + 1)["waits_for_lock"]
    assert (lock.where.file, lock.where.line, lock.time_ns) == (str(program), 3, 100 * MS)
    assert f"The lock is held at serve ({program}:3). It is requested at serve ({program}:2)." in lock.text


def test_samples_taken_in_waits_do_not_say_what_runs(tmp_path: Path) -> None:
    """Otherwise the line that waits would be the hottest one of a thread that is sampled mostly while it waits."""
    waits = Does(5 * MS, WaitKind.LOCK, by=1, frames=("take (/src/store.py:9)",), lock=1, sampled=True)
    works = (Does(20 * MS), Does(MS, frames=("pack (/src/store.py:10)",)), Does(20 * MS))
    threads = [Acts((*works, waits) * 5), Acts((Does(46 * MS, frames=("other (/src/other.py:1)",)),) * 5)]
    hot = findings_of(tmp_path / "run.h5", threads)["hot_spot"]
    assert (hot.where.line, hot.time_ns) == (10, 205 * MS)
    assert "(/src/store.py:10): 100 % of that time" in hot.text
