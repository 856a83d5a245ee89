"""Checks what this machine can record by briefly trying each source."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from warpline.memory_room import require_memory
from warpline.platform.systems import is_linux
from warpline.recording.agent.trials import PythonTrial, trial_text, try_pythons
from warpline.recording.platforms import linux_only
from warpline.recording.sources.registry import recording_sources
from warpline.recording.sources.source import RecordingSource
from warpline.recording.unavailable import Unavailable, why_unavailable

_SIDE_BY_SIDE = 4


@dataclass(frozen=True, kw_only=True)
class SourceCheck:
    """Whether a source works here; if not fully, the reason and how to enable it.

    ``trace`` is its name in ``record --trace``.
    """

    name: str
    title: str
    available: bool
    reason: str = ""
    remedy: str = ""
    trace: str = ""


def check_sources(every_python: bool = True) -> list[SourceCheck]:
    """Check every source, in their order. Sources that work inside Python are tried with every Python of this machine,
    or only with the one that runs Warpline.
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
            checks.append(replace(check, reason=trial_text(trial, pythons)) if trial else check)
        except Unavailable as refused:
            checks.append(_refused(source, refused))
    return checks


def _probe(source: RecordingSource) -> tuple[SourceCheck, PythonTrial | None]:
    """The result of its probe, and its trial inside Python, if any."""
    try:
        reason, trial = source.probe(), source.trial()
    except Exception as error:  # plug-in code may raise anything; check the others
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
