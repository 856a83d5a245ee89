"""Everything that tries to break Warpline, each for a given time: ``python -m tests.fuzz.whole --seconds 600``.

Inputs in forks, inputs guided by coverage, inputs in the window, then property tests and C with sanitizers. One that
ends badly keeps none of the others from running; a table says at last how each ended, and the exit status is 1 when
one ended badly. Words behind ``--`` go to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    """All four."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of each")
    parser.add_argument("--data", type=Path, help="a folder with traces of other profilers")
    parser.add_argument("--work", type=Path, default=Path("build/fuzz"))
    parser.add_argument("pytest", nargs="*", help="to pytest")
    args = parser.parse_args()
    options = ["--seconds", str(args.seconds), *(["--data", str(args.data)] if args.data else [])]
    tests = ["-m", "fuzz", "-o", "python_files=test_*.py fuzz_*.py", "--timeout=0", "-q", *args.pytest]
    parts = {
        "in forks": ["tests.fuzz.campaign.campaign", "--work", str(args.work), *options],
        "guided": ["tests.fuzz.guided.run", "--work", str(args.work / "guided"), *options],
        "in the window": ["tests.fuzz.campaign.window", "--work", str(args.work), *options],
        "properties, sanitizers": ["pytest", "-p", "tests.fuzz.for_a_time", *tests],
    }
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "fuzz", "FUZZ_SECONDS": str(args.seconds)}
    rows = []
    for name, words in parts.items():
        print(f"== {name}", flush=True)
        began = time.monotonic()
        status = subprocess.run([sys.executable, "-m", *words], env=environment, check=False).returncode
        rows.append((name, time.monotonic() - began, status))
    print("== all")
    for name, seconds, status in rows:
        print(f"{name:24} {seconds:8.0f} s  {f'badly: status {status}' if status else 'well'}")
    return int(any(status for _name, _seconds, status in rows))


if __name__ == "__main__":
    sys.exit(main())
