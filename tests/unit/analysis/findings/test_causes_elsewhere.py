"""Costs whose cause is on another line than the hot one, and work that goes on only when a timer ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.unit.analysis.findings.scenes import MS, PYTHON, Acts, Does, scene
from tests.unit.analysis.findings.test_call_patterns import Call, findings_of, requests
from tests.unit.analysis.findings.test_hot_spots import diagnosed

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.work.array_shapes import column_views, computes_with, object_arrays
from warpline.analysis.findings.work.outer_lines import bounded_cache, computes_log_arguments
from warpline.analysis.findings.work.source_lines import SourceFile, SourceLine
from warpline.analysis.framework.selection import View
from warpline.model.waits import WaitKind

PPRINT = f"pformat ({PYTHON}/pprint.py:60)"
WRITING = f"Logger._log ({PYTHON}/logging/__init__.py:1520)"


def line_of(source: str, number: int) -> SourceLine:
    line = SourceFile(source).line(number)
    assert line is not None
    return line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log.debug('%s', pformat(row))", True),
        ("self._logger.info(f'{row.total()}')", True),
        ("logging.debug('a' + b)", True),
        ("log.debug('%s', row)", False),
        ("catalog.debug(pformat(row))", False),
        ("log.exception(pformat(row))", False),
    ],
)
def test_a_log_call_whose_arguments_are_computed_is_seen(text: str, expected: bool) -> None:
    assert computes_log_arguments(line_of(f"{text}\n", 1)) is expected


@pytest.mark.parametrize("is_written", [False, True])
def test_arguments_of_a_message_that_is_not_written_are_named(tmp_path: Path, is_written: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "def accept(row):\n    log.debug('%s', describe(row))\ndef describe(row):\n    return pformat(row)\n"
    )
    describing = [PPRINT, f"describe ({program}:4)", f"accept ({program}:2)"]
    stacks = [describing] * 8 + [[f"accept ({program}:2)"]]
    if is_written:
        stacks.append([WRITING, f"accept ({program}:2)"])
    first = diagnosed(tmp_path / "run.h5", stacks, time.time_ns() + 10**9).findings[0]
    assert ("log calls whose message is not written" in first.text) is not is_written
    assert is_written or first.where.line == 2


def test_a_written_message_is_known_by_its_call_where_no_sample_shows_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("log.info('%s', evaluate(model))\n")
    evaluating = (PPRINT, f"<module> ({program}:1)")
    writing = (WRITING, f"Logger.info ({PYTHON}/logging/__init__.py:1489)", f"<module> ({program}:1)")
    emit = Does(MS // 100, WaitKind.FILE, None, writing, result=9, function="write", object="run.log")
    found = {}
    for name, does in (("none", ()), ("call", (emit,))):
        acts = [Acts((Does(50 * MS, frames=evaluating), *does, Does(50 * MS, frames=evaluating)))]
        with scene(tmp_path / f"{name}.h5", acts, meta={"start_utc_ns": time.time_ns() + 10**9}) as capture:
            found[name] = " ".join(finding.text for finding in diagnose(View(capture)).findings)
    assert "log calls whose message is not written" in found["none"]
    assert "log calls" not in found["call"]


CACHE = "{decorator}\ndef decode(key):\n    return work(key)\n"
MANUAL = """\
def tile(key):
    if key in CACHE:
        return CACHE[key]
    result = decode(key)
    CACHE[key] = result
    if len(CACHE) > 64:
        CACHE.pop(next(iter(CACHE)))
    return result
"""


@pytest.mark.parametrize(
    ("source", "number", "limit"),
    [
        (CACHE.format(decorator="@lru_cache(maxsize=64)"), 3, 1),
        (CACHE.format(decorator="@functools.lru_cache"), 3, 1),
        (CACHE.format(decorator="@lru_cache(maxsize=None)"), 3, None),
        (CACHE.format(decorator="@functools.cache"), 3, None),
        (MANUAL, 4, 6),
        (MANUAL.replace("        CACHE.pop(next(iter(CACHE)))\n", "        warn()\n"), 4, None),
    ],
)
def test_a_cache_with_a_limit_is_seen(source: str, number: int, limit: int | None) -> None:
    assert bounded_cache(line_of(source, number)) == limit


@pytest.mark.parametrize("is_lasting", [True, False])
def test_misses_that_never_end_show_a_cache_without_room(tmp_path: Path, is_lasting: bool) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        CACHE.format(decorator="@lru_cache(maxsize=64)") + "def draw(key):\n    use(decode(key))\n"
    )
    missing, drawing = [f"decode ({program}:3)", f"draw ({program}:5)"], [f"draw ({program}:5)"]
    stacks = [missing, missing, drawing] * 6 if is_lasting else [missing] * 12 + [drawing] * 12
    first = diagnosed(tmp_path / "run.h5", stacks, time.time_ns() + 10**9).findings[0]
    assert ("a size-limited cache dropped" in first.text) is is_lasting
    assert first.severity == "note"  # nothing shows that a key comes again
    assert not is_lasting or first.where.line == 1


OBJECTS = """\
import numpy as np
def read():
    rows = []
    rows.append(None)
    return rows
def load():
    raw = np.array(read(){type})
    return np.flatnonzero(raw), raw[raw != None]
def smooth(values):
    return values - values.mean()
def main():
    times, values = load()
    return smooth(values)
"""
COLUMNS = """\
import numpy as np
table = np.empty((1000, 48){order})
def score(j, weights):
    values = table[:, j]
    return (values * weights).sum()
"""


def test_arithmetic_on_arrays_of_objects_is_followed_to_where_they_are_made() -> None:
    found = object_arrays(source := SourceFile(OBJECTS.format(type="")))
    assert found is not None
    line, flow = found
    assert line == 7
    computing = [n for n in range(1, 14) if (at := source.line(n)) is not None and computes_with(at, flow)]
    assert {8, 10} <= set(computing)
    assert not {3, 4, 5} & set(computing)
    assert object_arrays(SourceFile(OBJECTS.format(type=", dtype=np.float64"))) is None
    assert object_arrays(SourceFile("import numpy as np\na = np.array(rows, dtype=object)\n")) is not None


@pytest.mark.parametrize(("made", "test"), [("", "is None"), (", dtype=float", "is None"), ("", "> 3")])
def test_rows_of_a_database_whose_values_may_be_none_make_an_array_of_objects(made: str, test: str) -> None:
    text = "import numpy as np\ndef load(db):\n    rows = db.execute('SELECT a, b').fetchall()\n"
    text += f"    return np.array(rows{made})\ndef main(db):\n    table = load(db)\n"
    text += "    for i, value in enumerate(table[:, 0]):\n"
    text += f"        if value {test}:\n            table[i, 0] = 1.0\n    return table.T.dot(table)\n"
    found = object_arrays(source := SourceFile(text))
    assert (found is not None) == (made == "" and test == "is None")
    if found is not None:
        line = source.line(10)
        assert found[0] == 4
        assert line is not None
        assert computes_with(line, found[1])


def test_a_list_of_another_function_with_the_same_name_holds_no_objects() -> None:
    text = "import numpy as np\ndef names():\n    rows = []\n    rows.append(None)\ndef load():\n    rows = [1.0]\n"
    assert object_arrays(SourceFile(f"{text}    return np.array(rows)\n")) is None
    assert object_arrays(SourceFile(f"{text}    rows.append(None)\n    return np.array(rows)\n")) is not None


def test_columns_of_an_array_that_other_code_makes_are_not_judged() -> None:
    text = "import numpy as np\ndef score(table, j):\n    return table[:, j].sum()\n"
    assert column_views(SourceFile(text)) is None
    assert column_views(SourceFile(f"{text}table = pd.read_csv(path).values\n")) is None
    assert column_views(SourceFile(f"{text}table = np.zeros((1000, 48))\n")) is not None


def test_names_that_are_assigned_to_each_other_are_followed_once() -> None:
    swaps = "".join(f"a{n} = a{m}\n" for n in range(30) for m in range(30))
    text = f"import numpy as np\n{swaps}a0 = np.zeros((9, 9))\nprint(a1[:, j])\n"
    found = column_views(SourceFile(text))
    assert found is not None
    assert found[0] == 902


def test_a_long_sum_and_an_empty_index_are_followed() -> None:
    total = "+".join(["a"] * 2000)
    source = SourceFile(f"import numpy as np\na = np.array([None])\nb = {total}\nc = a[()]\n")
    found, line = object_arrays(source), source.line(3)
    assert found is not None
    assert line is not None
    assert computes_with(line, found[1])
    assert column_views(source) is None


def test_columns_of_a_row_major_array_are_seen() -> None:
    found = column_views(source := SourceFile(COLUMNS.format(order="")))
    assert found is not None
    assert found[0] == 2
    line = source.line(5)
    assert line is not None
    assert computes_with(line, found[1])
    assert column_views(SourceFile(COLUMNS.format(order=', order="F"'))) is None
    assert column_views(SourceFile(COLUMNS.format(order="").replace("48", "3"))) is None
    assert column_views(SourceFile(COLUMNS.format(order="").replace(":, j", ":, 0"))) is None


def test_the_finding_names_where_the_array_is_made_and_keeps_the_time_of_a_fast_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(COLUMNS.format(order=""))
    stacks = [[f"score ({program}:5)"]] * 10
    first = diagnosed(tmp_path / "run.h5", stacks, time.time_ns() + 10**9).findings[0]
    assert first.where.line == 2
    assert first.gain_ns == pytest.approx(100 * MS * 7 / 8, rel=0.01)


def findings_in(path: Path, threads: list[Acts]) -> dict[str, Finding]:
    with scene(path, threads) as capture:
        return {finding.id: finding for finding in diagnose(View(capture)).findings}


def batching(result: int) -> list[Acts]:
    """A thread that waits 10 times for another one, which waits 50 ms for more each time."""
    posting = (f"Event.wait ({PYTHON}/threading.py:629)", "replay (/src/app.py:85)")
    lingering = (f"Condition.wait ({PYTHON}/threading.py:331)", "_take (/src/app.py:51)")
    return [
        Acts((Does(50 * MS, WaitKind.CONDITION, 1, posting), Does(MS, frames=posting[1:])) * 10),
        Acts((Does(50 * MS, WaitKind.CONDITION, None, lingering, result=result), Does(MS, frames=lingering[1:])) * 10),
    ]  # fmt: skip


def test_items_that_each_wait_for_a_timer_of_another_thread_are_named(tmp_path: Path) -> None:
    found = findings_in(tmp_path / "run.h5", batching(-110))["waits_for_timeout"]
    assert (found.severity, found.where.line) == ("critical", 85)
    assert "_take (/src/app.py:51)" in found.text
    assert found.gain_ns == pytest.approx(450 * MS, rel=0.05)
    assert "waits_for_timeout" not in findings_in(tmp_path / "woken.h5", batching(0))


@pytest.mark.parametrize("is_in_vain", [True, False])
def test_reads_that_end_by_a_timeout_after_all_data_has_come_are_named(
    tmp_path: Path, is_in_vain: bool
) -> None:
    calls = []
    for _ in range(8):
        calls += [
            Call("poll", 2_000, 1),
            Call("send", 20_000),
            Call("poll", 10 * MS, 1),
            Call("recv", 5_000, 300),
        ]
        expired = Call("poll", 100 * MS, 0, "query (/src/link.py:53)")
        # An answer that still comes afterwards was awaited.
        calls += [expired] if is_in_vain else [expired, Call("poll", 10 * MS, 1), Call("recv", 5_000, 300)]
    found = findings_of(tmp_path / "run.h5", calls, WaitKind.POLL)
    assert ("reads_until_timeout" in found) is is_in_vain
    if is_in_vain:
        assert (found["reads_until_timeout"].where.line, found["reads_until_timeout"].severity) == (
            53,
            "critical",
        )
        assert found["reads_until_timeout"].gain_ns == pytest.approx(800 * MS, rel=0.05)


def test_workers_that_read_until_a_timeout_beside_each_other_are_one_finding(tmp_path: Path) -> None:
    query = ("query (/src/link.py:53)",)

    def asks(number: int) -> tuple[Does, ...]:
        socket = f"socket:[{number}]"
        return (
            Does(MS, WaitKind.POLL, None, query, result=20, function="send", object=socket),
            Does(MS, WaitKind.POLL, None, query, result=300, function="recv", object=socket),
            Does(100 * MS, WaitKind.POLL, None, query, result=0, function="poll", object=socket),
        ) * 8  # fmt: skip

    length = sum(does.length for does in asks(1))
    joins = [
        (f"Thread.join ({PYTHON}/threading.py:1119)", f"main (/src/link.py:{line})") for line in (90, 91)
    ]
    main = Acts((Does(length, WaitKind.CONDITION, 1, joins[0]), Does(5 * MS, WaitKind.CONDITION, 2, joins[1]),
                 Does(MS, frames=joins[0][1:])))  # fmt: skip
    threads = [main, Acts(asks(1)), Acts((*asks(2), Does(5 * MS)))]
    found = findings_in(tmp_path / "run.h5", threads)["reads_until_timeout"]
    assert (found.severity, found.where.line) == ("critical", 53)
    assert found.gain_ns == pytest.approx(800 * MS, rel=0.05)  # not only what the path goes through


def test_sends_without_a_stack_are_found_from_where_the_answer_is_read(tmp_path: Path) -> None:
    program = tmp_path / "client.py"
    program.write_text(
        "def send(sock, body):\n    sock.sendall(head(body))\n    sock.sendall(body)\n"
        "def call(sock, body):\n    send(sock, body)\n    return sock.recv(9)\n"
    )
    calls = [
        call._replace(frame="" if call.name == "send" else f"call ({program}:6)")
        for call in requests(2, [41] * 9)
    ]
    found = findings_of(tmp_path / "run.h5", calls, WaitKind.NETWORK, time.time_ns() + 10**9)
    assert found["delayed_acknowledgement"].where.line == 2


@pytest.mark.parametrize(("workers", "severity"), [(2, "note"), (1, "critical")])
def test_a_semaphore_that_bounds_what_the_cores_can_do_is_a_note(
    tmp_path: Path, workers: int, severity: str
) -> None:
    asking = (f"Semaphore.acquire ({PYTHON}/threading.py:422)", "main (/src/app.py:9)")
    # Without rows of cores, the machine has one; a second worker that sleeps leaves it free.
    work = Does(200 * MS, frames=("seal (/src/app.py:4)",))
    rest = Does(200 * MS, WaitKind.SLEEP, frames=("fetch (/src/app.py:6)",))
    found = findings_in(
        tmp_path / "run.h5",
        [Acts((Does(200 * MS, WaitKind.LOCK, 1, asking), Does(MS))), Acts((work if workers == 2 else rest,))],
    )
    said = found["waits_for_semaphore" if workers == 2 else next(iter(found))]
    assert said.severity == severity
    assert ("keep all cores busy" in said.text) is (workers == 2)


def test_the_holder_of_a_lock_that_waits_for_a_server_is_named_where_it_has_the_lock(tmp_path: Path) -> None:
    asking = ("get (/src/app.py:48)",)
    holding = ("download (/src/app.py:43)", "get (/src/app.py:50)")
    found = findings_in(
        tmp_path / "run.h5",
        [
            Acts((Does(200 * MS, WaitKind.LOCK, 1, asking, lock=7), Does(200 * MS, WaitKind.NETWORK, 2, holding))),
            Acts((Does(200 * MS, WaitKind.NETWORK, 2, holding), Does(200 * MS, WaitKind.LOCK, 0, asking, lock=7))),
            Acts((Does(400 * MS, WaitKind.SLEEP, frames=("serve (/src/app.py:15)",)),)),
        ],
    )  # fmt: skip
    assert found["waits_for_lock"].where.line == 50


def test_the_sleep_of_one_side_of_a_queue_counts_for_the_queue(tmp_path: Path) -> None:
    getting = (f"Queue.get ({PYTHON}/queue.py:171)", "seal (/src/app.py:49)")
    putting = (f"Queue.put ({PYTHON}/queue.py:140)", "pull (/src/app.py:44)")
    ending = (f"Thread.join ({PYTHON}/threading.py:1119)", "main (/src/app.py:73)")
    fetch, work = Does(100 * MS, WaitKind.SLEEP, frames=("page (/src/app.py:26)",)), Does(100 * MS)
    found = findings_in(
        tmp_path / "run.h5",
        [
            Acts((Does(800 * MS, WaitKind.LOCK, 1, ending),)),
            Acts((fetch, Does(100 * MS, WaitKind.CONDITION, 2, putting)) * 4),
            Acts((Does(100 * MS, WaitKind.CONDITION, 1, getting), work) * 4),
        ],
    )
    assert "small_queue" in found
    assert "waits_for_sleep" not in found
