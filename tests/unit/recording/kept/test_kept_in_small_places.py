"""Disks, quotas and memory that are used up while a program is recorded, by whatever phase: the program goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import needs_perf, record
from tests.waiting import wait_until

from warpline.recording.recover import recover
from warpline.storage import open_capture, verify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

SWITCHES = """
import os
read, write = os.pipe(); back_read, back_write = os.pipe()
if os.fork() == 0:
    for _ in range(20_000): os.read(read, 1); os.write(back_write, b"x")
    os._exit(0)
for _ in range(20_000): os.write(write, b"x"); os.read(back_read, 1)
os.wait()
print("done", flush=True)
os._exit(7)
"""
MOUNT = 'mount -t tmpfs -o size=$0 none disk && cd disk && { "$@"; s=$?; cd ..; cp -a disk/. kept; exit $s; }'
SMALL_PROGRAM = """
pipe(my $r, my $w); pipe(my $q, my $v);
if (!fork) { for (1..20000) { sysread $r, my $x, 1; syswrite $v, "x" } exit 0 }
for (1..20000) { syswrite $w, "x"; sysread $q, my $x, 1 }
wait; syswrite STDOUT, "done\n"; exit 7
"""
"""Less than the recorder takes: of those that share what is used up, the system ends the largest."""
LIMITS = "memory.limit_in_bytes", "memory.max"
MEMORY = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


def a_mount_of_ours() -> list[str]:
    """A prefix for a shell that may mount: a user without privileges has what is mounted alone."""
    prefix = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            [*prefix, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("this machine lets nobody mount")
    return prefix


def look(kept: Path, done: subprocess.CompletedProcess[bytes]) -> None:
    """The program did what it does; one line tells what became of the recording, and what was kept is sound."""
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1, done.stderr
    if done.returncode == 125 and not done.stdout:
        assert b"the disk is full" in done.stderr or b"No space" in done.stderr
        assert list(kept.iterdir()) == []
        return
    assert done.stdout == b"done\n", done.stderr
    assert done.returncode in (7, 125)
    output = kept / "run.h5"
    if done.returncode == 125:
        assert not output.exists()
        assert b"warpline recover" in done.stderr
        recover(kept / "run.h5.spool", output)
    assert [path.name for path in kept.iterdir()] == ["run.h5"]
    with open_capture(output) as capture:
        assert not list(verify(capture))
        assert len(capture.events) > 1_000


@needs_perf
@pytest.mark.parametrize("size", ["64k", "600k", "1500k", "3m", "5m", "8m"])
def test_a_disk_can_become_full_at_any_moment(tmp_path: Path, size: str) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "kept").mkdir()
    prefix = [*a_mount_of_ours(), "sh", "-c", MOUNT, size]
    done = record(tmp_path, sys.executable, "-c", SWITCHES, options=["--no-check"], prefix=prefix)
    look(tmp_path / "kept", done)


@pytest.fixture
def copying(tmp_path: Path) -> Iterator[Path]:
    """A folder in a file system that writes pages elsewhere than they lay (btrfs)."""
    if os.geteuid() != 0 or shutil.which("mkfs.btrfs") is None:
        pytest.skip("btrfs in a file needs root and btrfs-progs")
    image, folder = tmp_path / "image", tmp_path / "mounted"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(120 << 20)
    subprocess.run(["mkfs.btrfs", "-q", str(image)], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not mount btrfs from a file")
    try:
        (folder / "here").mkdir()
        yield folder / "here"
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        image.unlink()


WRITER = """
import os, shutil, sys
from pathlib import Path
from warpline.recording.spool.directory import new_spool
from warpline.recording.spool.writer import SpoolWriter

folder = Path(sys.argv[1])
with new_spool(folder / "spool"):
    writer = SpoolWriter(folder / "spool" / "recorder.spool", "recorder")
    assert writer.append_packed(1, bytes(64))
    with (folder / "fill").open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(1 << 16))
        except OSError:
            pass
    os.sync()
    print(sum(writer.append_packed(1, bytes(64)) for _ in range(100)))
"""


def test_a_full_copy_on_write_disk_does_not_end_the_program(copying: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WRITER, str(copying)], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"100\n"), done.stderr


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of this test's own, that limits memory."""
    made = [folder for folder in MEMORY if (folder / "cgroup.procs").exists()]
    folder = made[0] / f"warpline-test-{os.getpid()}" if made else MEMORY[0]
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    try:
        if not any((folder / name).exists() for name in LIMITS):
            pytest.skip("control groups of this machine limit no memory")
        yield folder
    finally:
        wait_until(lambda: not (folder / "cgroup.procs").read_text(), "programs remain in the group")
        folder.rmdir()


@needs_perf
@pytest.mark.parametrize("megabytes", [28, 45, 90])
def test_exhausted_memory_fails_only_the_recording(tmp_path: Path, group: Path, megabytes: int) -> None:
    (limit,) = (group / name for name in LIMITS if (group / name).exists())
    limit.write_text(str(megabytes << 20))
    prefix = ["sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"', str(group)]
    program = [shutil.which("perl") or pytest.skip("perl is not installed"), "-e", SMALL_PROGRAM]
    done = record(tmp_path, *program, options=["--no-check", "--trace", "cpu"], prefix=prefix)
    assert done.stdout == b"done\n"
    assert b"Traceback" not in done.stderr
    if done.returncode == 7:
        with open_capture(tmp_path / "run.h5") as capture:
            assert not list(verify(capture))
    else:
        # The system ended the recorder: the program's end is nobody's to tell, and all is in the spool.
        assert done.returncode == -signal.SIGKILL
        recover(tmp_path / "run.h5.spool")
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
