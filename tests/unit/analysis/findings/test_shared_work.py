"""Work that is shared among workers: who got too much, where it was divided, and which stage is the slowest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.analysis.findings.scenes import MS, PYTHON, Acts, Does, scene

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.wording import finding_lines, headline
from warpline.analysis.framework.selection import View
from warpline.model.waits import WaitKind

SPLIT = """\
def press(sizes, out):
    out.put(sum(map(typeset, sizes)))

def main():
    parts = halves()
    workers = [Process(target=press, args=(part, out)) for part in parts]
    for worker in workers:
        worker.start()
    print(sum(out.get() for _ in workers))
"""
SUBCLASS = """\
class Press(Thread):
    def run(self):
        work()

def main():
    workers = [Press(part) for part in parts]
"""
POOL = """\
def fetch(url):
    return ask(url)

def main():
    with ThreadPoolExecutor(2) as pool:
        print(list(pool.map(fetch, urls)))
"""
LATER = 4_000_000_000_000_000_000


def diagnosed(path: Path, threads: list[Acts], source: str = "") -> Diagnosis:
    """The diagnosis of threads whose frames lie in ``app.py`` beside the capture."""
    if source:
        (path.parent / "app.py").write_text(source)
        os.utime(path.parent / "app.py", ns=(10**18, 10**18))
    with scene(path, threads, meta={"start_utc_ns": LATER}) as capture:
        return diagnose(View(capture))


def place(diagnosis: Diagnosis) -> tuple[str, str, int | None]:
    first = diagnosis.findings[0]
    return first.id, first.where.function, first.where.line


def test_a_queue_filled_by_a_late_thread_leads_to_the_process_that_got_too_much(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    starts = f"BaseProcess.run ({PYTHON}/multiprocessing/process.py:108)"
    press = (f"typeset ({app}:9)", f"press ({app}:2)", starts)
    get = (f"Queue.get ({PYTHON}/multiprocessing/queues.py:103)", f"main.<locals>.<genexpr> ({app}:9)")
    # The thread that writes to the pipe starts when the work is done.
    writes = (f"Queue._feed ({PYTHON}/multiprocessing/queues.py:268)",)
    threads = [
        Acts((Does(10 * MS), Does(101 * MS, WaitKind.PIPE, 3, get), Does(200 * MS, WaitKind.PIPE, 4, get), Does(MS))),
        Acts((Does(100 * MS, frames=press), Does(2 * MS)), start=10 * MS, process=1),
        Acts((Does(300 * MS, frames=press), Does(2 * MS)), start=10 * MS, process=2),
        Acts((Does(2 * MS, frames=writes),), start=110 * MS, process=1),
        Acts((Does(2 * MS, frames=writes),), start=310 * MS, process=2),
    ]  # fmt: skip
    diagnosis = diagnosed(tmp_path / "halves.h5", threads, SPLIT)
    first = diagnosis.findings[0]
    assert place(diagnosis) == ("uneven_workers", "main", 6)
    assert f"mostly at typeset ({app}:9)" in first.text
    assert first.time_ns == pytest.approx(200 * MS, abs=2 * MS)
    assert first.gain_ns == pytest.approx(100 * MS, abs=2 * MS)
    assert diagnosis.budget is not None
    assert diagnosis.budget.unexplained_ratio < 0.05


@pytest.mark.parametrize(
    ("source", "frame", "line"),
    [
        (SPLIT.replace("Process", "threading.Thread"), "press ({app}:2)", 6),
        (SUBCLASS, "Press.run ({app}:3)", 6),
        # Two functions hand the task out, so neither is named.
        (SPLIT + SPLIT.replace("main", "again"), "press ({app}:2)", 9),
        ("", "press ({app}:2)", 9),
    ],
)
def test_an_uneven_split_names_the_line_that_divides_the_work(
    tmp_path: Path, source: str, frame: str, line: int
) -> None:
    app = tmp_path / "app.py"
    work = (frame.format(app=app), f"Thread._bootstrap_inner ({PYTHON}/threading.py:1045)")
    join = (f"Thread.join ({PYTHON}/threading.py:1119)", f"main ({app}:9)")
    threads = [
        Acts((Does(300 * MS, WaitKind.JOIN, 1, join), Does(MS))),
        Acts((Does(300 * MS, WaitKind.SLEEP, frames=work),)),
        Acts((Does(50 * MS, WaitKind.SLEEP, frames=work),)),
    ]
    assert place(diagnosed(tmp_path / "join.h5", threads, source)) == ("uneven_workers", "main", line)


def test_workers_that_take_turns_on_a_core_share_unevenly_all_the_same(tmp_path: Path) -> None:
    work = ("press (/src/app.py:2)", f"BaseProcess.run ({PYTHON}/multiprocessing/process.py:108)")
    runs, ready = Does(10 * MS, frames=work), Does(10 * MS, ready=True, frames=work)
    join = (f"BaseProcess.join ({PYTHON}/multiprocessing/process.py:149)", "main (/src/app.py:9)")
    threads = [
        Acts((Does(400 * MS, WaitKind.CHILD, 1, join), Does(MS))),
        Acts((runs, ready) * 20, process=1),
        Acts((ready, runs) * 5, process=2),
    ]
    diagnosis = diagnosed(tmp_path / "turns.h5", threads)
    first = diagnosis.findings[0]
    assert place(diagnosis) == ("uneven_workers", "main", 9)
    # Half of the time alone is spent without a core, which the other worker would have had to wait for, too.
    assert first.time_ns == pytest.approx(300 * MS, abs=10 * MS)
    assert first.gain_ns == pytest.approx(150 * MS, abs=10 * MS)


def test_a_pool_that_is_too_small_is_named_where_it_is_created(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    worker = f"_worker ({PYTHON}/concurrent/futures/thread.py:83)"
    result = (f"Future.result ({PYTHON}/concurrent/futures/_base.py:451)", f"main ({app}:6)")
    task = Does(20 * MS, WaitKind.SLEEP, frames=(f"fetch ({app}:2)", worker))
    main = Acts((Does(200 * MS, WaitKind.CONDITION, 1, result), Does(5 * MS)))
    diagnosis = diagnosed(tmp_path / "pool.h5", [main, *[Acts((task,) * 10)] * 2], POOL)
    assert place(diagnosis) == ("small_pool", "main", 5)
    assert f"20 times at fetch ({app}:2)" in diagnosis.findings[0].text


@pytest.mark.parametrize(("busy_ms", "is_slowest"), [(19, True), (8, False)])
def test_a_stage_that_always_works_is_the_slowest(tmp_path: Path, busy_ms: int, is_slowest: bool) -> None:
    runs = f"Thread.run ({PYTHON}/threading.py:982)"
    get = f"Queue.get ({PYTHON}/queue.py:171)"
    item = (
        Does(busy_ms * MS, frames=("decode (/src/app.py:5)", runs)),
        Does((20 - busy_ms) * MS, WaitKind.CONDITION, 2, (get, "decode (/src/app.py:4)", runs)),
    )
    takes = (Does(19 * MS, WaitKind.CONDITION, 1, (get, "main (/src/app.py:9)")), Does(MS))
    reads = Does(200 * MS, WaitKind.FILE, frames=("read (/src/app.py:1)", runs))
    diagnosis = diagnosed(tmp_path / "stages.h5", [Acts(takes * 10), Acts(item * 10), Acts((reads,))])
    assert (place(diagnosis) == ("slow_stage", "decode", 5)) == is_slowest


@pytest.mark.parametrize(
    ("cores", "has_gain", "source", "says"),
    [
        (4, True, "put(work(item))", "run several of it in parallel"),
        (2, False, "put(work(item))", "Every core works for this stage already"),
        (2, False, "put(zlib.compress(item))", "Every core works for this stage already"),
        (2, True, "put(copy.deepcopy(item))", "Copy only what changes"),
    ],
)
def test_a_stage_with_as_many_workers_as_cores_gains_nothing_from_more(
    tmp_path: Path, cores: int, has_gain: bool, source: str, says: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(f"def decode(items):\n    for item in items:\n        {source}\n")
    os.utime(app, ns=(10**18, 10**18))
    runs, get = f"Thread.run ({PYTHON}/threading.py:982)", f"Queue.get ({PYTHON}/queue.py:171)"
    # Other programs take half of the time of the cores.
    works, has_no_core = Does(20 * MS, frames=(f"decode ({app}:3)", runs)), Does(19 * MS, ready=True)
    asks = Does(MS, WaitKind.CONDITION, 3, (get, runs))
    one, other = (works, has_no_core, asks), (has_no_core, works, asks)
    takes = [
        (Does(19 * MS, WaitKind.CONDITION, by, (get, "main (/src/main.py:9)")), Does(MS)) for by in (1, 2)
    ]
    reads = Acts((Does(400 * MS, WaitKind.FILE, frames=("read (/src/read.py:1)", runs)),))
    threads = [Acts((*takes[0], *takes[1]) * 10), Acts(one * 10), Acts(other * 10), reads]
    with scene(tmp_path / "stages.h5", threads, meta={"start_utc_ns": LATER}, cores=cores) as capture:
        stage = next(found for found in diagnose(View(capture)).findings if found.id == "slow_stage")
    assert (stage.severity != "note", stage.gain_ns > 0) == (has_gain, has_gain)
    assert says in stage.remedy


def test_the_summary_names_work_before_waits_for_cores_of_others(tmp_path: Path) -> None:
    work = ("work (/src/app.py:4)",)
    threads = [Acts((Does(30 * MS, frames=work), Does(70 * MS, ready=True)) * 2)]
    diagnosis = diagnosed(tmp_path / "busy.h5", threads)
    assert headline(diagnosis) == (
        "python (71): 30 % of 200.0 ms went to: running, mostly work (/src/app.py:4). 70 % went to: waiting for a core."
    )
    lines = finding_lines(diagnosis.findings[0], "")
    assert lines[0].startswith("[note] Running code takes 60.00 ms of 200.0 ms (30 %).")
    assert lines[1] == "Fixing it saves up to 60.00 ms."


def test_waits_for_cores_that_the_program_uses_itself_go_with_the_work_that_is_removed(
    tmp_path: Path,
) -> None:
    work = ("work (/src/app.py:4)",)
    threads = [
        Acts((Does(30 * MS, frames=work), Does(70 * MS, ready=True)) * 2),
        Acts((Does(30 * MS, ready=True), Does(70 * MS, frames=("help (/src/app.py:9)",))) * 2),
    ]
    diagnosis = diagnosed(tmp_path / "busy.h5", threads)
    running = next(finding for finding in diagnosis.findings if finding.id == "hot_spot")
    assert running.gain_ns > 60 * MS
    assert "the 60.00 ms that it runs, and " in finding_lines(running, "")[1]


@pytest.mark.parametrize("is_serial", [True, False])
def test_a_worker_that_still_runs_when_its_result_arrives_had_not_begun_the_next_task(
    tmp_path: Path, is_serial: bool
) -> None:
    fetch = ("fetch (/src/app.py:5)", f"_worker ({PYTHON}/concurrent/futures/thread.py:83)")
    result = (f"Future.result ({PYTHON}/concurrent/futures/_base.py:451)", "main (/src/app.py:9)")
    waits = Does(20 * MS + MS // 2, WaitKind.CONDITION, 1, result), Does(MS // 2)
    task = Does(20 * MS, WaitKind.FILE, frames=fetch), Does(MS, frames=fetch)
    # One long wait was under way at every result: that work had begun.
    work = task * 6 if is_serial else (Does(126 * MS, WaitKind.FILE, frames=fetch),)
    diagnosis = diagnosed(tmp_path / "results.h5", [Acts(waits * 6), Acts(work)])
    ids = {finding.id for finding in diagnosis.findings}
    assert ("one_at_a_time" in ids) == is_serial


@pytest.mark.parametrize("giver", [0, 2])
def test_what_the_slowest_stage_does_is_named_with_its_remedy(tmp_path: Path, giver: int) -> None:
    app = tmp_path / "app.py"
    source = "def decode(items):\n    for item in items:\n        put(copy.deepcopy(item))\n"
    runs, get = f"Thread.run ({PYTHON}/threading.py:982)", f"Queue.get ({PYTHON}/queue.py:171)"
    item = (
        Does(19 * MS, frames=(f"decode ({app}:3)", runs)),
        Does(MS, WaitKind.CONDITION, giver, (get, f"decode ({app}:2)", runs)),
    )
    takes = (Does(19 * MS, WaitKind.CONDITION, 1, (get, "main (/src/app.py:9)")), Does(MS))
    reads = Does(200 * MS, WaitKind.FILE, frames=("read (/src/app.py:1)", runs))
    threads = [Acts(takes * 10), Acts(item * 10), Acts((reads,))]
    first = diagnosed(tmp_path / "stages.h5", threads, source).findings[0]
    # Whoever hands over an item and waits for its result calls a function: there is no pipeline.
    assert (first.id, first.where.line) == ("hot_spot" if giver == 0 else "slow_stage", 3)
    assert "goes to copying objects with copy.deepcopy" in first.text
    assert first.remedy.startswith("Copy only what changes")
