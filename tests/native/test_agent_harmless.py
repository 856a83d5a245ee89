"""A program with the agent behaves as without: output, status, descriptors, errno, limits, full disks."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.native.conftest import HERE, Session, compile_c

import warpline
from warpline.recording.sources.cuda import records as cupti_records
from warpline.recording.sources.nvtx import records as nvtx_records

RANGE = (nvtx_records.NVTX_RANGE, nvtx_records.nvtx_range)

# Everything of the process that a program could see a difference in, printed. The order of descriptors and the working
# directory, the handlers of signals, the umask, limits, what is in the environment but not ours.
LOOK = """
import ctypes, os, resource, signal, sys, threading, time
try:
    import nvtx
except ImportError:
    nvtx = None
cuda = None
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
except OSError:
    pass
for i in range(1000):
    if nvtx:
        with nvtx.annotate(f"name {i % 7}", color="blue"):
            pass
    if cuda:
        cuda.simulatedLaunch(ctypes.c_char_p(b"kernel"), 7, ctypes.c_uint64(100))
# A thread that takes over GPU records has a descriptor while it maps the next part of its file.
new, staying = set(), set(os.listdir("/proc/self/fd"))
for _ in range(50):
    opened = os.open("/dev/null", os.O_RDONLY)
    new.add(opened)
    os.close(opened)
    staying.intersection_update(os.listdir("/proc/self/fd"))
    time.sleep(0.01)
print("next descriptor", min(new), "descriptors", sorted(staying))
print("cwd", os.getcwd(), "umask", os.umask(0o22))
print("python handlers", [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)])
print("limits", [resource.getrlimit(r) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)])
print("blocked", signal.pthread_sigmask(signal.SIG_BLOCK, []))
print("threads python knows", threading.active_count())
sys.stderr.write("words on stderr\\n")
sys.stdout.flush()
sys.exit(7)
"""


@pytest.mark.parametrize("python", [sys.executable])
def test_output_status_and_descriptors_are_the_same(gpu_session: Session, python: str) -> None:
    pytest.importorskip("nvtx")
    plain_environment = {**os.environ, "LD_LIBRARY_PATH": gpu_session.variables["LD_LIBRARY_PATH"]}
    plain = subprocess.run(
        [python, "-c", LOOK], env=plain_environment, capture_output=True, text=True, check=False
    )
    with_agent = gpu_session.run(python, "-c", LOOK, status=7)
    assert plain.returncode == 7
    assert (with_agent.stdout, with_agent.stderr) == (plain.stdout, plain.stderr)
    spool = gpu_session.spool()
    assert len(spool.records(cupti_records.CUPTI_KERNEL, cupti_records.cupti_kernel).values) == 1000


def test_errno_survives(session: Session, nvtx_program: Path) -> None:
    assert session.run(nvtx_program, "errno").stdout.split() == ["4711"]


def test_closing_every_descriptor_does_not_stop_the_recording(session: Session) -> None:
    pytest.importorskip("nvtx")
    program = (
        "import nvtx, os\n"
        "with nvtx.annotate('before'): pass\n"
        "os.closerange(3, 1000)\n"
        "for i in range(50000):\n"
        "    with nvtx.annotate('after'): pass\n"
    )
    session.run(sys.executable, "-c", program)
    assert session.spool().header.lost == 0
    assert session.count(nvtx_records.NVTX_RANGE_ATTRIBUTES, nvtx_records.nvtx_range_attributes) == 50001


def test_a_changed_directory_does_not_matter(session: Session, nvtx_program: Path) -> None:
    done = subprocess.run(
        [nvtx_program, "threads", "2", "10"], cwd="/", env=session.environment(), check=False
    )
    assert done.returncode == 0
    assert session.count(*RANGE) == 2 * 10 * 4


def test_a_reason_from_the_loader_is_printed_whole(session: Session, agent: Path, built: Path) -> None:
    """A lookup by the agent would free the text of dlerror between the program's two calls."""
    program = compile_c(built / "dlerror", [HERE / "programs" / "dlerror.c"])
    done = session.run(program, LD_PRELOAD=str(agent))
    assert done.stderr.startswith("not loaded: /nonexistent/library.so: cannot open shared object file")


def check_losses(session: Session, expected_records: int, error: int) -> None:
    """What was written and what was lost add up to what there was."""
    spool = session.spool()
    got = len(spool.records(*RANGE).values)
    assert 0 < got < expected_records
    assert got + spool.header.lost == expected_records
    assert spool.header.error == error


def test_the_size_cap_ends_the_writing_and_counts_the_rest(session: Session, nvtx_program: Path) -> None:
    session.set_page(size_cap=200_000)
    session.run(nvtx_program, "threads", "1", "50000")
    check_losses(session, 200_000, errno.EFBIG)
    assert session.spool().path.stat().st_size <= 200_000


def test_a_limit_on_file_sizes_is_obeyed_without_a_signal(session: Session, nvtx_program: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    done = subprocess.run(
        [nvtx_program, "threads", "1", "50000"], env=session.environment(), preexec_fn=limit, check=False
    )
    assert done.returncode == 0
    check_losses(session, 200_000, errno.EFBIG)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k", "nodev", str(folder)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_the_writing_and_counts_the_rest(
    small_disk: Path, agent: Path, nvtx_program: Path
) -> None:
    session = Session(small_disk / "spool", agent)
    session.run(nvtx_program, "threads", "1", "50000")
    check_losses(session, 200_000, errno.ENOSPC)


def test_a_folder_that_is_gone_costs_the_records_and_nothing_else(
    session: Session, nvtx_program: Path
) -> None:
    folder = session.folder
    program = session.start(nvtx_program, "converse")
    assert program.stdin is not None
    folder.rename(folder.with_name("elsewhere"))
    program.stdin.write("push a\npop\n")
    output, _nothing = program.communicate(timeout=60)
    assert (program.returncode, output) == (0, "ok\nok\n")


SMALL_STACKS = Path(__file__).parent / "programs" / "small_stacks.c"


@pytest.fixture
def small_stacks(tmp_path: Path) -> Path:
    binary = tmp_path / "small_stacks"
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-o", binary, SMALL_STACKS, "-lpthread"], check=True)
    if subprocess.run([binary], capture_output=True, check=False).returncode != 0:
        pytest.skip("this processor saves more for a signal handler than its stack has room for")
    return binary


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_program_on_small_stacks_ends_as_without_a_recording(small_stacks: Path, is_relative: bool) -> None:
    output = small_stacks.parent / "run.h5"
    name = f"./{small_stacks.name}" if is_relative else str(small_stacks)
    command = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--", name]
    done = subprocess.run(
        command, cwd=small_stacks.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
    sleeps = calls[calls.wait == "sleep"]
    assert len(sleeps) == 2
    # Its functions are static: their names are found by where the program's file lies.
    assert set(sleeps.caller.astype(str)) == {"run [small_stacks]", "handle [small_stacks]"}
