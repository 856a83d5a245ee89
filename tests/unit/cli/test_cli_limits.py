"""Disks, descriptors and memory that run out while something is written: one line, and no half file under its name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.campaign import small_seeds

from warpline.cli import dispatch
from warpline.storage import open_capture, verify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")

IMPORTED = ["import", "trace.json", "-o", "made.h5"]
IN_MEMORY: tuple[list[str], ...] = (
    IMPORTED,
    ["export", "a.h5", "made.h5"],
    ["export", "a.h5", "made.csv"],
    ["compare", "a.h5", "b.h5", "-o", "made.html"],
)
"""Who opens and makes files of HDF5, and starts threads: neither survives a lack of memory (`memory_room.py`)."""
LESS: tuple[tuple[list[str], str, int], ...] = (
    (IMPORTED, "size", 100),
    (IMPORTED, "size", 3_000),
    (IMPORTED, "files", 1),
    (["export", "a.h5", "made.h5"], "size", 3_000),
    (["export", "a.h5", "made.csv"], "size", 0),
    (["export", "a.h5", "made.json.gz"], "files", 0),
    (["export", "a.h5", "made.html"], "size", 3_000),
    (["export", "a.h5", "made.html"], "memory", 0),
    (["compare", "a.h5", "b.h5", "-o", "made.html"], "size", 100),
    *((words, "memory", amount << 10) for words in IN_MEMORY for amount in (0, 200, 1_000, 3_000)),
)
"""Commands, and what they get too little of: the size of a file, descriptors or memory beyond what is taken."""


class Limited:
    """Commands in forks of a process that has imported everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "here"
        self.folder.mkdir()
        said = folder / "said"
        said.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("limits_worker.py")), str(said)],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, words: list[str], kind: str = "", amount: int = 0, stdout: str = "/dev/null"
    ) -> tuple[int, str]:
        """Status and standard error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"words": words, "kind": kind, "amount": amount, "stdout": stdout}
        print(json.dumps(job), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer["status"], answer["said"]

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    worker = Limited(tmp_path_factory.mktemp("limits"))
    threads, gpu, stacks = small_seeds.captures(worker.folder)
    gpu.unlink()
    stacks.unlink()
    threads.rename(worker.folder / "a.h5")
    shutil.copy(worker.folder / "a.h5", worker.folder / "b.h5")
    (worker.folder / "trace.json").write_bytes(small_seeds.own_traces()[0][1])
    yield worker
    worker.close()


def assert_one_line(status: int, said: str) -> None:
    assert 0 < status < 99, said
    assert said.count("\n") == 1, said
    assert "Traceback" not in said
    assert "internal error" not in said


@pytest.mark.parametrize("place", range(len(LESS)))
def test_what_cannot_be_written_is_not_there(limited: Limited, place: int) -> None:
    words, kind, amount = LESS[place]
    target = limited.folder / next(word for word in words if word.startswith("made"))
    old = b"what was there" if place % 2 else None
    if old is not None:
        target.write_bytes(old)
    before = {path.name for path in limited.folder.iterdir()}
    status, said = limited.run(words, kind, amount)
    if kind == "memory" and (status, said) == (0, ""):
        # What is given back on the way may be enough; a crash or a wait without end is what must not be.
        assert target.stat().st_size > len(old or b"")
        target.unlink()
        return
    assert_one_line(status, said)
    assert {path.name for path in limited.folder.iterdir()} == before
    assert (target.read_bytes() if target.exists() else None) == old
    target.unlink(missing_ok=True)


def test_what_cannot_be_loaded_for_want_of_memory_is_not_called_missing(limited: Limited) -> None:
    limit = "import sys, resource; from warpline.cli import main; "
    limit += "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
    limit += "resource.setrlimit(resource.RLIMIT_AS, (used, used)); "
    program = limit + "sys.exit(main(['stats', 'a.h5']))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=limited.folder, capture_output=True, text=True, check=False
    )
    assert_one_line(done.returncode, done.stderr)
    assert "memory" in done.stderr


def test_what_cannot_be_printed_is_told(limited: Limited) -> None:
    assert_one_line(*limited.run(["info", "a.h5"], stdout="/dev/full"))


def test_with_enough_of_all_a_capture_is_whole(limited: Limited) -> None:
    status, said = limited.run(IMPORTED, "size", 1 << 20)
    assert status == 0, said
    with open_capture(limited.folder / "made.h5") as capture:
        assert not list(verify(capture))
    (limited.folder / "made.h5").unlink()


def test_a_parser_that_runs_out_of_memory_is_told_as_that(tmp_path: Path) -> None:
    own = dispatch.__file__
    assert dispatch._one_line(SyntaxError("expected ':'", (own, 1, 1, ""))).startswith("not enough memory")
    theirs = str(tmp_path / "rules.py")
    assert "internal error" in dispatch._one_line(SyntaxError("expected ':'", (theirs, 1, 1, "")))
