"""Resources are found wherever the package is."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline import resources


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in" / "icons").mkdir(parents=True)
    (tmp_path / "in" / "icons" / "app.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("no")
    monkeypatch.setattr(resources, "root", lambda: tmp_path / "in")
    return tmp_path / "in"


def test_a_resource_by_name(folder: Path) -> None:
    assert resources.path("icons/app.svg").read_text() == "<svg/>"
    assert resources.path() == folder.resolve()


def test_a_missing_resource_is_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.svg"):
        resources.path("icons/nothing.svg")


def test_a_name_cannot_leave_the_folder(folder: Path) -> None:
    with pytest.raises(ValueError, match="secret"):
        resources.path("../secret")
