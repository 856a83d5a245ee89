"""NVTX in real programs: C with one and several shared objects, and the ``nvtx`` package, without a GPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import PAUSED, RECORDING, STOPPING, Session, names, states

from warpline.recording.sources.nvtx import records
from warpline.recording.sources.nvtx.pairing import match_push_pop, push_pop_records

RANGE = (records.NVTX_RANGE, records.nvtx_range)
RICH = (records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes)


def test_everything_a_c_program_says_arrives(session: Session, nvtx_program: Path) -> None:
    done = session.run(nvtx_program, "everything")
    # Levels of three pushes and their pops as NVTX defines them, and −1 for the pop that has no push.
    assert done.stdout.split() == ["0", "1", "1", "1", "1", "0", "-1"]
    spool = session.spool()
    plain = [
        spool.text(name) for name in spool.records(*RANGE).values["name"] if name < records.POPPED_UNSEEN
    ]
    assert plain == ["outer", "wide ü中😀", "plugin", "in the plugin"]
    rich = spool.records(*RICH).values
    assert [spool.text(name) for name in rich["name"]] == ["rich", "registered"]
    assert rich["color_argb"].tolist() == [0xFF102030, 0]
    assert rich["flags"].tolist() == [records.HAS_COLOR | records.HAS_CATEGORY, 0]
    assert rich["payload_type"].tolist() == [3, 5]
    assert rich["payload"][:1].view("<f8").tolist() == [2.5]
    assert rich["payload"][1:].view("<i4")[0] == -7
    categories = spool.records(records.NVTX_CATEGORY, records.nvtx_category).values
    assert [(int(row["category"]), spool.text(row["name"])) for row in categories] == [(5, "five")]
    threads = spool.records(records.NVTX_THREAD_NAME, records.nvtx_thread_name).values
    assert [(int(row["tid"]), spool.text(row["name"])) for row in threads] == [
        (spool.header.pid, "the main thread")
    ]
    assert names(spool, records.NVTX_MARK, records.nvtx_range_attributes) == ["registered", "mark"]
    assert names(spool, records.NVTX_START, records.nvtx_start) == ["first", "second"]
    assert len(spool.records(records.NVTX_END, records.nvtx_end).values) == 2
    assert (spool.header.lost, spool.header.error, spool.header.finished) == (0, 0, True)
    assert states(spool)["nvtx"] == (True, "", "")


REUSED = """
import ctypes, os
agent = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
agent.warpline_attach()
place = ctypes.create_string_buffer(20_000)
for text in (b"first", b"first", b"second", b"fir", b"", b"first", b"x" * 17_000, b"x" * 16_384, b"y", b"first one"):
    place.value = text
    agent.warpline_push(place, 0)
    agent.warpline_pop()
"""


def test_a_text_that_another_one_replaced_is_read_anew(session: Session) -> None:
    """The same pointer is no proof of the same name; names are cut after 16,384 bytes."""
    session.run(sys.executable, "-c", REUSED)
    spool = session.spool()
    pushed = [int(name) for name in spool.records(*RANGE).values["name"] if name < records.POPPED_UNSEEN]
    long = "x" * 16_384
    expected = ["first", "first", "second", "fir", "", "first", long, long, "y", "first one"]
    assert [spool.text(name) for name in pushed] == expected
    # One id for each text, however often and from wherever it was looked up.
    assert len(set(pushed)) == len(set(expected))


def test_two_shared_objects_share_domains_strings_and_levels(session: Session, nvtx_program: Path) -> None:
    session.run(nvtx_program, "everything")
    spool = session.spool()
    domains = spool.records(records.NVTX_DOMAIN, records.nvtx_domain).values
    assert [spool.text(name) for name in domains["name"]] == ["shared domain"]
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    level = {spool.text(int(name)): depth for name, depth in zip(ranges.name, ranges.level, strict=True)}
    # "registered" is open in the program when the plugin pushes to the domain both of them made.
    assert (level["registered"], level["in the plugin"]) == (0, 1)
    assert ranges.unbalanced == 1


def test_every_range_of_every_thread_is_there(session: Session, nvtx_program: Path) -> None:
    session.run(nvtx_program, "threads", "8", "20000")
    spool = session.spool()
    assert spool.header.lost == 0
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    assert len(ranges.name) == 8 * 20000 * 2
    assert not ranges.flags.any()
    per_thread = np.unique(ranges.serial, return_counts=True)[1]
    assert per_thread.tolist() == [40000] * 8


def test_threads_that_end_give_their_memory_back_and_keep_their_records(
    session: Session, nvtx_program: Path
) -> None:
    session.run(nvtx_program, "one-after-the-other", "300", "10")
    ranges = match_push_pop(push_pop_records(session.spool()), 0, 1 << 62)
    assert len(ranges.name) == 300 * 20
    assert len(np.unique(ranges.serial)) == 300
    assert not ranges.flags.any()


def test_a_killed_program_keeps_every_record(session: Session, nvtx_program: Path) -> None:
    session.run(nvtx_program, "die", "12345", status=-signal.SIGKILL)
    spool = session.spool()
    assert not spool.header.finished
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    assert len(ranges.name) == 2 * 12345 + 1
    assert [spool.text(int(name)) for name in ranges.name[ranges.flags != 0]] == ["never ends"]


def test_a_forked_child_has_a_file_of_its_own_that_needs_no_other(
    session: Session, nvtx_program: Path
) -> None:
    session.run(nvtx_program, "fork")
    parent, child = sorted(session.spools(), key=lambda spool: spool.header.monotonic_ns)
    assert child.header.parent_pid == parent.header.pid
    assert not (set(parent.strings.values()) - set(child.strings.values()) - {"nvtx"})
    domains = child.records(records.NVTX_DOMAIN, records.nvtx_domain).values
    assert [child.text(name) for name in domains["name"]] == ["shared domain"]
    ranges = match_push_pop(push_pop_records(child), 5, 1 << 62)
    known = sorted(child.text(int(name)) for name in ranges.name if name)
    assert known == ["inner"] * 3 + ["outer"] * 3
    assert (ranges.start_ns[ranges.name == 0] == 5).all(), "the range the parent opened begins with the file"
    assert child.header.pid in child.records(*RANGE).tid.tolist()


def test_a_program_without_a_session_runs_as_if_nothing_were_set(agent: Path, nvtx_program: Path) -> None:
    for folder in ("", "/nonexistent/spool", "relative"):
        environment = {**os.environ, "NVTX_INJECTION64_PATH": str(agent), "WARPLINE_SPOOL": folder}
        done = subprocess.run(
            [nvtx_program, "everything"], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["-2"] * 7
        assert done.stderr == ""


def test_strange_names_are_kept_as_far_as_they_go(session: Session, nvtx_program: Path) -> None:
    session.run(nvtx_program, "strange-names")
    longest, broken, empty, none = names(session.spool(), records.NVTX_MARK, records.nvtx_range_attributes)
    assert longest == "x" * 16384
    assert broken == "\ufffd\ufffd not UTF-8"
    assert (empty, none) == ("", "")


def test_many_names_are_all_kept(session: Session, nvtx_program: Path) -> None:
    session.run(nvtx_program, "names", "30000")
    spool = session.spool()
    found = [name for name in spool.records(*RANGE).values["name"].tolist() if name < records.POPPED_UNSEEN]
    assert [spool.text(name) for name in found] == [f"name {number}" for number in range(30000)]


def say(program: subprocess.Popen[str], line: str) -> None:
    """Give a conversing program its next line, and wait until it has done it."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{line}\n")
    program.stdin.flush()
    assert program.stdout.readline() == "ok\n"


def finish(program: subprocess.Popen[str]) -> None:
    program.communicate(timeout=60)
    assert program.returncode == 0


def test_pause_and_resume_act_at_once_and_ranges_across_them_are_told_apart(
    session: Session, nvtx_program: Path
) -> None:
    program = session.start(nvtx_program, "converse")
    for line in ("push whole", "push ends in the pause"):
        say(program, line)
    session.set_state(PAUSED)
    for line in ("pop", "push unseen", "pop", "push begins in the pause"):
        say(program, line)
    session.set_state(RECORDING)
    for line in ("push after", "pop", "pop", "pop"):
        say(program, line)
    session.set_state(STOPPING)
    say(program, "push too late")
    finish(program)
    spool = session.spool()
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    found = {
        spool.text(int(name)) or "?": int(flags)
        for name, flags in zip(ranges.name, ranges.flags, strict=True)
    }
    assert found == {"whole": 0, "ends in the pause": 4, "?": 1, "after": 0}


def test_a_source_that_is_not_wanted_writes_nothing(session: Session, nvtx_program: Path) -> None:
    session.set_page(sources=1)
    session.run(nvtx_program, "everything")
    assert session.count(*RANGE) == 0


def test_a_capture_range_begins_and_ends_with_its_range(session: Session, nvtx_program: Path) -> None:
    session.set_page(state=PAUSED)
    program = session.start(nvtx_program, "converse", WARPLINE_CAPTURE_RANGE="nvtx:epoch")
    for line in ("push before", "pop", "push epoch"):
        say(program, line)
    assert session.page() == (RECORDING, 1)
    for line in ("push inside", "pop", "push epoch", "pop"):
        say(program, line)
    assert session.page() == (RECORDING, 1), "a range of the same name inside does not end it"
    say(program, "pop")
    assert session.page() == (PAUSED, 2)
    say(program, "push after")
    finish(program)
    spool = session.spool()
    ranges = match_push_pop(push_pop_records(spool), 0, 1 << 62)
    assert sorted(spool.text(int(name)) for name in ranges.name) == ["epoch", "epoch", "inside"]
    changes = spool.records(4, np.dtype([("time_ns", "<u8"), ("state", "<u4"), ("reason", "<u4")])).values
    assert changes["state"].tolist() == [RECORDING, PAUSED]


def test_the_end_of_a_range_does_not_undo_a_stop(session: Session, nvtx_program: Path) -> None:
    session.set_page(state=PAUSED)
    program = session.start(nvtx_program, "converse", WARPLINE_CAPTURE_RANGE="nvtx:epoch")
    say(program, "push epoch")
    session.set_state(STOPPING)
    say(program, "pop")
    say(program, "push epoch")
    assert session.page()[0] == STOPPING
    finish(program)


PYTHON = """
import nvtx, threading, os, sys

@nvtx.annotate("forward", color="red", domain="net", category="layers", payload=7)
def forward():
    with nvtx.annotate("layer"):
        pass

def work():
    for _ in range(100):
        forward()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
nvtx.push_range("pushed"); nvtx.pop_range()
started = nvtx.start_range("started", color=0x00ff00)
nvtx.mark("marked")
nvtx.end_range(started)
if os.fork() == 0:
    forward()
    os._exit(0)
os.wait()
"""


def test_the_nvtx_package_unmodified(session: Session) -> None:
    pytest.importorskip("nvtx")
    session.run(sys.executable, "-c", PYTHON)
    parent, child = sorted(session.spools(), key=lambda spool: spool.header.monotonic_ns)
    ranges = match_push_pop(push_pop_records(parent), 0, 1 << 62)
    count = dict(
        zip(*np.unique([parent.text(int(name)) for name in ranges.name], return_counts=True), strict=True)
    )
    assert count == {"forward": 300, "layer": 300, "pushed": 1}
    assert len(np.unique(ranges.serial)) == 4
    rich = parent.records(*RICH).values
    forward = rich[[parent.text(name) == "forward" for name in rich["name"]]]
    assert set(forward["payload"].tolist()) == {7}
    assert set((forward["color_argb"] & 0xFFFFFF).tolist()) == {0xFF0000}
    assert len(set(forward["domain"].tolist())) == 1
    assert forward["domain"][0] != 0
    categories = parent.records(records.NVTX_CATEGORY, records.nvtx_category).values
    assert "layers" in {parent.text(name) for name in categories["name"]}
    assert names(parent, records.NVTX_START, records.nvtx_start) == ["started"]
    assert names(parent, records.NVTX_MARK, records.nvtx_range_attributes) == ["marked"]
    inherited = match_push_pop(push_pop_records(child), 0, 1 << 62)
    assert sorted(child.text(int(name)) for name in inherited.name) == ["forward", "layer"]
