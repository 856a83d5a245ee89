"""Builds the wheels of every platform on one machine, and checks each (``make wheels``).

``python packaging/build_wheels.py [--output dist] [--target linux-x86_64 ...] [--once]``; needs extra ``packaging``.
Each is built twice, and both must have the same bytes. Zig's C compiler has the headers and libraries of all targets.
The first build for Windows also builds the C runtime, which takes a minute or more; ``ZIG_GLOBAL_CACHE_DIR`` is where
zig keeps it.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from check_wheel import PackagingError, check_wheel
from targets import PURE, TARGETS, Target

ROOT = Path(__file__).resolve().parents[1]


def build_wheel(target: Target, output: Path, *, times: int = 1) -> Path:
    """Builds and checks the wheel of a target. Raises PackagingError, also when two builds differ, and
    CalledProcessError.
    """
    with ExitStack() as stack:
        wheel, *others = (
            _build(target, Path(stack.enter_context(TemporaryDirectory(prefix="warpline-wheel-"))))
            for _ in range(times)
        )
        check_wheel(wheel, target)
        for other in others:
            if different := different_members(wheel, other):
                raise PackagingError(f"{wheel.name}: two builds differ in {', '.join(different)}")
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(wheel, output / wheel.name))


def different_members(wheel: Path, other: Path) -> list[str]:
    """Files that differ between two wheels; "the archive" when only how they are packed does."""
    if filecmp.cmp(wheel, other, shallow=False):
        return []
    with ZipFile(wheel) as a, ZipFile(other) as b:
        names = sorted({*a.namelist(), *b.namelist()})
        common = {*a.namelist()} & {*b.namelist()}
        different = [name for name in names if name not in common or a.read(name) != b.read(name)]
    return different or ["the archive"]


def _build(target: Target, folder: Path) -> Path:
    environment = {**os.environ, "WARPLINE_WHEEL_PLATFORM": target.tag}
    if target is not PURE:
        environment |= {
            "CC": f"{sys.executable} -m ziglang cc -target {target.triple}",
            "LDFLAGS": "-s",
            "WARPLINE_REQUIRE_NATIVE": "1",
            "WARPLINE_SYSTEM": target.system,
        }
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(
        command, env=environment, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise PackagingError(f"{target.name}: the build failed\n{done.stdout[-4000:]}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> int:
    """Builds the wheels that the arguments name, by default all."""
    targets = {target.name: target for target in (*TARGETS, PURE)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--target", action="append", choices=list(targets))
    parser.add_argument("--once", action="store_true", help="do not build again and compare")
    args = parser.parse_args()
    started = time.monotonic()
    # Processes do the work; zig locks what it keeps.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wheels = [
            pool.submit(build_wheel, targets[name], args.output, times=1 if args.once else 2)
            for name in args.target or targets
        ]
        for done in as_completed(wheels):
            if done.exception():
                pool.shutdown(wait=False, cancel_futures=True)
            wheel = done.result()
            print(
                f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, at {time.monotonic() - started:.0f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (PackagingError, subprocess.CalledProcessError) as error:
        sys.exit(f"build_wheels: {error}")
