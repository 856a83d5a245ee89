"""The command line where Linux's calls are missing, as on macOS."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

SAMPLE = Path("tests/data/format/version_1_1.h5")
AS_MACOS = """
import asyncio, ctypes, mmap, multiprocessing, os, select, shutil, signal, subprocess, sys, tempfile
import h5py, numpy
sys.platform = "darwin"
for module, names in {
    os: "posix_fallocate posix_fadvise sched_getaffinity sched_setaffinity pidfd_open memfd_create O_PATH O_TMPFILE",
    mmap: "MADV_WILLNEED", select: "epoll", signal: "sigtimedwait sigwaitinfo",
}.items():
    for name in names.split():
        if hasattr(module, name): delattr(module, name)
from warpline.cli import main
sample, folder = sys.argv[1:]
statuses = [
    main(["info", sample]),
    main(["stats", sample]),
    main(["check", sample]),
    main(["export", sample, f"{folder}/a.json"]),
    main(["export", sample, f"{folder}/a.csv"]),
    main(["export", sample, f"{folder}/part.h5", "--range", "0:20us"]),
    main(["import", f"{folder}/a.json", "-o", f"{folder}/b.h5"]),
    main(["doctor", "--json"]),
    main(["record", "-o", f"{folder}/c.h5", "--", "true"]),
    main(["mcp", "--guide"]),
    main(["mcp", "--allow-record", sample]),
]
print(statuses)
"""


def test_macos_does_everything_but_record(repository: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AS_MACOS, str(repository / SAMPLE), str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 0, 0, 0, 0, 125, 0, 1]", done.stderr
    assert done.stderr.count("recording needs Linux") == (2 if importlib.util.find_spec("mcp") else 1)
    assert "warpline record --on HOST" in done.stderr
    assert not (tmp_path / "c.h5").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "a.csv", "part.h5", "b.h5"}
