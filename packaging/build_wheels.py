"""Build wheels with the agent for x86-64 and aarch64 that run on any Linux with glibc 2.17 or newer.

``python packaging/build_wheels.py [--output dist] [--machine x86_64 --machine aarch64]``; needs
``pip install build hatchling ziglang``. Zig's C compiler brings the headers and stubs of every glibc for both machines,
so one machine without containers builds both, in seconds. What each library needs of glibc is checked before its wheel
is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "warpline/recording/agent/libwarpline_agent.so"
GLIBC = (2, 17)
MACHINES = {"x86_64": 62, "aarch64": 183}
"""ELF's number of each machine."""


class PackagingError(Exception):
    """A wheel is not what it says."""


def build(machine: str, output: Path) -> Path:
    """Build and check one wheel; its path."""
    version = "_".join(map(str, GLIBC))
    environment = {
        **os.environ,
        "CC": f"{sys.executable} -m ziglang cc -target {machine}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}",
        "LDFLAGS": "-s",
        "WARPLINE_REQUIRE_NATIVE": "1",
        "WARPLINE_WHEEL_PLATFORM": f"manylinux_{version}_{machine}.manylinux2014_{machine}",
    }
    with tempfile.TemporaryDirectory(prefix="warpline-wheel-") as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, str(ROOT)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        check(wheel, machine)
        output.mkdir(parents=True, exist_ok=True)
        return wheel.replace(output / wheel.name)


def check(wheel: Path, machine: str) -> None:
    """Raises PackagingError when the library in a wheel is for another machine or needs a newer glibc."""
    library = zipfile.ZipFile(wheel).read(LIBRARY)
    (found,) = struct.unpack_from("<H", library, 18)
    if library[:4] != b"\x7fELF" or found != MACHINES[machine]:
        raise PackagingError(f"{wheel.name}: the agent is not for {machine}")
    needed = {tuple(map(int, match.split(b"."))) for match in re.findall(rb"GLIBC_(\d+\.\d+)", library)}
    newest = max(needed, default=(0, 0))
    if newest > GLIBC:
        raise PackagingError(f"{wheel.name}: the agent needs glibc {newest[0]}.{newest[1]}")


def main() -> int:
    """Build what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--machine", action="append", choices=sorted(MACHINES))
    args = parser.parse_args()
    for machine in args.machine or sorted(MACHINES):
        print(build(machine, args.output))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (PackagingError, subprocess.CalledProcessError) as error:
        sys.exit(f"build_wheels: {error}")
