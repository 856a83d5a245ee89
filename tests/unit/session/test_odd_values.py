"""Settings that somebody wrote into: what Qt would make objects of, or read as a pickle, is never read."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpline_app.session.settings import Settings

LINES = (
    b"[files]\nrecent=@Variant(\\0\\0\\0\t\x91\x91\xa3\xcf\xa3\\0\\x7f)\n",
    b"[files]\nlast_folder=@Variant(\\0\\0\\0\x9c\\x7f)\n",
    b"[appearance]\ntheme=@Variant(\\0\\x1\\0\\x7f)\nlanguage=@DateTime(1)\n",
)


@pytest.mark.parametrize("line", LINES)
def test_objects_in_settings_are_forgotten(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "settings.ini"
    path.write_bytes(line + b"[session]\nrestore=true\n")
    settings = Settings(path)
    assert settings.restore_session
    assert (settings.theme, settings.language, settings.last_folder) == ("system", "system", "")
    assert settings.recent_files == []
    settings.theme = "dark"
    settings.save()
    assert b"@Variant" not in path.read_bytes()
    assert Settings(path).theme == "dark"
