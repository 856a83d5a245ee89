"""A window whose home cannot be written, in Turkish, beside a wall clock that jumps; and times that no clock shows."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.gui.hostile.surroundings import surroundings, use_window

from warpline.platform.folders import home_folder
from warpline_app.look.files_there import local_time, typed_path
from warpline_app.window.start.recent_card import age_text, figures_of

NOW = datetime(2026, 3, 1, 12)


def test_a_window_without_a_home_in_turkish_beside_a_jumping_clock(sample: Path, tmp_path: Path) -> None:
    """The other surroundings are those of `tests.soak.coming_and_going`."""
    title, variables = next(iter(surroundings(tmp_path).items()))
    said = use_window(sample, tmp_path, variables)
    assert said == {"surprises": [], "problems": [], "recent": [str(sample)]}, title


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(minutes=3), "3 minutes ago"),
        (timedelta(seconds=-200), "just now"),  # the clock of a server of files
        (timedelta(hours=-1), "01/03/2026"),  # the clock was put back
        (timedelta(days=-36500), "05/02/2126"),
        (timedelta(days=400), "25/01/2025"),
    ],
)
def test_an_age_is_told_whatever_the_clock_says(ago: timedelta, text: str) -> None:
    told = age_text(NOW - ago, NOW)
    if "ago" in text or "now" in text:
        assert told == text
    else:  # the form of a date is the locale's
        assert "ago" not in told
        assert any(digit.isdigit() for digit in told)


def test_times_of_files_may_be_any(tmp_path: Path) -> None:
    assert local_time(1e18) == datetime.max
    assert local_time(-1e18) == datetime.min
    assert local_time(float("inf")) == datetime.max
    path = tmp_path / "far.h5"
    path.write_bytes(b"x")
    for seconds in (2**31 - 1, 2**34, 0, -(2**31)):  # what a file system cannot hold it cuts
        os.utime(path, (0, seconds))
        assert "1 B" in figures_of(path, None, NOW)
    path.unlink()
    assert figures_of(path, None, NOW)


def test_nobody_knows_the_home_of_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as any user."""

    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert home_folder() == Path("/")
    assert typed_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
