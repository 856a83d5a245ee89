"""What can be recorded on this machine: each source tried for real, briefly."""

from __future__ import annotations

from dataclasses import dataclass

from warpline.recording.platforms import is_linux, linux_only
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import why_unavailable


@dataclass(frozen=True)
class SourceCheck:
    """One source: whether it works here; if not, or only in part, why, and how to enable it.

    ``trace`` is its name in ``record --trace``.
    """

    name: str
    title: str
    available: bool
    reason: str = ""
    remedy: str = ""
    trace: str = ""


def check_sources() -> list[SourceCheck]:
    """Every source, in the order of importance."""
    return [check_source(source) for source in recording_sources()]


def check_source(source: RecordingSource) -> SourceCheck:
    """Try one source."""
    available, reason, remedy = True, "", ""
    if not is_linux():
        available, reason = False, linux_only()
    else:
        try:
            reason = source.probe()
        except Exception as error:  # a source may be anybody's; the others are tried
            unavailable = why_unavailable(error)
            available, reason, remedy = False, unavailable.reason, unavailable.remedy
    return SourceCheck(source.name, source.title, available, reason, remedy, source.choice.name)
