"""Edited settings files: values that Qt would turn into objects or unpickle are never read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QByteArray, QSettings

from warpline_app.remembered import settings as settings_module
from warpline_app.remembered.settings import Settings

LINES = (
    b"[files]\nrecent=@Variant(\\0\\0\\0\t\x91\x91\xa3\xcf\xa3\\0\\x7f)\n",
    b"[files]\nlast_folder=@Variant(\\0\\0\\0\x9c\\x7f)\n",
    b"[appearance]\ntheme=@Variant(\\0\\x1\\0\\x7f)\nlanguage=@DateTime(1)\n",
    b"[files]\nlast_folder=\\x40Variant(\\0\\0\\0\x9c\\x7f)\n",
    b'[files]\nlast_folder=@Var"ia" "nt"(\\0\\0\\0\x9c\\x7f)\n',
    b"[files]\nlast_folder=@Vari\\\nant(\\0\\0\\0\x9c\\x7f)\n",
)
_MARK = "@Size("
"""What Qt makes an object of that does no harm: stands for the others."""
_WAYS = (
    lambda one: one.encode(), lambda one: b"\\x%x" % ord(one), lambda one: b"\\x%X" % (0x10000 + ord(one)),
    lambda one: b"\\%o" % ord(one), lambda one: b'"%c"' % ord(one), lambda one: b'""\t' + one.encode(),
    lambda one: b"\\\n" + one.encode(), lambda one: b"\\\r\n" + one.encode(), lambda one: b"\\q" + one.encode(),
    lambda one: b'"\n' + one.encode() + b'"',
)  # fmt: skip
"""Ways to write a character, some of which Qt reads as that one."""


@pytest.mark.parametrize("line", LINES)
def test_objects_in_settings_are_removed(tmp_path: Path, line: bytes) -> None:
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


@given(
    st.lists(st.sampled_from(_WAYS), min_size=len(_MARK), max_size=len(_MARK)),
    st.sampled_from((b"", b'"a", ', b"a,", b'"', b" ", b"\\0", b"x=1\n[files]\n")),
    st.sampled_from((b"1 2)", b'1 2)"', b"1 2), b", b'\\x31 2)\nx="')),
)
def test_no_escape_sequence_hides_an_object(
    tmp_path_factory: pytest.TempPathFactory, ways: list[Callable[[str], bytes]], before: bytes, behind: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.ini"
    word = b"".join(way(one) for way, one in zip(ways, _MARK, strict=True))
    path.write_bytes(b"[files]\nlast_folder=" + before + word + behind + b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings_module, "_OBJECTS", (_MARK.encode(),))
        Settings(path)
    store = QSettings(str(path), QSettings.Format.IniFormat)
    for key in store.allKeys():
        value = store.value(key)
        assert isinstance(value, str | None) or all(isinstance(one, str) for one in value), (key, value)


@given(st.text(), st.binary(), st.lists(st.text()))
def test_saved_settings_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, blob: bytes, names: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "saved.ini"
    path.unlink(missing_ok=True)
    settings = Settings(path)
    settings.last_folder = text.replace("\0", "")
    settings.set_bytes("window/geometry", QByteArray(blob))
    settings.set_record("a", {"names": names})
    settings.save()
    content = path.read_bytes()
    found = Settings(path)
    assert path.read_bytes() == content
    assert found.last_folder == text.replace("\0", "")
    assert found.bytes_of("window/geometry") == (QByteArray(blob) if blob else None)
    assert found.record_of("a") == {"names": names}


def test_unsaved_settings_touch_no_file() -> None:
    settings = Settings.kept_nowhere()
    settings.theme = "dark"
    settings.save()
    assert settings.theme == "dark"
    assert not Path(os.devnull).is_file()
    assert Settings.kept_nowhere().theme == "system"
