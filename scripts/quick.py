"""Check what changed since the last commit, or since another one: lint, format, house, and the tests that import it.

    python scripts/quick.py [--since REVISION] [pytest arguments]

A test belongs to a change when it changed itself or imports a changed module. Slow tests, fuzz tests and types are left
to `make test`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SOURCE_ROOTS = ("capture", "app")


def git_lines(*arguments: str) -> list[str]:
    command = ["git", *arguments, "-z"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in output.split("\0") if line]


def changed_files(since: str) -> list[Path]:
    """Return the files that differ from `since`, relative to the repository: new ones too, deleted ones not."""
    names = [
        *git_lines("diff", "--name-only", "--diff-filter=d", since),
        *git_lines("ls-files", "--others", "--exclude-standard"),
    ]
    return sorted({Path(name) for name in names})


def module_name(path: Path) -> str | None:
    """Return the dotted name of a module of `warpline` or `warpline_app`, None for any other file."""
    if path.suffix != ".py" or path.parts[0] not in SOURCE_ROOTS:
        return None
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def matching_tests(modules: Iterable[str], changed: Iterable[Path], root: Path = ROOT) -> list[Path]:
    """Return the test files that changed or that import one of `modules`, relative to `root`."""
    tests = {path for path in changed if path.name.startswith("test_") and path.suffix == ".py"}
    patterns = []
    for module in modules:
        package, _, name = module.rpartition(".")
        patterns.append(rf"(?:from|import) {re.escape(module)}\b")
        if package:
            patterns.append(rf"from {re.escape(package)} import [^\n]*\b{re.escape(name)}\b")
    if patterns:
        names_a_module = re.compile("|".join(patterns))
        for path in sorted((root / "tests").rglob("test_*.py")):
            if names_a_module.search(path.read_text(encoding="utf-8")):
                tests.add(path.relative_to(root))
    return sorted(tests)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--since", default="HEAD", help="the revision to compare with (default: the last commit)"
    )
    arguments, pytest_arguments = parser.parse_known_args()
    changed = changed_files(arguments.since)
    python_files = [str(path) for path in changed if path.suffix == ".py"]
    tests = matching_tests(filter(None, map(module_name, changed)), changed)
    print(f"{len(changed)} changed files, {len(tests)} test files that import them", flush=True)
    commands: list[list[str | Path]] = [[sys.executable, ROOT / "scripts" / "house.py"]]
    if python_files:
        commands += [
            [BIN / "ruff", "check", *python_files],
            [BIN / "ruff", "format", "--check", *python_files],
        ]
    if any(path.suffix in {".c", ".h"} for path in changed):
        commands.append([sys.executable, ROOT / "scripts" / "build_native.py"])
    if tests:
        commands.append(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto"),
                *("--maxprocesses", "4", "-m", "not slow and not fuzz and not gpu"),
                *(str(path) for path in tests),
                *pytest_arguments,
            ]
        )
    statuses = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands]
    # pytest's 5: every test of these files is slow.
    return max((status for status in statuses if status != 5), default=0)


if __name__ == "__main__":
    raise SystemExit(main())
