"""Memory snapshots of PyTorch: what they hold, and that a pickle is never trusted."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import count, imported, rows, skipped, text_file
from tests.unit.interchange.profiles.profile_seeds import memory_snapshot

from warpline.interchange import detect, import_files
from warpline.interchange.torch_memory.plain_pickle import PickleError, PlainPickle
from warpline.model import Flag, ImportFormatError

START = 1_700_000_000_000_000_000


def loaded(content: bytes) -> Any:
    return PlainPickle(io.BytesIO(content), lambda value: value, lambda: None).load()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_plain_values_are_read_whatever_the_version(protocol: int) -> None:
    shared = [1, 2]
    value = {
        "a": [
            None,
            True,
            False,
            0,
            255,
            65535,
            -1,
            1 << 40,
            -(1 << 70),
            2.5,
            "ä" * 300,
            b"x" * 300,
            shared,
            shared,
        ],
        "b": {"c": {}, "d": (), "e": (1,), "f": (1, 2, 3, 4)},
        "long": list(range(3000)),
        "many": {str(n): n for n in range(1500)},
    }
    content = pickle.dumps(value, protocol)
    if protocol < 3:  # bytes are calls of a function there
        with pytest.raises(PickleError, match="more than plain values"):
            loaded(content)
        value["a"] = [entry for entry in value["a"] if not isinstance(entry, bytes)]
        content = pickle.dumps(value, protocol)
    if protocol == 0:  # texts and references as lines, which PyTorch never wrote
        return
    assert loaded(content) == value


class Harmful:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch harmed",)


def test_a_pickle_that_calls_functions_is_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in (Harmful(), {"segments": [], "device_traces": [[Harmful()]]}, {1, 2}, range(3)):
        with pytest.raises(PickleError, match="more than plain values"):
            loaded(pickle.dumps(value))
    path = text_file(tmp_path, pickle.dumps({"segments": [], "x": Harmful()}), "snapshot.pickle")
    with pytest.raises(ImportFormatError, match="more than plain values"):
        import_files([path], tmp_path / "out.h5")
    assert not (tmp_path / "harmed").exists()


def test_allocations_last_from_their_beginning_to_their_release(tmp_path: Path) -> None:
    path = text_file(tmp_path, memory_snapshot(), "x.bin")
    assert detect(path).name == "torch-memory"
    capture = imported(tmp_path, path)
    found = [
        (name, start - START, duration, uri.rpartition("/")[2])
        for name, start, duration, uri in rows(capture, "allocation")
    ]
    assert found == [
        ("main (a.py:1)", 0, 60_000, "segments"),
        ("no stack", 0, 60_000, "allocations"),  # only in the snapshot
        ("no stack", 0, 45_000, "allocations"),  # released, but allocated before the history
        ("work (b.py:2)", 10_000, 20_000, "allocations"),
        ("main (a.py:1)", 20_000, 40_000, "allocations"),
    ]
    flags = {
        capture.events.duration[row]: Flag(int(capture.events.flags[row]))
        for row in capture.kinds["allocation"].rows
    }
    assert flags[45_000] == Flag.CUT_START
    assert flags[20_000] == Flag(0)
    assert flags[40_000] == Flag.CUT_END
    assert skipped(capture) == {"requested releases": 1}


def test_totals_end_with_what_the_snapshot_says_is_in_use(tmp_path: Path) -> None:
    capture = imported(tmp_path, text_file(tmp_path, memory_snapshot()))
    values = {counter.name: list(counter.values) for counter in capture.counters}
    assert values == {"Allocated memory": [1336, 1848, 824, 768], "Reserved memory": [1 << 21]}
    assert count(capture, "memory") == 4
    assert [row[0] for row in rows(capture, "range")] == ["step"]
    assert [row[0] for row in rows(capture, "diagnostic")] == ["out of memory"]
