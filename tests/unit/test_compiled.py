"""Compiled loops are used only when they are those of the sources beside them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from warpline.compiled import load
from warpline.storage.index.strip_native import LIBRARY


def test_no_library_is_no_error(tmp_path: Path) -> None:
    assert load(tmp_path / "libmissing.so", {}) is None
    (tmp_path / "libbroken.so").write_bytes(b"\x7fELF cut off")
    assert load(tmp_path / "libbroken.so", {}) is None


@pytest.mark.skipif(not LIBRARY.exists(), reason="no compiler made the library here")
def test_a_library_older_than_its_sources_is_left_alone(tmp_path: Path) -> None:
    library, sources = tmp_path / LIBRARY.name, tmp_path / "native"
    shutil.copy(LIBRARY, library)
    functions = {"warpline_strip_choose": (None, None)}
    assert load(library, functions) is not None
    assert load(library, {"warpline_of_another_version": (None, None)}) is None
    sources.mkdir()
    source = sources / "strip.c"
    source.write_text("", "utf-8")
    built = library.stat().st_mtime_ns
    os.utime(source, ns=(built - 10**9, built - 10**9))
    assert load(library, functions) is not None
    os.utime(source, ns=(built + 10**9, built + 10**9))
    assert load(library, functions) is None
