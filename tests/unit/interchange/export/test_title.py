"""An export is titled after the file that the user opened."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from tests.unit.interchange.export.export_tools import written

from warpline.library.opening import open_path


def test_exports_of_a_converted_trace_are_titled_by_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trace = tmp_path / "my run.json"
    trace.write_text(
        json.dumps({"traceEvents": [{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]})
    )
    with open_path(trace, lambda _share, _text: None, lambda: False).capture as capture:
        assert capture.path.name != "my run.json"
        exported = orjson.loads(written(capture, tmp_path / "out.json").read_bytes())
        assert exported["traceName"] == "my run.json"
        page = written(capture, tmp_path / "out.html").read_text()
        assert "<title>my run.json" in page
        assert capture.path.stem not in page
        with open_path(
            written(capture, tmp_path / "out.h5"), lambda _share, _text: None, lambda: False
        ).capture as part:
            assert part.meta["exported_from"]["file"] == "my run.json"
            # A file that a person has made is called as they called it.
            again = orjson.loads(written(part, tmp_path / "again.json").read_bytes())
            assert again["traceName"] == "out.h5"
