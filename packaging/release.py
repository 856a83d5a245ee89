"""Prepares a release: ``python packaging/release.py VERSION``; nothing is uploaded, committed or tagged.

Refuses a tree that is not committed or not tested whole (``make test`` notes the commit in ``build/tested``). Then the
version is set, the changelog's section is written, and dist/ gets wheels, source distribution, SBOM, notes, checksums.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_VERSION_FILE = "capture/warpline/_version.py"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_SECTION = re.compile(r"^## \[(?P<name>[^]]+)\][^\n]*\n", re.MULTILINE)
UNRELEASED = "Unreleased"


class ReleaseError(Exception):
    """This tree cannot be released."""


def require_tested(root: Path) -> None:
    """Raises ReleaseError unless everything is committed and the commit passed ``make test``."""
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("there are changes that are not committed")
    tested = root / "build" / "tested"
    if not tested.is_file() or tested.read_text().strip() != _git(root, "rev-parse", "HEAD"):
        raise ReleaseError("this commit was not tested; run: make test")


def sections(changelog: str) -> dict[str, str]:
    """The text below each heading of a changelog, by version, newest first."""
    heads = list(_SECTION.finditer(changelog))
    ends = [head.start() for head in heads[1:]] + [len(changelog)]
    return {head["name"]: changelog[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)}


def released(changelog: str, version: str, day: dt.date) -> str:
    """The changelog with what is unreleased under a heading of the version. Raises ReleaseError."""
    parts = sections(changelog)
    if not parts.get(UNRELEASED):
        raise ReleaseError("the changelog has nothing under [Unreleased]")
    if version in parts:
        raise ReleaseError(f"the changelog has a section for {version} already")
    newest = next((name for name in parts if name != UNRELEASED), "0")
    if _numbers(version) <= _numbers(newest):
        raise ReleaseError(f"{version} does not follow {newest}")
    head = f"## [{UNRELEASED}]\n"
    return changelog.replace(head, f"{head}\n## [{version}] – {day.isoformat()}\n", 1)


def _numbers(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise ReleaseError(f"{version!r} is no version like 1.2.0")
    return tuple(map(int, version.split(".")))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def build(version: str, dist: Path, notes: str) -> None:
    """Fills dist/ with what is uploaded."""
    from sbom import required, requirements, sha256, write_sbom

    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    wheels = [sys.executable, str(ROOT / "packaging" / "build_wheels.py"), "--output", str(dist)]
    source = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(dist), str(ROOT)]
    for command in (wheels, source):
        subprocess.run(command, check=True)
    files = sorted(dist.iterdir())
    components = [required(needed) for path in dist.glob("*.whl") for needed in requirements(path)]
    files.append(write_sbom(version, files, components, dist))
    (dist / "NOTES.md").write_text(notes + "\n", "utf-8")
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in files)
    (dist / "SHA256SUMS").write_text(sums, "ascii")


def main() -> int:
    """Prepares the release of the version that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    args = parser.parse_args()
    require_tested(ROOT)
    changelog, version_file = ROOT / "CHANGELOG.md", ROOT / _VERSION_FILE
    text = released(changelog.read_text("utf-8"), args.version, dt.datetime.now(dt.UTC).date())
    changelog.write_text(text, "utf-8")
    code = version_file.read_text("utf-8")
    version_file.write_text(_VERSION.sub(f'__version__ = "{args.version}"', code), "utf-8")
    build(args.version, ROOT / "dist", sections(text)[args.version])
    tag = f"v{args.version}"
    print(f'next: git commit -am "Release {args.version}" && git tag {tag}, push both, upload dist/')
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(f"release: {error}")
