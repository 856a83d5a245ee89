"""What can be recorded on this machine: each source tried for real, briefly."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from warpline.memory_room import require_memory
from warpline.recording.agent.trials import PythonTrial, told, try_pythons
from warpline.recording.platforms import is_linux, linux_only
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import Unavailable, why_unavailable

_SIDE_BY_SIDE = 4


@dataclass(frozen=True, kw_only=True)
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


def check_sources(every_python: bool = True) -> list[SourceCheck]:
    """Every source, in the order of importance; what looks into Pythons is tried with each of this machine, or with
    the one that runs Warpline alone.
    """
    return _check_all(recording_sources(), every_python)


def check_source(source: RecordingSource) -> SourceCheck:
    """Try one source, with this Python."""
    return _check_all([source], every_python=False)[0]


def _check_all(sources: Sequence[RecordingSource], every_python: bool) -> list[SourceCheck]:
    if not is_linux():
        return [_refused(source, Unavailable(linux_only())) for source in sources]
    require_memory(_SIDE_BY_SIDE)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        probed = list(pool.map(_probe, sources))
    trials = [trial for _source_check, trial in probed if trial is not None]
    pythons = try_pythons(trials, every_python) if trials else []
    checks: list[SourceCheck] = []
    for source, (check, trial) in zip(sources, probed, strict=True):
        try:
            checks.append(replace(check, reason=told(trial, pythons)) if trial else check)
        except Unavailable as refused:
            checks.append(_refused(source, refused))
    return checks


def _probe(source: RecordingSource) -> tuple[SourceCheck, PythonTrial | None]:
    """What it says by itself, and what is to be tried in a Python."""
    try:
        reason, trial = source.probe(), source.trial()
    except Exception as error:  # a source may be anybody's; the others are tried
        return _refused(source, why_unavailable(error)), None
    return SourceCheck(
        name=source.name,
        title=source.title,
        available=True,
        reason=reason,
        remedy="",
        trace=source.choice.name,
    ), trial


def _refused(source: RecordingSource, why: Unavailable) -> SourceCheck:
    return SourceCheck(
        name=source.name,
        title=source.title,
        available=False,
        reason=why.reason,
        remedy=why.remedy,
        trace=source.choice.name,
    )
