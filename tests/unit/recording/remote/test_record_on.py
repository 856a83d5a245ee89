"""Recording on another machine: the same program, streams, status and events as by hand."""

from __future__ import annotations

import errno
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import States
from tests.unit.recording.remote.conftest import QUICK, Far, run, warpline
from tests.waiting import wait_until

import warpline as warpline_package
from warpline.model.errors import RecordingError
from warpline.recording.control import send_command
from warpline.recording.proc_files import process_stat
from warpline.recording.remote.frames import FrameType
from warpline.recording.remote.near import run_notes
from warpline.recording.remote.near.begin import FarSettings, record_on, resume_on
from warpline.recording.remote.near.mirror import Mirror
from warpline.recording.remote.near.run import FarRun
from warpline.recording.remote.near.transport import Connection, machine_of
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.file_layout import HEADER_BYTES, chunks_of

RANGES = """
import os, sys, time, warpline
for number in range(20_100):
    with warpline.annotate("range"): pass
    if number == 20_000:
        print("on", flush=True)
        while not os.path.exists(sys.argv[1]): time.sleep(0.02)
"""
CAPTURE = Path(warpline_package.__file__).parents[1]
LINES = "import sys, time\nfor number in range(60):\n    print(number, flush=True); time.sleep(0.02)\nprint(input())"


def test_a_program_over_ssh_has_its_streams_arguments_and_status(over_ssh: Far, tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    script = 'printf "%s|" "$@"; wc -c; echo "to standard error" >&2; exit 7'
    arguments = ("a b", 'quote"s', "it's", "$HOME", "two\nlines", "", "\\")
    done = run(over_ssh, output, "sh", "-c", script, "sh", *arguments, stdin=b"x" * 400_000)
    assert done.returncode == 7, done.stderr
    assert done.stdout.decode() == "|".join(arguments) + "|400000\n"
    assert b"to standard error\n" in done.stderr
    states = States(output)
    assert states.meta["exit_status"] == 7
    assert len(states.start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.h5"]
    assert not list((over_ssh.cache / "runs").iterdir())


def test_much_input_reaches_a_program_that_reads_it_at_once(far_cache: Path, tmp_path: Path) -> None:
    data = os.urandom(1 << 20) * 8
    done = run(Far(("--via", "env"), far_cache), tmp_path / "run.h5", "cat", stdin=data)
    assert done.returncode == 0, done.stderr
    assert done.stdout == data


def test_the_status_of_a_program_is_ours_and_what_its_shell_prints_first_is_skipped(
    far_cache: Path, tmp_path: Path
) -> None:
    noisy = Far(("--via", """sh -c 'echo welcome; exec "$@"' sh"""), far_cache)
    done = run(noisy, tmp_path / "run.h5", "sh", "-c", "echo only this; exit 255")
    assert (done.returncode, done.stdout) == (255, b"only this\n"), done.stderr
    done = run(noisy, tmp_path / "none.h5", "/no/program")
    assert (done.returncode, done.stdout) == (127, b""), done.stderr
    assert b"/no/program: No such file" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_recording_outlives_its_connection_and_is_resumed(over_ssh: Far, tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    words = warpline("record", *over_ssh.options, *QUICK, "-o", str(output), "--", "python3", "-c", LINES)
    # Unbuffered: communicate() would not return what readline() has read ahead.
    first = subprocess.Popen(
        words,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert first.stdin is not None
    assert first.stdout is not None
    begin = first.stdout.readline() + first.stdout.readline()
    for child in _children(first.pid):
        os.kill(child, signal.SIGKILL)
    rest, errors = first.communicate(timeout=60)
    assert first.returncode == 125
    assert b"--resume" in errors
    assert not output.exists()
    words = warpline("record", *over_ssh.options, "--resume", "--no-check")
    done = subprocess.run(words, input=b"the end\n", capture_output=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    lines = (begin + rest + done.stdout).decode().splitlines()
    assert lines == [*map(str, range(60)), "the end"]
    states = States(output)
    assert states.meta["exit_status"] == 0
    assert not [text for text in states.warnings if "damaged" in text]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.h5"]


def test_a_recording_outlives_the_process_that_keeps_it(via_command: Far, tmp_path: Path) -> None:
    output, gate = tmp_path / "run.h5", tmp_path / "gate"
    script = 'echo on; while [ ! -e "$1" ]; do sleep 0.05; done; exit 7'
    command = ("sh", "-c", script, "sh", str(gate))
    words = warpline("record", *via_command.options, *QUICK, "-o", str(output), "--", *command)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"on\n"
        ((keeper,),) = map(_children, _children(first.pid))
        os.kill(keeper, signal.SIGKILL)
        _rest, errors = first.communicate(timeout=60)
    assert first.returncode == 125
    assert b"--resume" in errors
    gate.touch()
    runs = via_command.cache / "runs"
    wait_until(lambda: any(runs.glob("*/result.json")), "the recorder has not ended")
    words = warpline("record", *via_command.options, "--resume", "--no-check")
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=110)
    assert done.returncode == 7, done.stderr
    states = States(output)
    assert states.meta["exit_status"] == 7
    assert b" in 0 ns" not in done.stderr
    assert not list(runs.iterdir())


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_recording_whose_folder_there_is_deleted_ends(
    via_command: Far, tmp_path: Path, is_connected: bool
) -> None:
    output, gate, spool = tmp_path / "run.h5", tmp_path / "gate", tmp_path / "run.h5.spool"
    script = 'echo on; while [ ! -e "$1" ]; do sleep 0.05; done'
    command = ("sh", "-c", script, "sh", str(gate))
    words = warpline("record", *via_command.options, *QUICK, "-o", str(output), "--", *command)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"on\n"
        ((keeper,),) = map(_children, _children(first.pid))
        wait_until((spool / "session.json").exists, "the session does not arrive")
        wait_until(lambda: _arrived_bytes(spool, "recorder.spool") > 0, "the records do not arrive")
        if not is_connected:
            first.kill()
            first.wait()
        (via_command.cache / "runs").rename(tmp_path / "deleted")  # the recorder may make files meanwhile
        shutil.rmtree(tmp_path / "deleted", ignore_errors=True)
        gate.touch()
        _rest, errors = first.communicate(timeout=60)
    wait_until(lambda: not _lives(keeper), "the keeper stays")
    if is_connected:
        assert errors.startswith(b"warpline: error: env: the folder of the recording was deleted there; what")
        assert len(errors.splitlines()) == 1
    words = warpline("recover", str(spool), "-o", str(tmp_path / "again.h5"))
    subprocess.run(words, check=True, timeout=60)


def test_what_has_arrived_is_not_sent_again(
    via_command: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, gate, spool = tmp_path / "run.h5", tmp_path / "gate", tmp_path / "run.h5.spool"
    options = (*via_command.options, "--no-check", "--trace", "nvtx", "--env", f"PYTHONPATH={CAPTURE}")
    command = (sys.executable, "-c", RANGES, str(gate))
    words = warpline("record", *options, "-o", str(output), "--", *command)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"on\n"
        wait_until(lambda: _arrived_bytes(spool) > 600_000, "the ranges do not arrive")
        first.kill()
    gate.touch()
    take, kinds, sent = FarRun._take, (FrameType.BYTES, FrameType.CHUNK), []

    def count(run: FarRun, kind: FrameType, body: bytes) -> None:
        sent.append(len(body) * (kind in kinds))
        take(run, kind, body)

    monkeypatch.setattr(FarRun, "_take", count)
    assert resume_on(machine_of(None, "env"), output).exit_status == 0
    with warpline_package.open(output) as capture:
        assert len(capture.events("range")) == 20_100
    assert 0 < sum(sent) < 100_000


def _arrived_bytes(spool: Path, names: str = "agent*.spool") -> int:
    """Bytes of records, by default of the program, that are in the mirror."""
    count = 0
    for path in spool.glob(names):
        with path.open("rb") as file:
            count += sum(rows for _offset, _size, rows in chunks_of(file.fileno(), HEADER_BYTES, 1 << 30))
    return count


def _lives(pid: int) -> bool:
    stat = process_stat(pid)
    return stat is not None and stat.state not in b"ZX"


@pytest.mark.usefixtures("far_cache")
def test_a_connection_that_is_lost_before_its_greeting_leaves_what_is_known(tmp_path: Path) -> None:
    """Otherwise output that has been written here would be written again."""
    box = tmp_path / "box.py"
    box.write_text(
        "import re, sys\nmarker = re.search('warpline-[0-9a-f]{16}', sys.argv[-1])[0]\n"
        """print(f'\\n{marker} {{"root": "/", "cached": true}}')"""
    )
    output, spool = tmp_path / "run.h5", tmp_path / "spool"
    spool.mkdir()
    note = run_notes.RunNote(
        run="0123456789ab", place="", output=str(output), spool=str(spool), title="", received=(10, 5)
    )
    run_notes.remember(note)
    try:
        place = machine_of(None, shlex.join((sys.executable, str(box))))
        with pytest.raises(RecordingError, match="the connection was lost"):
            FarRun(place, {"action": "resume", "run": note.run}, output, spool, None).finish()
        assert run_notes.noted(note.run) == note
    finally:
        run_notes.forget(note.run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_connects_leaves_nothing_behind(
    number: int, far_cache: Path, tmp_path: Path
) -> None:
    begun, known = tmp_path / "begun", set(run_notes.notes_folder().glob("*.json"))
    via = shlex.join(("sh", "-c", f"touch {begun}; exec sleep 600", "box"))
    words = warpline("record", "--via", via, "-o", str(tmp_path / "run.h5"), "--", "true")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        wait_until(lambda: begun.exists() or child.poll() is not None, "the command does not begin")
        child.send_signal(number)
        assert child.wait(60) == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]
    assert set(run_notes.notes_folder().glob("*.json")) == known


def test_nothing_stays_there_when_the_connection_is_lost_at_the_last_moment(
    via_command: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The capture is written, but the other end has not been told."""
    say_last, said = Connection.say_last, []

    def lose(connection: Connection, frame: bytes) -> bool:
        said.append(frame)
        if len(said) > 1:
            return say_last(connection, frame)
        connection._process.kill()
        return False

    monkeypatch.setattr(Connection, "say_last", lose)
    options = RecordingOptions(trace=("cpu",))
    place = machine_of(None, "env")
    result = record_on(place, ["true"], tmp_path / "run.h5", options, FarSettings())
    assert result.exit_status == 0
    wait_until(lambda: not list((via_command.cache / "runs").iterdir()), "the run stays there")
    assert len(said) == 2


def test_a_full_disk_here_leaves_a_recording_that_can_be_resumed(
    via_command: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, place = tmp_path / "run.h5", machine_of(None, "env")
    go_on = tmp_path / "go-on"
    until_there = ["sh", "-c", f"until [ -e {shlex.quote(str(go_on))} ]; do sleep 0.02; done"]

    def fill(_mirror: Mirror, _kind: FrameType, _body: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Mirror, "apply", fill)
        with pytest.raises(RecordingError) as caught:
            record_on(place, until_there, output, RecordingOptions(trace=("cpu",)), FarSettings())
    assert str(caught.value).startswith(f"{output}.spool: No space left on device; the program runs on")
    assert str(caught.value).endswith(": warpline record --via env --resume")
    go_on.touch()
    assert resume_on(place, output).exit_status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["go-on", "run.h5"]
    assert not list((via_command.cache / "runs").iterdir())


def test_the_recording_is_controlled_from_here_and_an_interrupt_is_for_the_program(
    via_command: Far, tmp_path: Path
) -> None:
    output = tmp_path / "run.h5"
    script = "trap 'echo caught; exit 3' INT; echo on; while :; do sleep 0.05; done"
    words = warpline("record", *via_command.options, *QUICK, "-o", str(output), "--", "sh", "-c", script)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        spool = tmp_path / "run.h5.spool"
        assert send_command(spool, "pause", timeout_s=60)["state"] == "paused"
        assert send_command(spool, "resume", timeout_s=60)["state"] == "recording"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == b"caught\n"
    assert process.returncode == 3
    assert len(States(output).pauses) == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--on=-oProxyCommand=touch here",), "not a host"),
        (("--via", "false"), "false: ended with status 1 before the recorder began"),
        (
            ("--via", "sh -c 'echo no room; exit 3' sh"),
            "ended with status 3 before the recorder began: no room",
        ),
        (("--via", "env", "--python", "true"), "true is no Python 3.9"),
        (("--via", "/no/such/command"), "no such command"),
        (("--via", "sh -c"), "a shell without a program"),
        (("--via", "bash -lc"), "a shell without a program"),
        (("--via", "docker exec name"), "write docker exec -i"),
        (("--via", "env", "--python", "/no/python"), "no Python 3.9"),
        (("--via", "env", "--chdir", "/no/folder"), "No such file"),
    ],
)
def test_a_machine_that_cannot_record_says_why(
    far_cache: Path, tmp_path: Path, options: tuple[str, ...], text: str
) -> None:
    done = run(Far(options, far_cache), tmp_path / "run.h5", "true")
    assert done.returncode == 125
    assert text in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_terminal_here_is_a_terminal_there(via_command: Far, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (33, 77))
    script = "trap 'echo caught; exit 5' INT; trap 'stty size' WINCH; echo $TERM; stty size"
    script += "; while :; do sleep 0.05; done"
    words = warpline(
        "record", *via_command.options, *QUICK, "-q", "-o", str(tmp_path / "run.h5"), "--", "sh", "-c", script
    )
    with subprocess.Popen(
        words,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "vt220"},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        read_until(ours, b"vt220\r\n33 77\r\n")
        termios.tcsetwinsize(ours, (44, 88))
        process.send_signal(signal.SIGWINCH)  # it is no terminal that controls its session
        read_until(ours, b"44 88\r\n")
        os.write(ours, b"\x03")
        read_until(ours, b"caught\r\n")
        assert process.wait(60) == 5
    os.close(ours)


def read_until(terminal: int, text: bytes) -> None:
    shown = b""
    while text not in shown:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 4096)


HOSTILE = """
import os, re, struct, sys
marker = re.search(r"warpline-[0-9a-f]+", sys.argv[-1])[0]
os.write(1, f'\\n{marker} {{"root": "/", "cached": true}}\\n'.encode() + eval(sys.argv[1]))
os.read(0, 1 << 20)
"""


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("struct.pack('<BI', 13, 1 << 31)", "a frame of 2147483648 bytes"),
        (
            "struct.pack('<BIBQ', 11, 9 + 12 + 4096, 12, 0) + b'../../.spool' + b'WLSPOOL1' + bytes(4088)",
            "no spool has",
        ),
        ("2 * (struct.pack('<BI', 3, 2) + b'{}')", "it greets twice"),
        ("""struct.pack('<BI', 4, 26) + b'{"message": "\\\\\\\\u001b[2J"}' + b' ' * 4""", "\\u001b[2J"),
    ],
)
def test_a_hostile_machine_gets_one_line(far_cache: Path, tmp_path: Path, answer: str, text: str) -> None:
    program = tmp_path / "hostile.py"
    program.write_text(HOSTILE)
    machine = Far(("--via", shlex.join((sys.executable, str(program), answer))), far_cache)
    output = tmp_path / "here" / "run.h5"
    output.parent.mkdir()
    done = run(machine, output, "true")
    assert done.returncode == 125
    assert text in done.stderr.decode()
    assert b"\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(output.parent.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "hostile.py"]
