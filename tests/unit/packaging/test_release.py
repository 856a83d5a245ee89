"""A release is made of a tested commit, and says what is in it."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import warpline

PACKAGING = Path(__file__).resolve().parents[3] / "packaging"
DAY = dt.date(2026, 12, 1)
CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Something.

## [0.4.0] – 2026-11-23

### Added

- Before.
"""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PACKAGING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


release = load("release")
sbom = load("sbom")


def test_what_was_unreleased_gets_a_heading_with_version_and_day() -> None:
    text = release.released(CHANGELOG, "0.5.0", DAY)
    assert "## [Unreleased]\n\n## [0.5.0] – 2026-12-01\n\n### Added\n\n- Something." in text
    parts = release.sections(text)
    assert list(parts) == ["Unreleased", "0.5.0", "0.4.0"]
    assert parts["Unreleased"] == ""
    assert parts["0.5.0"] == "### Added\n\n- Something."


@pytest.mark.parametrize(
    ("version", "reason"),
    [("0.4.0", "a section for 0.4.0"), ("0.3.9", "does not follow"), ("0.5.0rc1", "is no version")],
)
def test_a_version_that_does_not_follow_is_refused(version: str, reason: str) -> None:
    with pytest.raises(release.ReleaseError, match=reason):
        release.released(CHANGELOG, version, DAY)


def test_the_version_is_the_newest_release_or_the_next_one_in_development() -> None:
    parts = release.sections((PACKAGING.parent / "CHANGELOG.md").read_text("utf-8"))
    newest = next(name for name in parts if name != release.UNRELEASED)
    version, dev, _ = warpline.__version__.partition(".dev")
    assert bool(dev) == bool(parts[release.UNRELEASED])
    if dev:
        assert release._numbers(version) > release._numbers(newest)
    else:
        assert version == newest


def test_an_empty_section_is_refused() -> None:
    with pytest.raises(release.ReleaseError, match="nothing under"):
        release.released(CHANGELOG.replace("### Added\n\n- Something.\n\n", ""), "0.5.0", DAY)


def test_only_a_committed_and_tested_tree_is_released(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    (tmp_path / ".gitignore").write_text("/build/\n")
    with pytest.raises(release.ReleaseError, match="not committed"):
        release.require_tested(tmp_path)
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    with pytest.raises(release.ReleaseError, match="not tested; run: make test"):
        release.require_tested(tmp_path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "tested").write_text(git("rev-parse", "HEAD") + "\n")
    release.require_tested(tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "two")
    with pytest.raises(release.ReleaseError, match="not tested"):
        release.require_tested(tmp_path)


def test_the_bill_of_materials_names_requirements_and_checksums_and_is_the_same_twice(tmp_path: Path) -> None:
    wheel = tmp_path / "warpline-0.5.0-py3-none-any.whl"
    metadata = (
        "Metadata-Version: 2.4\nName: warpline\nVersion: 0.5.0\nRequires-Dist: numpy>=1.26\n"
        "Requires-Dist: pyside6-essentials>=6.8; extra == 'gui'\nRequires-Dist: mypy; extra == 'dev'\n"
        "Requires-Dist: duckdb>=1; (python_version < '4') and extra == 'sql'\n"
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("warpline-0.5.0.dist-info/METADATA", metadata)
    components = [sbom.required(needed) for needed in sbom.requirements(wheel)]
    texts = [sbom.write_sbom("0.5.0", [wheel], components * 2, tmp_path).read_bytes() for _ in range(2)]
    assert texts[0] == texts[1]
    document = json.loads(texts[0])
    assert [(part["name"], part["scope"]) for part in document["components"]] == [
        ("duckdb", "optional"),
        ("numpy", "required"),
        ("pyside6-essentials", "optional"),
    ]
    (file,) = document["metadata"]["component"]["components"]
    assert file["hashes"][0]["content"] == sbom.sha256(wheel)
