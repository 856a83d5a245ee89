"""Sessions of recordings: sound ones in which a few values are others, and texts that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from tests.fuzz.campaign.mutate_spool import VALUES
from tests.fuzz.guided.target import in_memory, memory_file, scratch, settle

from warpline.model.errors import RecordingError
from warpline.recording import finalise as finalise_module
from warpline.recording.session import LATEST_NS, RecordingOptions, Session, load_session, output_in
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.spool import records
from warpline.recording.spool.reader import Chunk, SpoolFile, SpoolHeader
from warpline.storage import CaptureBuilder

_SECOND = 1_000_000_000
_NUMBERS = (0, 1, 7, 255, 256, 1 << 31, (1 << 32) - 1, _SECOND, 2 * _SECOND, 100 * _SECOND, LATEST_NS - 1)
_TEXTS = (
    "",
    "/",
    "x",
    "none",
    "nvtx:step",
    "\ud800",
    "\x1b[2J",
    "a\nb",
    "\u202e",
    "--password=x",
    "x" * 3000,
    "~/x.h5",
    "../x.h5",
)
_FREE: tuple[Any, ...] = (
    {}, {"cpus": 2}, {"cpus": "2", "name": "a", "nodes": [[0, 1], [2]]}, {"": {"a": [1, None, 2.5]}}, {"os": "\ud800"},
    {"cpus": -1, "boot_ns": (1 << 63) - 1}, {str(number): number for number in range(300)},
)  # fmt: skip
_WORDS: tuple[Any, ...] = (
    [],
    ["x", "y"],
    ["--token=a", "b"],
    ["\ud800", "a\nb"],
    ["x"] * 200,
    ["python", "-c", "x\ny"],
)
_SOUND_SHARE = 200
"""Of 256 choices those of a value that somebody might have written."""


@cache
def sound_session() -> dict[str, Any]:
    """What `Session.save` writes, for every source there is."""
    names = tuple(source.choice.name for source in recording_sources())
    folder = scratch() / "session"
    folder.mkdir(exist_ok=True)
    options = RecordingOptions(trace=names, duration_ns=_SECOND)
    whole = Session(
        directory=folder, output=Path("/x.h5"), command=("x", "y"),
        working_directory="/", start_monotonic_ns=_SECOND,
        start_realtime_ns=100 * _SECOND, recorder_pid=1, target_pid=7, options=options, host={"cpus": 2, "name": "a"},
        stop_monotonic_ns=4 * _SECOND, exit_status=0,
    )  # fmt: skip
    whole.save()
    found: dict[str, Any] = json.loads((folder / "session.json").read_text())
    return found


def _places(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    yield from ((key,) for key in document)
    yield from (("options", key) for key in document["options"])


def _like(value: Any) -> Sequence[Any]:
    """Values of the type of one."""
    if isinstance(value, bool):
        return (True, False)
    if isinstance(value, int) or value is None:
        return (None, *_NUMBERS) if value is None else _NUMBERS
    if isinstance(value, str):
        return _TEXTS
    return _WORDS if isinstance(value, list) else _FREE


def chosen(data: bytes, sound: dict[str, Any]) -> dict[str, Any]:
    """A session with other values: two bytes for each say where, and which."""
    options = {**sound["options"]}
    document = {**sound, "options": options}
    places = list(_places(sound))
    for where, which in zip(data[::2], data[1::2], strict=False):
        *above, key = places[where % len(places)]
        target = options if above else document
        known = sound["options"][key] if above else sound[key]
        pool = _like(known) if which < _SOUND_SHARE and key not in ("options", "version") else VALUES
        target[key] = pool[which % len(pool)]
    return document


def finalised(text: bytes, spool: SpoolFile, sources: Sequence[RecordingSource]) -> None:
    """What comes of the records of a file in memory, told by a session: every event, and nothing on a disk."""
    folder = memory_file(text, "run.h5.spool")
    output_in(folder)
    try:
        session = load_session(folder)
    except UnicodeDecodeError as error:  # the stand-in decodes where a file would be read
        raise RecordingError("no text") from error

    def unwritten(builder: CaptureBuilder, *_unused: Any) -> Path:
        settle(builder)
        return builder.path

    with (
        in_memory(),
        mock.patch.object(finalise_module, "recording_sources", return_value=sources),
        mock.patch.object(finalise_module, "load_session", return_value=session),
        mock.patch.object(finalise_module, "read_spools", return_value=([spool], [])),
        mock.patch.object(finalise_module, "read_error_tail", return_value=None),
        mock.patch.object(CaptureBuilder, "finish", unwritten),
    ):
        finalise_module.finalise(Path("/x.spool"), scratch() / "none.h5")


@cache
def _births() -> SpoolFile:
    """The recorder's file: threads that begin and are named, one of them of the target."""
    spool = SpoolFile.__new__(SpoolFile)
    spool.path = Path("recorder.spool")
    spool.header = SpoolHeader(
        pid=1,
        monotonic_ns=_SECOND,
        realtime_ns=100 * _SECOND,
        lost=0,
        parent_pid=1,
        finished=True,
        error=0,
        producer="recorder",
    )
    comm = np.zeros(2, records.comm)
    for name, values in (("pid", (7, 8)), ("tid", (7, 8)), ("time", (_SECOND, 2 * _SECOND))):
        if name in (comm.dtype.names or ()):
            comm[name] = values
    spool.chunks = (Chunk(records.COMM, comm.itemsize, 1, 7, comm.view(np.uint8)),)
    return spool


def run_session(data: bytes) -> None:
    """``session.json``, what a stranger's looks like and what a recording is by it: a text, or choices."""
    text = data if data[:1] in b"{[" else json.dumps(chosen(data, sound_session())).encode()
    finalised(text, _births(), ())


def session_seeds(_data: Path | None) -> list[bytes]:
    """Every place once with a value of its type, and the text itself."""
    places = len(list(_places(sound_session())))
    return [json.dumps(sound_session()).encode(), *(bytes((place, place % 7)) for place in range(places))]
