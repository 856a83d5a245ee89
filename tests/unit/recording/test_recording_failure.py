"""A program that failed: its status, its signal and the end of its standard error are in the capture, and are told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import WARPLINE, python, record

from warpline.library.program_end import shown_tail
from warpline.model import ProgramEnd
from warpline.recording.agent.library import agent_library
from warpline.recording.spool.error_ring import MAX_KEPT_LINES, make_error_ring, read_error_tail
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or agent_library().path is None, reason="standard error is kept by the agent"
)

OPTIONS = ["--trace", "osrt", "--no-check"]


def end_of(folder: Path, *command: str) -> ProgramEnd:
    """How a recording of a command says it ended."""
    record(folder, *command, options=OPTIONS)
    with open_capture(folder / "run.h5") as capture:
        return capture.program_end


def info(folder: Path) -> str:
    """What ``warpline info`` prints of the recording."""
    done = subprocess.run(
        [*WARPLINE, "info", "run.h5"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_traceback_of_a_failed_program_is_kept(tmp_path: Path) -> None:
    end = end_of(tmp_path, *python("print('fine'); raise RuntimeError('läuft nicht')"))
    assert (end.exit_status, end.exit_signal) == (1, None)
    assert end.stderr_tail is not None
    assert end.stderr_tail[0] == "Traceback (most recent call last):"
    assert end.stderr_tail[-1] == "RuntimeError: läuft nicht"
    assert "fine" not in end.stderr_tail
    told = info(tmp_path)
    assert "  the program ended with status 1\n" in told
    assert "  | RuntimeError: läuft nicht\n" in told


def test_the_signal_and_the_last_partial_line_of_a_killed_program_are_kept(tmp_path: Path) -> None:
    end = end_of(tmp_path, *python("import os; os.write(2, b'half a line'); os.kill(os.getpid(), 9)"))
    assert end == ProgramEnd(137, 9, ("half a line",))
    assert "  the program was ended by signal 9 (SIGKILL)\n" in info(tmp_path)


def test_a_successful_program_is_not_reported_as_failed(tmp_path: Path) -> None:
    assert end_of(tmp_path, *python("pass")) == ProgramEnd(0, None, None)
    assert "the program" not in info(tmp_path)


def test_output_of_children_is_kept_unless_it_is_redirected(tmp_path: Path) -> None:
    program = """
        import subprocess, sys
        say = [sys.executable, "-c", "import sys; print(sys.argv[1], file=sys.stderr)"]
        subprocess.run([*say, "of a child"])
        subprocess.run([*say, "read by its parent"], stderr=subprocess.PIPE)
        subprocess.run([*say, "thrown away"], stderr=subprocess.DEVNULL)
        sys.exit(3)
    """
    assert end_of(tmp_path, *python(program)) == ProgramEnd(3, None, ("of a child",))


def test_the_end_of_endless_output_is_kept(tmp_path: Path) -> None:
    program = (
        "import os\nfor i in range(9000): os.write(2, b'line %06d \\x1b[31mred\\x1b[0m\\n' % i)\nos._exit(1)"
    )
    tail = end_of(tmp_path, *python(program)).stderr_tail
    assert tail == tuple(f"line {i:06d} red" for i in range(9000 - MAX_KEPT_LINES, 9000))


def test_nothing_is_kept_with_no_stderr(tmp_path: Path) -> None:
    record(tmp_path, *python("raise RuntimeError('secret')"), options=[*OPTIONS, "--no-stderr"])
    with open_capture(tmp_path / "run.h5") as capture:
        assert capture.program_end == ProgramEnd(1, None, None)


def test_a_long_dump_of_stacks_is_shown_with_what_it_begins_with() -> None:
    dump = ["Fatal Python error: Segmentation fault", "", *(f"  File {n}" for n in range(50))]
    lines = shown_tail(ProgramEnd(139, 11, ("before", *dump)), 12)
    assert lines == [dump[0], "…", *dump[-10:]]
    assert shown_tail(ProgramEnd(139, 11, tuple(dump[:12])), 12) == dump[:12]
    assert shown_tail(ProgramEnd(1, None, ("x",) * 20), 12) == ["x"] * 12


def test_progress_bars_leave_their_last_state(tmp_path: Path) -> None:
    program = "import os; [os.write(2, b'\\r%d %%' % i) for i in range(101)]; os._exit(1)"
    assert end_of(tmp_path, *python(program)).stderr_tail == ("100 %",)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('fprintf(stderr, "x is %d\\n", 3)', ["x is 3"]),
        ('fputs("no newline", stderr)', ["no newline"]),
        ('fwrite("abcdef", 2, 3, stderr)', ["abcdef"]),
        ("putc('q', stderr)", ["q"]),
        ('fprintf(stdout, "nothing to keep\\n")', []),
    ],
)
def test_output_of_c_streams_is_kept(tmp_path: Path, line: str, words: list[str]) -> None:
    (tmp_path / "say.c").write_text(
        f"#include <assert.h>\n#include <stdio.h>\nint main(void) {{ {line}; assert(0); }}\n"
    )
    subprocess.run(["cc", "-O2", "-o", "say", "say.c"], cwd=tmp_path, check=True)
    end = end_of(tmp_path, "./say")
    assert (end.exit_status, end.exit_signal) == (134, 6)
    said = "".join(end.stderr_tail or ())
    assert said.startswith("".join(words))
    assert said.endswith("say.c:3: main: Assertion `0' failed.")


def test_a_capture_without_the_agent_does_not_claim_to_know(tmp_path: Path) -> None:
    record(tmp_path, *python("raise SystemExit('out')"), options=["--trace", "cpu", "--no-check"])
    with open_capture(tmp_path / "run.h5") as capture:
        assert capture.program_end == ProgramEnd(1, None, None)


def test_a_damaged_ring_is_ignored(tmp_path: Path) -> None:
    assert read_error_tail(tmp_path) is None
    make_error_ring(tmp_path)
    assert read_error_tail(tmp_path) is None
    ring = tmp_path / "stderr"
    size = ring.stat().st_size
    with ring.open("r+b") as file:
        file.seek(24)
        file.write((5).to_bytes(8, "little"))
        file.seek(64)
        file.write(b"hello")
    assert read_error_tail(tmp_path) == ["hello"]
    os.truncate(ring, size - 1)
    assert read_error_tail(tmp_path) is None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_if_no_file_can_be_created_the_systems_reason_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [*WARPLINE, "record", "-o", "/proc/run.h5", "--", "true"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 125
    assert "the disk is full" not in done.stderr
    assert "/proc/run.h5: " in done.stderr
