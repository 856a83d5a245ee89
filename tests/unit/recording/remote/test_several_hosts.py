"""The same command on several machines at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import States
from tests.unit.recording.remote.conftest import warpline
from tests.waiting import wait_until

from warpline.cli.several_hosts import filled_in, output_of
from warpline.library.jobs import open_job


def test_every_host_has_a_capture_whose_name_tells_its_rank() -> None:
    assert output_of(Path("x/run.h5"), 1, "me@b/../c") == Path("x/run-rank1-me_b_.._c.h5")


def test_a_name_may_say_where_host_and_rank_stand() -> None:
    assert output_of(Path("x/m-{host}.h5"), 1, "me@b/../c") == Path("x/m-me_b_.._c.h5")
    assert output_of(Path("{host}/{rank}-of-{host}.h5"), 2, "box") == Path("{host}/2-of-box.h5")
    assert filled_in(Path("x/run.h5"), 0, "box") == Path("x/run.h5")


@pytest.fixture
def two_hosts(ssh_config: Path, far_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``box`` and ``other`` are hosts of the user's ssh."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "config").write_text(ssh_config.read_text().replace("Host box", "Host box other"))
    (folder / "ssh").write_text(f'#!/bin/sh\nPATH=${{PATH#*:}} exec ssh -F {folder}/config "$@"\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.usefixtures("two_hosts")
def test_two_hosts_record_at_once(tmp_path: Path) -> None:
    script = "echo rank $WARPLINE_RANK of $WARPLINE_RANKS; cat; exit $WARPLINE_RANK"
    options = ("--on", "box,other", "--no-check", "--trace", "cpu", "-o", str(tmp_path / "run.h5"))
    words = warpline("record", *options, "--", "sh", "-c", script)
    done = subprocess.run(words, input=b"for none", capture_output=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    assert sorted(done.stdout.decode().splitlines()) == ["[box] rank 0 of 2", "[other] rank 1 of 2"]
    names = [tmp_path / f"run-rank{rank}-{host}.h5" for rank, host in enumerate(("box", "other"))]
    assert [States(name).meta["exit_status"] for name in names] == [0, 1]
    assert States(names[1]).meta["host"]["reached_as"] == "other"
    clocks = [States(name).meta["host"]["clock"] for name in names]
    assert clocks[0]["reference"] == clocks[1]["reference"]
    # Both hosts are this machine, whose clock is ahead of itself by nothing.
    assert all(abs(clock["offset_ns"]) <= clock["bound_ns"] for clock in clocks)
    assert b"clocks compared by pings, to within" in done.stderr
    job_clocks = open_job(names, workers=1).clocks
    first, second = (States(name).meta["start_monotonic_ns"] for name in names)
    assert abs(job_clocks[1].offset_ns - (first - second)) <= job_clocks[1].residual_ns
    assert f"warpline job {names[0]} {names[1]}" in done.stderr.decode()


@pytest.mark.usefixtures("two_hosts")
def test_a_host_that_cannot_be_reached_is_named_and_the_others_record(tmp_path: Path) -> None:
    options = ("--on", "box,-bad", "--no-check", "--trace", "cpu", "-o", str(tmp_path / "run.h5"))
    done = subprocess.run(
        warpline("record", *options, "--", "true"), capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 125
    assert "[-bad] warpline: error: not a host" in done.stderr.decode()
    assert [path.name for path in tmp_path.glob("*.h5")] == ["run-rank0-box.h5"]


def test_options_of_one_machine_do_not_go_with_several(tmp_path: Path) -> None:
    words = warpline("record", "--on", "a,b", "--spool", str(tmp_path / "s"), "--", "true")
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert done.returncode != 0
    assert b"--spool does not work with several hosts" in done.stderr


_TWO_HOSTS = """
import argparse, contextlib, os, signal, subprocess, sys, time
from pathlib import Path
from warpline.cli.host_list import Host
from warpline.cli.several_hosts import record_on_each

def wait_for_signal(args):
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    print("ready", flush=True)
    print(int(signal.sigwait(numbers)), flush=True)
    return 0

def leave_a_program(args):
    print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
    return 0

def write_much(args):
    with contextlib.suppress(BrokenPipeError):
        os.write(1, b"x" * 80)
    subprocess.run(["head", "-c", "1000000", "/dev/zero"])
    args.output.write_bytes(b"")
    return 0

def outlive_parent(args):
    parent = os.getppid()
    print("ready", flush=True)
    while os.getppid() == parent:
        time.sleep(0.01)
    return write_much(args)

def fail(args):
    return 125

args = argparse.Namespace(spool=None, status_fd=None, via=None, env=[], quiet=False)
sys.exit(record_on_each(args, [Host("a"), Host("b")], Path(sys.argv[1]), globals()[sys.argv[2]]))
"""


def _on_two_hosts(output: Path, record: str) -> list[str]:
    return [sys.executable, "-c", _TWO_HOSTS, str(output), record]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_reach_the_program_on_every_host(tmp_path: Path, number: int) -> None:
    words = _on_two_hosts(tmp_path / "run.h5", "wait_for_signal")
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, start_new_session=True) as child:
        try:
            assert child.stdout is not None
            assert {child.stdout.readline() for _host in "ab"} == {b"[a] ready\n", b"[b] ready\n"}
            child.send_signal(number)
            printed, _ = child.communicate(timeout=60)
        finally:
            os.killpg(child.pid, signal.SIGKILL) if child.poll() is None else None
            os.close(ours)
            os.close(theirs)
    assert child.returncode == 0
    assert set(printed.decode().splitlines()) == {f"[a] {number:d}", f"[b] {number:d}"}


def test_what_a_host_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    words = _on_two_hosts(tmp_path / "run.h5", "leave_a_program")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline().split() for _host in "ab"]
        try:
            assert child.wait(60) == 0
        finally:
            for _host, pid in lines:
                os.kill(int(pid), signal.SIGKILL)


def test_recordings_go_on_when_nobody_reads_their_output(tmp_path: Path) -> None:
    words = _on_two_hosts(tmp_path / "run.h5", "write_much")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(60) == 0
    assert len(list(tmp_path.glob("run-*.h5"))) == 2


def test_recordings_go_on_when_the_first_process_is_killed(tmp_path: Path) -> None:
    words = _on_two_hosts(tmp_path / "run.h5", "outlive_parent")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _host in "ab"]
        assert len(lines) == 2
        child.kill()
    wait_until(lambda: len(list(tmp_path.glob("run-*.h5"))) == 2, "a recording hangs")


def test_captures_of_an_earlier_recording_are_no_job(tmp_path: Path) -> None:
    for name in ("run-rank0-a.h5", "run-rank1-b.h5"):
        (tmp_path / name).write_bytes(b"")
    words = _on_two_hosts(tmp_path / "run.h5", "fail")
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (125, b"")
