"""``warpline top``: threads by state and reason, the hottest line; of a capture, and of a recording that runs."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.gui.wait_sample import write_wait_sample
from tests.unit.recording.live.growing import Growing

from warpline.cli import main, top
from warpline.cli.top_picture import picture, shortened
from warpline.i18n.width import text_width
from warpline.recording.control import ControlServer
from warpline.recording.live import pace, process
from warpline.storage import CaptureBuilder, open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


@pytest.fixture(scope="module")
def fight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two threads that want one lock: 45 and 76 of 100 ms on a core."""
    folder = tmp_path_factory.mktemp("top")
    return write_wait_sample(folder / "fight.h5", folder / "fight.py")


def test_threads_are_shown_by_what_they_do_and_wait_for(
    fight: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["top", str(fight)]) == 0
    head, gpu, hottest, _empty, titles, first, second = capsys.readouterr().out.splitlines()
    assert head.startswith("fight.h5 · 100.0 ms recorded")
    assert gpu == "GPU: not recorded"
    assert "spin (" in hottest
    assert titles.split()[:3] == ["running", "ready", "waiting"]
    assert first.split()[:5] == ["76.0", "%", "–", "24.0", "%"]
    assert "fighter-2" in first
    assert "lock · Lock.acquire (" in second


@pytest.mark.parametrize("width", [44, 60, 80, 200])
def test_in_a_narrow_terminal_files_and_lines_stay(fight: Path, width: int) -> None:
    with open_capture(fight) as capture:
        whole = picture(capture, "x", *capture.span, 100)
        lines = picture(capture, "x", *capture.span, 100, width)
    for line, full in zip(lines[5:], whole[5:], strict=True):
        assert text_width(line) <= width
        end = full[full.rfind("(") :]
        assert line.endswith(end if width > 60 else end[-3:])


def test_what_is_left_out_comes_before_the_line() -> None:
    text = "lock · acquire in a long name (threading.py:324)"
    assert shortened(text, 80) == text
    assert shortened(text, 30) == "lock · acqu…(threading.py:324)"
    assert shortened(text, 10) == "…g.py:324)"
    assert shortened("no place at all", 8) == "no plac…"


def test_names_forge_no_lines_and_steer_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b[2Jname\nGPU 0: busy 1 %\x9b31m\u202e"
    path = tmp_path / "names.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7, name=name)
        thread = builder.add_thread(process, 7, name=name)
        state = builder.track("process/7/thread/7/state", role="state", process=process, thread=thread)
        builder.add_events(state, "thread_state", [0], [9_000_000], builder.string("running"))
        samples = builder.track("process/7/thread/7/samples", role="samples", process=process, thread=thread)
        place = builder.string(f"{name} (/src/app.py:8)")
        builder.add_events(
            samples, "sample", [1_000_000], [0], place, attributes={"stack": [builder.stack(place)]}
        )
        builder.finish()
    assert main(["top", str(path)]) == 0
    text = capsys.readouterr().out
    assert all(line.isprintable() for line in text.splitlines())
    assert not any(line.startswith("GPU 0") for line in text.splitlines())


def test_threads_that_never_waited_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "busy.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7)
        thread = builder.add_thread(process, 7, name="busy")
        state = builder.track("process/7/thread/7/state", role="state", process=process, thread=thread)
        builder.add_events(state, "thread_state", [0], [9_000_000], builder.string("running"))
        samples = builder.track("process/7/thread/7/samples", role="samples", process=process, thread=thread)
        spin = builder.string("spin (/src/app.py:8)")
        stack = builder.stack(spin)
        builder.add_events(samples, "sample", [1_000_000], [0], spin, attributes={"stack": [stack]})
        builder.finish()
    assert main(["top", str(path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split()[:4] == ["100.0", "%", "–", "–"]
    assert last.endswith("runs spin (/src/app.py:8)")


@pytest.mark.parametrize(("cores", "hottest"), [(0.2, "spin"), (1.2, "compute")])
def test_a_thread_that_changed_no_state_ran_only_if_its_process_took_the_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cores: float, hottest: str
) -> None:
    path = tmp_path / "x.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(7)
        counters = builder.track("process/7/counters/cpu", process=process)
        builder.add_counter(counters, "CPU", "cores", [0, 5_000_000], [cores, cores])
        for tid, name, count in ((7, "spin", 1), (8, "compute", 9)):
            thread = builder.add_thread(process, tid)
            uri = f"process/7/thread/{tid}"
            if tid == 7:
                state = builder.track(f"{uri}/state", role="state", process=process, thread=thread)
                builder.add_events(state, "thread_state", [0], [2_000_000], builder.string("running"))
            samples = builder.track(f"{uri}/samples", role="samples", process=process, thread=thread)
            line = builder.string(f"{name} (/src/app.py:{tid})")
            times = [100_000 * (1 + number) for number in range(count)]
            stacks = [builder.stack(line)] * count
            builder.add_events(samples, "sample", times, [0] * count, line, attributes={"stack": stacks})
        builder.set_span(0, 10_000_000)
        builder.finish()
    assert main(["top", str(path)]) == 0
    assert f"Hottest line: {hottest} (" in capsys.readouterr().out


def test_a_recording_that_runs_is_shown_once_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    recording = Growing(tmp_path)
    recording.add("long ago", 10, 20)
    with closing(ControlServer(recording.folder, lambda _request: {"ok": True})):
        assert main(["top", str(tmp_path / "x.h5")]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("x.h5 · ")
    assert second == "Nothing happened in this time, or nothing was recorded."


def leave(server: ControlServer) -> None:
    """What is left of a recorder that is killed: its socket's file."""
    server._listening.close()


def test_a_killed_or_ended_recording_is_told_with_the_way_to_its_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool = Growing(tmp_path).folder
    told = f"warpline recover {spool}"
    assert main(["top", str(spool)]) == 1
    assert told in capsys.readouterr().err
    leave(ControlServer(spool, lambda _request: {"ok": True}))
    assert main(["top", str(spool)]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("is_killed", [False, True])
def test_top_ends_with_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    recording = Growing(tmp_path)
    server = ControlServer(recording.folder, lambda _request: {"ok": True})
    slept = []

    def end_meanwhile(seconds: float) -> None:
        slept.append(seconds)
        leave(server) if is_killed else server.close()

    clock = SimpleNamespace(sleep=end_meanwhile, process_time=time.process_time)
    monkeypatch.setattr(top, "time", clock)
    monkeypatch.setattr(pace, "SHARE", 1e-6)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["top", str(recording.folder)]) == int(is_killed)
    shown = capsys.readouterr()
    assert ("The recording has ended." in shown.out) != is_killed
    assert ("warpline recover" in shown.err) == is_killed
    assert slept[0] > 1_000, "an expensive picture is drawn less often"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["none.h5"], "neither a capture nor a recording that runs"),
        (["--every", "0s", "none.h5"], "longer than 0"),
        (["4194303"], "no recording has process id 4194303"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    tmp_path: Path,
    arguments: list[str],
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["top", *arguments]) in {1, 2}
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
