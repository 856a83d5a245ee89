"""Builds the wheels of every platform on one machine, and checks each (``make wheels``).

``python packaging/build_wheels.py [--output dist] [--target linux-x86_64 ...]``; needs the extra ``packaging``. Zig's C
compiler has the headers and libraries of all targets. The first build for Windows also builds the C runtime, which
takes a minute or more; ``ZIG_GLOBAL_CACHE_DIR`` is where zig keeps it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_wheel import PackagingError, check_wheel
from targets import PURE, TARGETS, Target

ROOT = Path(__file__).resolve().parents[1]


def build_wheel(target: Target, output: Path) -> Path:
    """Builds and checks the wheel of a target. Raises PackagingError and CalledProcessError."""
    environment = {**os.environ, "WARPLINE_WHEEL_PLATFORM": target.tag}
    if target is not PURE:
        environment |= {
            "CC": f"{sys.executable} -m ziglang cc -target {target.triple}",
            "LDFLAGS": "-s",
            "WARPLINE_REQUIRE_NATIVE": "1",
            "WARPLINE_SYSTEM": target.system,
        }
    with tempfile.TemporaryDirectory(prefix="warpline-wheel-") as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(ROOT)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        check_wheel(wheel, target)
        output.mkdir(parents=True, exist_ok=True)
        return wheel.replace(output / wheel.name)


def main() -> int:
    """Builds the wheels that the arguments name, by default all."""
    targets = {target.name: target for target in (*TARGETS, PURE)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--target", action="append", choices=list(targets))
    args = parser.parse_args()
    for name in args.target or targets:
        started = time.monotonic()
        wheel = build_wheel(targets[name], args.output)
        print(
            f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (PackagingError, subprocess.CalledProcessError) as error:
        sys.exit(f"build_wheels: {error}")
