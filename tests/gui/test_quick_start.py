"""Shiboken's own modules, compiled once for all starts of a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from warpline_app.window.quick_start import keep_codes, read_codes

START = """
import builtins, json, sys
real, theirs = builtins.compile, []
def compile(source, filename, *more, **named):
    if str(filename).startswith("shibokensupport/"):
        theirs.append(filename)
    return real(source, filename, *more, **named)
builtins.compile = compile
from warpline_app.window.quick_start import spare_sources
spare_sources()
assert builtins.compile is compile
from PySide6.QtCore import QPoint
try:
    QPoint("no number")
except TypeError as error:
    print(json.dumps({"compiled": theirs, "told": str(error)}))
"""


def start(cache: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_the_second_start_compiles_nothing_of_shiboken(tmp_path: Path) -> None:
    first, second = start(tmp_path), start(tmp_path)
    assert first["compiled"]
    assert second["compiled"] == []
    assert first["told"] == second["told"]
    assert len(list((tmp_path / "warpline" / "code").iterdir())) == 1


def test_what_is_damaged_or_of_somebody_else_is_not_taken(tmp_path: Path) -> None:
    file, code = tmp_path / "code" / "kept.bin", compile("1", "a.py", "eval")
    keep_codes(file, {("a.py", 1): code})
    assert read_codes(file) == {("a.py", 1): code}
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:3], whole[:9] + b"\xff" + whole[10:], b"\0" + whole[1:]):
        file.write_bytes(damaged)
        assert read_codes(file) == {}
    file.write_bytes(whole)
    file.chmod(0o666)
    assert read_codes(file) == {}, "others could have written it"


def test_where_nothing_can_be_kept_each_start_compiles(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("in the way")
    keep_codes(tmp_path / "code" / "kept.bin", {})
    assert read_codes(tmp_path / "code" / "kept.bin") == {}
