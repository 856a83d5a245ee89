"""Stacks that are nearly those of the wait before: what the agent remembers of one must not be told of the next."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.unit.recording.recording_tools import UNTIL_SAMPLED

import warpline

PROGRAM = """
import os, threading, time
def wait(time_s):
    time.sleep(time_s)
def first(how):
    list(map(how, [0.0005]))  # through C, so that the line stands still whatever is called
def second(how):
    list(map(how, [0.0005]))
def deep(how, depth=40):
    deep(how, depth - 1) if depth else how(0.0005)
def rests():
    time.sleep(0.7)
    time.sleep(0.3)  # another line, without having run for long
    time.sleep(0.5)
calls = [(first, wait), (second, time.sleep), (second, wait), (deep, wait), (deep, time.sleep), (first, time.sleep)]
for _ in range(100):
    for function, how in calls:
        function(how)
resting = threading.Thread(target=rests)
resting.start()
print(resting.native_id)
resting.join()
memory = os.memfd_create("memory")
os.truncate(memory, 4_000_000)
def reads(kilobytes):
    os.pread(memory, 1000 * kilobytes, 0)
for waits in (False, True):
    os.set_blocking(memory, waits)
    for kilobytes in [100, 200, 400, 800, 1600, 3200] * 10:
        reads(kilobytes)
"""
STACKS = [
    ["<module>", "first", "wait"],
    ["<module>", "second"],
    ["<module>", "second", "wait"],
    ["<module>", *["deep"] * 41, "wait"],
    ["<module>", *["deep"] * 41],
    ["<module>", "first"],
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, warpline.CaptureReader]]:
    output = tmp_path_factory.mktemp("repeated") / "run.h5"
    command = [sys.executable, "-m", "warpline", "record", "-q", "--no-check", "-o", str(output), "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", UNTIL_SAMPLED.replace("time.sleep(0.001)", "pass") + PROGRAM],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    with warpline.open(output) as capture:
        yield int(done.stdout), capture


def test_a_wait_has_the_callers_it_had_this_time(recorded: tuple[int, warpline.CaptureReader]) -> None:
    resting, capture = recorded
    calls = capture.events("osrt").to_pandas()
    waits = calls[(calls.wait == "sleep") & (calls.thread_id != resting)].sort_values("start_ns")
    assert len(waits) == 600
    told = 0
    for number, stack in enumerate(waits["stack"]):
        if not isinstance(stack, str):
            continue  # before the agent had looked at this Python
        assert [frame.split(" ")[0] for frame in stack.split(";")] == STACKS[number % 6]
        told += 1
    assert told > 30


def test_a_thread_that_rests_is_sampled_where_it_rests(recorded: tuple[int, warpline.CaptureReader]) -> None:
    """A sample with another after it in the same wait was read in that wait, however long the sampler was held up."""
    resting, capture = recorded
    samples, calls = (capture.events(kind).to_pandas() for kind in ("sample", "osrt"))
    samples = samples[samples.thread_id == resting].sort_values("start_ns")
    waits = calls[(calls.thread_id == resting) & (calls.wait == "sleep")].sort_values("start_ns")
    lines = 0
    for start, duration, stack in zip(waits.start_ns, waits.duration_ns, waits["stack"], strict=True):
        inside = samples[(samples.start_ns >= start) & (samples.start_ns <= start + duration)]
        assert set(inside["name"].iloc[:-1]) <= {stack.split(";")[-1]}
        lines += len(inside) > 1
    assert waits["stack"].nunique() == 3
    assert lines


def test_whether_a_call_may_wait_is_what_its_file_says_now(
    recorded: tuple[int, warpline.CaptureReader],
) -> None:
    _resting, capture = recorded
    calls = capture.events("osrt").to_pandas()
    reads = calls[
        (calls.name == "pread") & calls["object"].str.contains("memfd:memory", na=False)
    ].sort_values("start_ns")
    assert len(reads) == 120
    # Shorter ones have no stack anyway, longer ones have theirs anyway.
    told = [
        reads[half][reads[half].duration_ns.between(10_000, 199_999)]["stack"].map(
            lambda stack: isinstance(stack, str)
        )
        for half in (slice(60), slice(60, None))
    ]
    assert not told[0].any()
    assert told[1].any()
