"""Puts bugs into a copy of the tree, one at a time, and tells which of them the tests notice.

    python tests/mutation/run.py [--list] [--bar N] [NAME…]

NAME chooses bugs by a part of their name. The checkout is never touched. Ends with status 1 when fewer than ``--bar``
of all bugs are caught (of chosen ones: when one survives), 2 when a bug does not fit the code any more or the tests
fail without any bug.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY)]

from tests.mutation.bugs import BUGS, Bug  # noqa: E402  # found through the path above

BAR = 22
TIMEOUT_S = 900


@dataclass(frozen=True)
class Outcome:
    """What became of a bug: which test noticed it, None when none did."""

    bug: Bug
    noticed_by: str | None
    seconds: float


def misfit(bug: Bug, root: Path = REPOSITORY) -> str | None:
    """Why a bug cannot be put into the tree below ``root``; None when it can."""
    path = root / bug.file
    if not path.is_file():
        return f"{bug.name}: {bug.file} is not there; say where the code went"
    found = path.read_text("utf-8").count(bug.old)
    if found != 1:
        return f"{bug.name}: {bug.file} has the old text {found} times instead of once; mend the bug"
    missing = [test for test in bug.tests if not (root / test).exists()]
    return f"{bug.name}: there are no tests {', '.join(missing)}" if missing else None


def copy_tree(target: Path) -> None:
    """The files of the checkout as they are now, compiled libraries included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    names = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    names += [
        path.relative_to(REPOSITORY)
        for top in ("capture", "app")
        for path in (REPOSITORY / top).rglob("*.so")
    ]
    for name in names:
        if (REPOSITORY / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, target / name)


def run_tests(tree: Path, tests: Sequence[str]) -> tuple[bool, str]:
    """Whether the tests pass in a tree, and the first that does not."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / top) for top in ("capture", "app")),
        # A changed file of the same second and length would be taken for the compiled one.
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_PROFILE": "ci",
        "QT_QPA_PLATFORM": "offscreen",
        "WARPLINE_TEST_DATA": os.environ.get("WARPLINE_TEST_DATA")
        or str(REPOSITORY.parent / "shared" / "data"),
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"no end after {TIMEOUT_S} s"
    if done.returncode == 0:
        return True, ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return False, lines[0].split(" - ")[0].split(" ", 1)[1] if lines else done.stdout[-2000:] + done.stderr[
        -2000:
    ]


def try_bug(tree: Path, bug: Bug) -> Outcome:
    """Put the bug in, run its tests, take it out."""
    path = tree / bug.file
    sound = path.read_text("utf-8")
    began = time.monotonic()
    path.write_text(sound.replace(bug.old, bug.new), "utf-8")
    try:
        passed, first = run_tests(tree, bug.tests)
    finally:
        path.write_text(sound, "utf-8")
    return Outcome(bug, None if passed else first, time.monotonic() - began)


def report(outcomes: Sequence[Outcome]) -> None:
    """Print a table."""
    print()
    for outcome in outcomes:
        state = "caught  " if outcome.noticed_by is not None else "SURVIVED"
        by = outcome.noticed_by or f"tests: {', '.join(outcome.bug.tests)}"
        print(f"{state} {outcome.seconds:6.0f} s  {outcome.bug.name}")
        print(f"{'':20}{outcome.bug.file}; {by}")
    caught = sum(outcome.noticed_by is not None for outcome in outcomes)
    print(f"\n{caught} of {len(outcomes)} bugs caught")


def main(arguments: Sequence[str] | None = None) -> int:
    """See the text at the top; returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Put bugs into a copy of the tree and see which the tests notice."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of the name of a bug")
    parser.add_argument("--bar", type=int, default=BAR, help="how many must be caught (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the bugs")
    options = parser.parse_args(arguments)
    chosen = [bug for bug in BUGS if not options.names or any(name in bug.name for name in options.names)]
    if options.list or not chosen:
        print("\n".join(f"{bug.name}: {bug.file}" for bug in BUGS))
        return 0 if options.list else 2
    if misfits := [text for text in map(misfit, chosen) if text]:
        print("\n".join(misfits), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="warpline-mutation-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        passed, first = run_tests(tree, sorted({test for bug in chosen for test in bug.tests}))
        if not passed:
            print(f"the tests fail without any bug: {first}", file=sys.stderr)
            return 2
        outcomes = []
        for number, bug in enumerate(chosen, 1):
            print(f"{number}/{len(chosen)} {bug.name}", flush=True)
            outcomes.append(try_bug(tree, bug))
    report(outcomes)
    caught = sum(outcome.noticed_by is not None for outcome in outcomes)
    return 0 if caught >= (min(options.bar, len(BUGS)) if len(chosen) == len(BUGS) else len(chosen)) else 1


if __name__ == "__main__":
    sys.exit(main())
