"""ftrace text, pages of systrace, perf script and perf.data: what they hold, and what other tools printed of them."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.import_tools import attributes, count, imported, links, rows, skipped, text_file
from tests.unit.interchange.profiles import profile_seeds as seeds
from tests.unit.interchange.profiles.stack_tools import stacks, weights

from warpline.interchange import detect
from warpline.interchange.framework import scheduling
from warpline.interchange.framework.event_formats import parse_format
from warpline.interchange.ftrace import sections
from warpline.model import ImportFormatError
from warpline.storage import Capture

FTRACE = "ftrace/ARM-software+lisa/tests/assets/trace_txt/trace.txt"
CATAPULT = "ftrace/catapult-project+catapult"
PERF = "perf_data/google+perf_data_converter/src/quipper/testdata/perf.data"
SCRIPTS = {
    "perf_script/jlfwong+speedscope/sample/profiles/linux-perf/simple-with-header.linux-perf.txt": 136,
    "perf_script/janestreet+magic-trace/test/page_fault.perf": 489,
    "perf_script/janestreet+magic-trace/test/simple_gogo.perf": 61,
    "perf_script/microsoft+Microsoft-Performance-Tools-Linux-Android/TestData/Perf/perf.data.txt": 102,
}
_PRINTED = re.compile(
    r"^\s*(\S.*?)\s+(\d+)\s+(?:\[\d+\]\s+)?(\d+)\.(\d+):\s+(\d+)\s+([\w-]+):\s+([0-9a-f]+)", re.MULTILINE
)


@pytest.mark.parametrize("make", [seeds.ftrace_text, seeds.systrace_page])
def test_switches_marks_and_other_events_of_ftrace(tmp_path: Path, make: object) -> None:
    capture = imported(tmp_path, text_file(tmp_path, make()))  # type: ignore[operator]  # one of the seeds
    thread = "process/70.1/thread/71.1"
    base = 10_000_000_000
    assert [row[:3] for row in rows(capture, "thread_state") if row[3] == f"{thread}/state"] == [
        ("running", base + 200_000, 200_000),
        ("blocked", base + 400_000, 100_000),
        ("runnable", base + 500_000, 100_000),
        ("running", base + 600_000, 200_000),
    ]
    assert rows(capture, "range") == [
        ("frame", base + 250_000, 100_000, f"{thread}/ranges"),
        ("load", base + 300_000, 400_000, "process/70.1/async/events"),
        ("irq_handler_entry", base + 800_000, 0, f"{thread}/ranges"),
    ]
    assert attributes(capture, "irq_handler_entry")["payload"] == "irq=5 name=eth0"
    found = {counter.name: (counter.unit, list(counter.values)) for counter in capture.counters}
    assert found == {"Frequency": ("Hz", [1.2e9]), "queue": ("", [3])}


def test_lines_that_are_no_events_are_counted(tmp_path: Path) -> None:
    assert skipped(imported(tmp_path, text_file(tmp_path, seeds.ftrace_text()))) == {"lines": 1}


def test_switches_of_a_real_trace_are_all_there(tmp_path: Path, data_dir: Path) -> None:
    text = (data_dir / FTRACE).read_text()
    switched_to = re.findall(r"sched_switch: .*next_pid=(\d+)", text)
    assert len(switched_to) == 1856
    capture = imported(tmp_path, data_dir / FTRACE)
    cut = sum(int(flag) & 1 for flag in capture.events.flags[capture.kinds["cpu_slice"].rows].tolist())
    assert count(capture, "cpu_slice") == sum(pid != "0" for pid in switched_to) + cut
    assert capture.span[1] - capture.span[0] == 6_676_497_000  # LISA's time range
    names = {thread.tid: thread.name for thread in capture.threads}
    assert {1: "init", 9: "rcu_sched", 1639: "sshd"}.items() <= names.items()
    assert {tid for tid, name in names.items() if name == "sh"} <= {1642, 1702, 1717, 1718}
    assert links(capture, "wakeup") == {("running", "blocked"), ("running", "uninterruptible")}


def test_a_thread_that_ended_before_linux_4_14_is_not_stopped(tmp_path: Path, data_dir: Path) -> None:
    text = (data_dir / FTRACE).read_text()
    ended = {int(tid) for tid in re.findall(r"prev_pid=(\d+) prev_prio=\d+ prev_state=64 ", text)}
    assert len(ended) == 17
    capture = imported(tmp_path, data_dir / FTRACE)
    assert {row[0] for row in rows(capture, "thread_state")} == {
        "running", "runnable", "blocked", "uninterruptible"
    }  # fmt: skip
    last: dict[int, tuple[int, str]] = {}
    for name, start, _duration, uri in rows(capture, "thread_state"):
        thread = capture.track(uri).thread
        if thread is not None:
            tid = capture.threads[thread].tid
            last[tid] = max(last.get(tid, (start, name)), (start, name))
    # The first one ends with the first event, so nothing is known of it.
    assert len(ended & last.keys()) == 16
    assert {last[tid][1] for tid in ended & last.keys()} == {"running"}


RUN, SLEEP, WAIT, HALT, END, WORKER = (
    scheduling.RUNNABLE, scheduling.BLOCKED, scheduling.UNINTERRUPTIBLE, scheduling.STOPPED, scheduling.DEAD,
    scheduling.IDLE,
)  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "states"),
    [
        ([0, 1, 2, 64, 130, 4096, 4097], [RUN, SLEEP, WAIT, END, WAIT, RUN, SLEEP]),
        ([64, 1026, 1], [END, WORKER, SLEEP]),
        ([0, 1, 64], [RUN, SLEEP, END]),
        ([0, 1, 64, 256], [RUN, SLEEP, HALT, RUN]),
        ([16, 64, 4], [END, HALT, HALT]),
        ([128, 64, 32], [WORKER, HALT, END]),
    ],
)
def test_numbers_of_states_say_which_linux_wrote_them(numbers: list[int], states: list[int]) -> None:
    known = np.array([scheduling.raw_state(number) for number in numbers] + [scheduling.BLOCKED])
    assert scheduling.states_of(known).tolist() == [*states, scheduling.BLOCKED]


@pytest.mark.parametrize(
    ("printed", "is_old"),
    [
        ('print fmt: "%s", __print_flags(s, "|", { 32, "X" }, { 64, "x" }, { 128, "K" })', True),
        ('print fmt: "%s", __print_flags(s, "|", { 0x00000020, "Z" }, { 0x00000040, "P" })', False),
        ('print fmt: "prev_state=%d", REC->prev_state', None),
    ],
)
def test_formats_say_which_linux_wrote_the_states(printed: str, is_old: bool | None) -> None:
    form = parse_format(f"name: sched_switch\nID: 7\n{printed}\n")
    assert form is not None
    assert form.has_old_states is is_old
    assert scheduling.states_of(np.array([scheduling.raw_state(64)]), is_old).tolist() == [
        HALT if is_old is False else END
    ]


def test_marks_of_a_real_trace_are_ranges(tmp_path: Path, data_dir: Path) -> None:
    name = f"{CATAPULT}/systrace/systrace/test_data/decompressed_atrace_data.txt"
    text = (data_dir / name).read_text()
    capture = imported(tmp_path, data_dir / name)
    begun = len(re.findall(r"tracing_mark_write: [BS]\|", text))
    others = len(re.findall(r"tracing_mark_write: (?![BSECF]\b)", text))
    assert count(capture, "range") == begun + others
    values = re.findall(r"tracing_mark_write: C\|", text)
    assert sum(len(counter.values) for counter in capture.counters) == len(values)


@pytest.mark.parametrize("file", ["android_systrace.txt", "trivial_systrace.html"])
def test_pages_and_texts_of_android_open(tmp_path: Path, data_dir: Path, file: str) -> None:
    capture = imported(tmp_path, data_dir / CATAPULT / "tracing/test_data" / file)
    if file.endswith(".html"):
        assert sorted(len(counter.values) for counter in capture.counters) == [1, 1, 2]
    else:
        assert count(capture, "cpu_slice") > 30


def test_text_of_perf_script_has_stacks_and_switches(tmp_path: Path) -> None:
    capture = imported(tmp_path, text_file(tmp_path, seeds.perf_script()))
    assert stacks(capture) == ["main [app];smp_call [kernel.kallsyms]", "[kernel.kallsyms]"]
    assert weights(capture) == [1_001_001, 5]
    (running,) = [row for row in rows(capture, "thread_state") if row[0] == "running"]
    assert running[1:] == (264874_155_500_000, 200_000, "process/70.1/thread/71.1/state")


@pytest.mark.parametrize(("name", "samples"), SCRIPTS.items())
def test_every_sample_of_a_real_text_is_there(
    tmp_path: Path, data_dir: Path, name: str, samples: int
) -> None:
    assert count(imported(tmp_path, data_dir / name), "sample") == samples


@pytest.mark.parametrize(("piped", "endian"), [(False, "<"), (True, "<"), (False, ">"), (True, ">")])
def test_perf_data_has_samples_in_files_and_switches(tmp_path: Path, piped: bool, endian: str) -> None:
    content = seeds.perf_data(piped=piped, endian=endian)
    capture = imported(tmp_path, text_file(tmp_path, content, "perf.data"))
    assert stacks(capture) == [
        "0x2020 [app];0x2010 [app]",
        "0x2030 [app];0xffffffff80000123 [kernel.kallsyms]",
        "0x99 [unknown]",
    ]
    assert weights(capture) == [5, 7, 9]
    table = capture.kinds["sample"]
    events = [capture.strings[table.at(row)["event"]] for row in table.rows.tolist()]
    assert Counter(events) == {"cycles": 2, "instructions": 1}
    (running,) = [row for row in rows(capture, "thread_state") if row[0] == "running"]
    assert running[1:] == (1500, 3500, "process/70.1/thread/71.1/state")
    assert [thread.name for thread in capture.threads] == ["app"]
    assert any("3" in text and "lost" in text for text in capture.warnings)


@pytest.mark.parametrize("inherits", [False, True])
def test_a_sample_of_a_group_counts_each_of_its_events(tmp_path: Path, inherits: bool) -> None:
    content = seeds.grouped_perf_data(inherits=inherits)
    capture = imported(tmp_path, text_file(tmp_path, content, "perf.data"))
    table = capture.kinds["sample"]
    found = sorted(
        (int(capture.events.start[row]), capture.strings[table.at(row)["event"]], table.at(row)["weight"])
        for row in table.rows.tolist()
    )
    # What `perf script` prints: how far each count has come since the sample before, unless it stands still.
    assert found == [
        (2000, "cycles", 100),
        (2000, "instructions", 40),
        (3000, "cycles", 150),
        *([(3500, "cycles", 90), (3500, "instructions", 60)] if inherits else []),
        (4000, "cycles", 50),
        (4000, "instructions", 7),
    ]


@pytest.mark.parametrize("file", ["ctx_switch_namespaces-4.14", "singleprocess-3.8", "systemwide.0-3.4"])
def test_samples_of_perf_data_are_those_that_perf_script_prints(
    tmp_path: Path, data_dir: Path, file: str
) -> None:
    printed = data_dir / f"expected_tools/google+perf_data_converter__perf.data.{file}.perf_script.txt.gz"
    expected = Counter(
        (comm, int(tid), int(whole) * 10**6 + int(rest), int(period), event)
        for comm, tid, whole, rest, period, event, _ip in _PRINTED.findall(
            gzip.decompress(printed.read_bytes()).decode()
        )
    )
    capture = imported(tmp_path, data_dir / f"{PERF}.{file}")
    assert _samples(capture) == Counter(entry[1:] for entry in expected.elements())
    # Threads that changed their name have their last one.
    names = {thread.tid: thread.name for thread in capture.threads}
    assert all(names[tid] for _comm, tid, *_rest in expected if tid)


def _samples(capture: Capture) -> Counter[tuple[int, int, int, str]]:
    table = capture.kinds["sample"]
    found: Counter[tuple[int, int, int, str]] = Counter()
    for row in table.rows.tolist():
        values = table.at(row)
        thread = capture.tracks[capture.track_of_row(row)].thread
        assert thread is not None
        micros = int(capture.events.start[row]) // 1000
        tid = capture.threads[thread].tid
        found[tid, micros, values["weight"], capture.strings[values["event"]]] += 1
    return found


def test_trace_dat_has_switches_and_marks(tmp_path: Path) -> None:
    capture = imported(tmp_path, text_file(tmp_path, seeds.trace_dat()))
    thread = "process/70.1/thread/71.1"
    (running,) = [row for row in rows(capture, "thread_state") if row[0] == "running"]
    assert running[1:] == (1000, 600, f"{thread}/state")
    assert rows(capture, "range") == [("frame", 1100, 200, f"{thread}/ranges")]
    assert skipped(capture) == {"events of the kernel": 1}


@pytest.mark.parametrize("packing", ["none", "zlib", "zstd"])
def test_sections_of_a_newer_trace_dat_are_unpacked(tmp_path: Path, packing: str) -> None:
    packers: dict[str, Callable[[bytes], bytes] | None] = {"none": None, "zlib": zlib.compress}
    if packing == "zstd":
        arrow = pytest.importorskip("pyarrow")
        packers["zstd"] = lambda content: arrow.compress(content, codec="zstd", asbytes=True)
    capture = imported(tmp_path, text_file(tmp_path, seeds.trace_dat_7(packing, packers[packing])))
    thread = "process/70.1/thread/71.1"
    (running,) = [row for row in rows(capture, "thread_state") if row[0] == "running"]
    assert running[1:] == (1000, 600, f"{thread}/state")
    assert rows(capture, "range") == [("frame", 1100, 200, f"{thread}/ranges")]
    assert [row[3] for row in rows(capture, "cpu_slice")] == ["cpu/3"]
    assert skipped(capture) == {"events of the kernel": 1}


def test_a_trace_dat_that_cannot_be_read_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ImportFormatError, match="trace-cmd convert"):
        imported(tmp_path, text_file(tmp_path, seeds.trace_dat(b"8")))
    monkeypatch.setattr(sections, "_zstd", lambda: None)
    with pytest.raises(ImportFormatError, match="pip install zstandard"):
        imported(tmp_path, text_file(tmp_path, seeds.trace_dat_7("zstd")))


def test_switches_of_a_real_trace_dat_are_those_that_trace_cmd_prints(tmp_path: Path, data_dir: Path) -> None:
    printed = data_dir / "expected_tools/ARM-software+lisa__trace_stats.dat.trace-cmd_report.txt.gz"
    pattern = re.compile(r"\[(\d+)\] +(\d+)\.(\d+): sched_switch: .* ==> (\S.*):(\d+) \[")
    expected = Counter(
        (tid, int(cpu), int(whole) * 10**6 + int(rest))
        for cpu, whole, rest, _name, tid in pattern.findall(gzip.decompress(printed.read_bytes()).decode())
        if tid != "0"
    )
    capture = imported(tmp_path, data_dir / "ftrace/ARM-software+lisa/external/trappy/doc/trace_stats.dat")
    found: Counter[tuple[str, int, int]] = Counter()
    for name, start, _duration, uri in rows(capture, "cpu_slice"):
        if uri.startswith("cpu/"):
            # trace-cmd rounds to microseconds. Names change, numbers do not.
            found[name.rpartition("  ")[2], int(uri.removeprefix("cpu/")), (start + 500) // 1000] += 1
    assert expected - found == Counter()
    assert (found - expected).total() == 1  # what ran before the first switch


def test_a_trace_may_begin_with_the_idle_thread(tmp_path: Path) -> None:
    lines = seeds.ftrace_text().split(b"\n", 2)[2]
    assert lines.lstrip().startswith(b"<idle>")
    assert detect(text_file(tmp_path, lines)).name == "ftrace"
