"""Every argument of every event in the test traces is kept, or counted as skipped."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest
from tests.unit.interchange.import_tools import imported

from warpline.interchange.paddle import columns as paddle_columns
from warpline.interchange.torch import args as torch_args
from warpline.interchange.torch.cpu import SchedulingArgs
from warpline.model import ImportFormatError
from warpline.storage import Capture

TRACES = (
    "torch/**/*.json.gz",
    "torch/**/*.json",
    "paddle/*.json",
    "ascend/**/trace_view.json",
    "chrome_generic/**/*.json*",
)
SHOWN_AS_EVENTS = "XiIRP"


def columns_of_structs() -> set[str]:
    """Arguments with their own attribute; other tests check their values."""
    structs = [SchedulingArgs, *vars(torch_args).values(), *vars(paddle_columns).values()]
    return {
        field.encode_name
        for struct in structs
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
        for field in msgspec.structs.fields(struct)
    }


def raw_events(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(path) as archive:
            data = archive.read(archive.namelist()[0])
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:  # NaN, and bytes that are no UTF-8
        document = json.loads(data)
    events = document.get("traceEvents", []) if isinstance(document, dict) else document
    return [event for event in events if isinstance(event, dict)]


def kept(capture: Capture) -> Counter[str]:
    """Number of events with each argument that has no attribute."""
    found: Counter[str] = Counter()
    for table in capture.kinds.values():
        if "payload" not in table.attributes:
            continue
        values, valid = table.column("payload")
        ids, counts = np.unique(np.asarray(values)[valid], return_counts=True)
        for number, count in zip(ids.tolist(), counts.tolist(), strict=True):
            payload = json.loads(capture.strings[number])
            if isinstance(payload, dict):
                found.update(dict.fromkeys(payload, count))
    return found


def traces(data_dir: Path) -> list[Path]:
    return sorted({path for pattern in TRACES for path in data_dir.glob(pattern)})


def test_no_argument_is_lost(data_dir: Path, tmp_path: Path) -> None:
    known = columns_of_structs()
    checked: Counter[str] = Counter()
    for path in traces(data_dir):
        try:
            events = raw_events(path)
            capture = imported(tmp_path, path)
        except (json.JSONDecodeError, ImportFormatError):
            continue  # damaged on purpose: other tests look at what is kept of them
        expected: Counter[str] = Counter()
        for event in events:
            arguments = event.get("args")
            if event.get("ph", "")[:1] in tuple(SHOWN_AS_EVENTS) and isinstance(arguments, dict):
                expected.update(key for key in arguments if key not in known)
        found = kept(capture)
        lost = {key: (count, found[key]) for key, count in expected.items() if found[key] < count}
        dropped = sum(entry.count for entry in capture.skipped if "events" in entry.what)
        assert not lost or dropped, f"{path.name}: {lost}"
        checked.update(expected)
        capture.close()
    # The survey that this test came from.
    assert checked["Collective name"] == 48
    assert checked["Input Strides"] == 26_338
    assert checked["Process Group Ranks"] == 48
    assert checked["kernel"] == 721


@pytest.mark.parametrize("scanned", [True, False])
def test_rare_arguments_are_kept_by_both_readers(
    scanned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warpline.interchange.trace_json import scanner

    if not scanned:
        monkeypatch.setattr(scanner, "library", lambda: None)
    more = {"kernel_file": "/tmp/x.py", "num_warps": 4, "nested": {"a": [1, "b"]}, "nothing": None}
    text = json.dumps(
        {
            "schemaVersion": 1,
            "traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": f"op {number}", "ts": number * 10, "dur": 5, "pid": 1, "tid": 1,
                 "args": {"Ev Idx": number, **(more if number % 3 else {}), **({"odd": number} if number == 7 else {})}}
                for number in range(12)
            ],
        }
    )  # fmt: skip
    (tmp_path / "trace.json").write_text(text)
    capture = imported(tmp_path, tmp_path / "trace.json")
    table = capture.kinds["operator"]
    values, valid = table.column("payload")
    payloads = [
        json.loads(capture.strings[value]) if known else None
        for value, known in zip(values.tolist(), valid.tolist(), strict=True)
    ]
    assert payloads == [
        None if number % 3 == 0 else {**more, **({"odd": 7} if number == 7 else {})} for number in range(12)
    ]
    assert table.column("event_index")[0].tolist() == list(range(12))
