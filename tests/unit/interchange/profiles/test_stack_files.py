"""speedscope, collapsed stacks, pyinstrument, Firefox and samply: names, times and weights of small files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import (
    attributes,
    count,
    e,
    imported,
    rows,
    skipped,
    text_file,
    trace_file,
)
from tests.unit.interchange.profiles import profile_seeds as seeds
from tests.unit.interchange.profiles.stack_tools import stacks, weights

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.flame import Flame
from warpline.analysis.structure.stack_flame import stack_flame
from warpline.interchange import detect
from warpline.interchange.framework.value_times import steps_of
from warpline.storage import Capture

MS = 1_000_000


def opened(tmp_path: Path, content: bytes, name: str) -> Capture:
    path = text_file(tmp_path, content, "profile.bin")
    assert detect(path).name == name
    return imported(tmp_path, path)


@pytest.mark.parametrize("name", seeds.SEEDS)
def test_every_format_is_found_by_its_content(tmp_path: Path, name: str) -> None:
    importer, make = seeds.SEEDS[name]
    assert detect(text_file(tmp_path, make(), "x.bin")) is importer


def test_speedscope_events_are_ranges_and_samples_have_weights(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.speedscope_file(), "speedscope")
    loop, worker = "process/run.1/thread/0 loop.1/ranges", "process/run.1/thread/1 worker.1/samples"
    assert rows(capture, "range") == [
        ("main (a.py:1)", 1 * MS, 8 * MS, loop),
        ("work", 2 * MS, 3 * MS, loop),
    ]
    assert rows(capture, "sample") == [
        ("main (a.py:1)", 1000 * MS, 2000 * MS, worker),
        ("work", 3000 * MS, 3500 * MS, worker),
        ("work", 6500 * MS, 1000 * MS, worker),
    ]
    assert stacks(capture) == ["main (a.py:1)", *["main (a.py:1);work"] * 2]


def test_speedscope_profiles_may_come_before_their_frames_and_end_early(tmp_path: Path) -> None:
    document = json.loads(seeds.speedscope_file())
    turned = json.dumps({key: document[key] for key in ("name", "profiles", "shared")}).encode()
    capture = opened(tmp_path, turned, "speedscope")
    assert stacks(capture) == ["main (a.py:1)", *["main (a.py:1);work"] * 2]
    cut = seeds.speedscope_file().partition(b'"weights"')[0]
    capture = opened(tmp_path, cut, "speedscope")
    assert count(capture, "sample") == 3
    assert any("ends early" in warning for warning in capture.warnings)


def test_a_flame_graph_adds_up_the_weights_of_samples(tmp_path: Path) -> None:
    flame = stack_flame(View(opened(tmp_path, seeds.speedscope_file(), "speedscope")), "samples")
    assert isinstance(flame, Flame)
    assert (flame.unit, int(flame.total)) == ("ns", 6500 * MS)
    counted = stack_flame(View(opened(tmp_path, seeds.collapsed_stacks(), "collapsed")), "samples")
    assert isinstance(counted, Flame)
    assert (counted.unit, int(counted.total)) == ("samples", 28)


def test_collapsed_stacks_may_have_comments_and_a_damaged_line(tmp_path: Path) -> None:
    text = b"# written by hand\n// twice\na;b;c 1\na;b;c 1\na;b;d 4\na;b 5\ninvalid line\n"
    capture = opened(tmp_path, text, "collapsed")
    assert sorted(weights(capture)) == [1, 1, 4, 5]
    assert skipped(capture) == {"lines": 1}


@pytest.mark.parametrize(
    "first", ["<module> (app.py:1);main (app.py:9) 7", "[unknown];main 7", "{closure};main 7"]
)
def test_collapsed_stacks_may_begin_with_any_character(tmp_path: Path, first: str) -> None:
    # py-spy writes a line of a number alone for samples without a stack.
    capture = opened(
        tmp_path, f"{first}\nmain;load 2\nmain;load;read 1\n 10\nmain;work 3\n".encode(), "collapsed"
    )
    assert weights(capture) == [7, 2, 1, 3]


def test_collapsed_stacks_stand_side_by_side_on_the_row_they_name(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.collapsed_stacks(), "collapsed")
    assert sorted(zip(stacks(capture), weights(capture), strict=True)) == [
        ("java;main;[unknown]", 5),
        ("main (a.py:1)", 3),
        ("main (a.py:1);work (a.py:3)", 20),
    ]
    assert {row[3] for row in rows(capture)} == {
        "process/profile.1/thread/all threads.1/samples",
        "process/12.1/thread/thread (7): MainThread.1/samples",
    }
    assert capture.span == (0, 23 * MS)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_collapsed_stacks_may_have_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    content = seeds.collapsed_stacks().decode().encode(encoding)
    assert sum(weights(opened(tmp_path, content, "collapsed"))) == 28


def test_a_tree_of_pyinstrument_has_the_time_of_each_frame_itself(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.pyinstrument_tree(), "pyinstrument")
    assert stacks(capture) == ["main (a.py:1)", "main (a.py:1);work (a.py:3)"]
    assert weights(capture) == [500 * MS, 250 * MS]


def test_a_session_of_pyinstrument_has_every_sample_in_time_order(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.pyinstrument_session(), "pyinstrument")
    assert stacks(capture) == ["main (a.py:1)", "main (a.py:1);work (a.py:3)", "main (a.py:1)"]
    assert weights(capture) == [100 * MS, 200 * MS, 100 * MS]


def test_a_processed_profile_has_samples_markers_and_counters(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.firefox_profile(), "firefox")
    assert stacks(capture) == ["main (a.js:4)", "main (a.js:4);work [lib.so]", ""]
    assert [row[:3] for row in rows(capture, "range")] == [
        ("GC", MS, MS // 2),
        ("GC", 2 * MS, MS * 3 // 4),
    ]
    assert {row[3] for row in rows(capture)} == {
        "process/71.1/thread/72.1/ranges",
        "process/71.1/thread/72.1/samples",
    }
    (counter,) = capture.counters
    assert (counter.name, counter.unit, list(counter.values)) == ("malloc", "bytes", [100, 60])


def test_a_gecko_profile_has_samples_and_markers(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.gecko_profile(), "firefox")
    assert stacks(capture) == ["(root);f (a.js:3)", ""]
    assert [row[:3] for row in rows(capture, "range")] == [("load", MS, MS // 2)]


def test_samples_beside_the_events_of_a_chrome_trace(tmp_path: Path) -> None:
    samples = [{"cpu": 0, "pid": 1, "tid": 5, "ts": 10, "name": "cycles", "sf": 2, "weight": 1}]
    frames = {"1": {"name": "main"}, "2": {"name": "work", "parent": 1}}
    path = trace_file(tmp_path, [e("i", "begin", 1)], samples=samples, stackFrames=frames)
    capture = imported(tmp_path, path)
    assert count(capture, "sample") == 1
    assert attributes(capture, "cycles")["stack"] is not None
    assert stacks(capture) == ["main;work"]


def test_threads_without_a_number_are_shown_by_their_names(tmp_path: Path) -> None:
    capture = opened(tmp_path, seeds.speedscope_file(), "speedscope")
    assert [thread.label for thread in capture.threads] == ["loop", "worker"]


def test_a_thread_that_py_spy_knows_no_name_of_is_its_number(tmp_path: Path) -> None:
    document = json.loads(seeds.speedscope_file())
    document["profiles"][0]["name"] = 'Thread 3662 ""'
    capture = opened(tmp_path, json.dumps(document).encode(), "speedscope")
    assert capture.threads[0].name == "Thread 3662"


def test_mangled_frames_are_demangled(tmp_path: Path) -> None:
    capture = opened(tmp_path, b"main;_Z4axpyPfS_f [libapp.so] 5\nmain;_Znonsense 2\n", "collapsed")
    assert stacks(capture) == ["main;axpy(float*, float*, float) [libapp.so]", "main;_Znonsense"]


def test_weights_that_fit_no_timeline_count_as_nothing() -> None:
    assert steps_of([1e308, -1, 2, float("nan"), 1], "seconds").tolist() == [
        0,
        0,
        2_000_000_000,
        0,
        1_000_000_000,
    ]
