"""The session of a spool may be anybody's: what nobody records with is refused before anything is made of it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from warpline.model.errors import RecordingError
from warpline.recording.session import SESSION_FILE, RecordingOptions, Session, load_session

VALUES: tuple[Any, ...] = (None, True, -1, 0, 5, 1.5, 1 << 63, 10**400, "x", "", [], ["a"], [1], [["a"]], {})
BY_TYPE: dict[str, tuple[Any, ...]] = {
    "bool": (True,),
    "str": ("x", ""),
    "int": (0, 5),
    "int | None": (None, 0, 5),
    "tuple[str, ...]": ([], ["a"]),
}


def values_of(directory: Path) -> dict[str, Any]:
    """A session as it is stored."""
    Session(
        directory=directory,
        output=directory / "run.h5",
        command=("true",),
        working_directory="/",
        start_monotonic_ns=1,
        start_realtime_ns=2,
        recorder_pid=3,
        target_pid=4,
        options=RecordingOptions(trace=("cpu",)),
    ).save()
    values: dict[str, Any] = json.loads((directory / SESSION_FILE).read_text())
    return values


def is_taken(directory: Path, values: dict[str, Any]) -> bool:
    """Whether a session is believed; where it is not, an error says that it is damaged."""
    (directory / SESSION_FILE).write_text(json.dumps(values))
    try:
        load_session(directory)
    except RecordingError as error:
        return "is damaged" not in str(error)
    return True


def test_options_hold_what_their_types_say(tmp_path: Path) -> None:
    values = values_of(tmp_path)
    assert is_taken(tmp_path, values)
    for option in fields(RecordingOptions):
        for value in VALUES:
            hostile = values | {"options": values["options"] | {option.name: value}}
            # As texts: True is 1 to Python, and the sign is not.
            wanted = json.dumps(value) in map(json.dumps, BY_TYPE[str(option.type)])
            assert is_taken(tmp_path, hostile) is wanted, (option.name, value)


@pytest.mark.parametrize("value", [-1, 1 << 32, 1 << 64, "x", None])
def test_processes_have_ids(tmp_path: Path, value: Any) -> None:
    values = values_of(tmp_path)
    for key in ("recorder_pid", "target_pid"):
        assert not is_taken(tmp_path, values | {key: value})
