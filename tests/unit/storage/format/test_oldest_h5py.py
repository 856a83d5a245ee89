"""What the newest h5py writes, the oldest one that Warpline allows can read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpline.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def oldest_h5py(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the oldest h5py of `pyproject.toml` that has a wheel for this Python."""
    floor = re.search(r'"h5py>=([\d.]+)"', (repository / "pyproject.toml").read_text())
    assert floor is not None
    # h5py 3.10 has wheels up to Python 3.12, 3.12 for Python 3.13, and 3.15 for Python 3.14.
    version = {13: "3.12.1", 14: "3.15.1"}.get(sys.version_info.minor, f"{floor[1]}.0")
    folder = tmp_path_factory.mktemp("h5py")
    numpy = "numpy<2" if sys.version_info < (3, 13) else "numpy"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--only-binary=:all:",
        "--target",
        folder,
    ]
    done = subprocess.run([*command, f"h5py=={version}", numpy], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"h5py {version} could not be installed: {done.stderr.strip().splitlines()[-1]}")
    return folder


def test_captures_parts_and_archives_open_in_the_oldest_h5py(
    repository: Path, oldest_h5py: Path, tmp_path: Path
) -> None:
    trace = repository / "docs" / "tutorials" / "trace.json.gz"
    assert main(["import", str(trace), "-o", str(tmp_path / "capture.h5")]) == 0
    assert main(["export", str(tmp_path / "capture.h5"), str(tmp_path / "archive.h5"), "--compress"]) == 0
    part = [str(tmp_path / "capture.h5"), str(tmp_path / "part.h5"), "--range", "10ms:60ms"]
    assert main(["export", *part]) == 0
    program = (
        f"import sys; sys.path[:0] = [{str(oldest_h5py)!r}, {str(repository / 'capture')!r}]\n"
        "import h5py; from warpline.cli import main\n"
        "print(h5py.__version__, file=sys.stderr)\n"
        "sys.exit(main(['info', '--json', '--verify', sys.argv[1]]))"
    )
    for name in ("capture", "archive", "part"):
        file = tmp_path / f"{name}.h5"
        done = subprocess.run(
            [sys.executable, "-c", program, file], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert done.stderr.split()[0] != _own_h5py(), "the newer h5py was imported"
        described = json.loads(done.stdout)
        assert described["kinds"]["operator"] > 0
        assert described["warnings"] == []


def _own_h5py() -> str:
    import h5py

    return str(h5py.__version__)
