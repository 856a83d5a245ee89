"""Validates what the other end says about a recording: nothing in it is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from warpline.model.tracks import Source
from warpline.untrusted import visible

if TYPE_CHECKING:
    from warpline.recording.recorder import RecorderOutcome

Value = TypeVar("Value", int, str)


def outcome_of(values: Any, stop_ns: int) -> RecorderOutcome:
    """How the recording ended, as the other end says. ``stop_ns`` is 0 when no status has told it."""
    from warpline.recording.recorder import RecorderOutcome

    values = values if isinstance(values, dict) else {}
    number = _of_type(values, int, 0)
    sources = values.get("sources")
    return RecorderOutcome(
        stop_monotonic_ns=stop_ns or number("stop_monotonic_ns"),
        events=number("events"),
        lost=number("lost"),
        sources=tuple(map(_source, sources if isinstance(sources, list) else ())),
        warnings=tuple(safe(text) for text in values.get("warnings") or () if isinstance(text, str)),
        ended_early=_of_type(values, str, "")("ended_early"),
    )


def _source(values: Any) -> Source:
    values = values if isinstance(values, dict) else {}
    text = _of_type(values, str, "")
    return Source(
        text("name"),
        values.get("enabled") is True,
        text("reason"),
        _of_type(values, int, 0)("lost"),
        text("remedy"),
    )


def _of_type(values: dict[str, Any], kind: type[Value], otherwise: Value) -> Callable[[str], Value]:
    def value(name: str) -> Value:
        found = values.get(name)
        return safe(found) if isinstance(found, kind) else otherwise

    return value


def safe(value: Any) -> Any:
    """A value without terminal controls in its texts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [safe(part) for part in value]
    if isinstance(value, dict):
        return {str(key): safe(part) for key, part in value.items()}
    return value


def own_status(status: dict[str, Any]) -> dict[str, Any]:
    """The status with the remote process id as ``far_pid``: ``target_pid`` stands for a process of this machine."""
    if "target_pid" in status:
        status |= {"target_pid": 0, "far_pid": status["target_pid"]}
    return status
