"""Adds the agents' reports on their sources to the capture: which worked, which did not and why, what was lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from warpline.i18n import english, english_n, joined
from warpline.recording.agent.records import CLOSED_PROGRAM, Closed, closed_program
from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder


def add_agent_source(
    translation: Translation,
    spools: Sequence[SpoolFile],
    builder: CaptureBuilder,
    *,
    name: str,
    never_used: str,
    lost: int = 0,
    why_lost: str = "",
) -> None:
    """Add the source ``name`` (as in ``--trace``) from the states that processes wrote.

    It is enabled if one process recorded; the reasons of the others are kept. The last state of a process counts.
    Without any, the launcher's report stays, or the reason is ``never_used``. ``lost`` counts the records that the
    source itself lost; ``why_lost`` joins the reasons.
    """
    if name not in translation.session.options.trace:
        return
    agents = [spool for spool in spools if spool.header.producer == "agent"]
    reasons: dict[tuple[str, str], None] = {}
    enabled = False
    states = 0
    for spool in agents:
        own_states = [state for state in _states(spool) if state[0] == name]
        if not own_states:
            continue
        _name, is_enabled, reason, remedy = own_states[-1]
        states += 1
        enabled = enabled or is_enabled
        if reason:
            reasons[reason, remedy] = None
    if why_lost:
        reasons[why_lost, ""] = None
    if states:
        builder.add_source(
            name,
            enabled,
            joined("; ", (reason for reason, _remedy in reasons)),
            lost,
            joined("; ", dict.fromkeys(remedy for _reason, remedy in reasons if remedy)),
        )
    elif not _is_refused_elsewhere(spools, name):
        builder.add_source(name, False, never_used)


def add_agent_losses(spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add the source ``agent``: the records that agents could not write, and why."""
    agents = [spool for spool in spools if spool.header.producer == "agent"]
    if not agents:
        return
    lost = sum(spool.header.lost for spool in agents)
    errors = {spool.header.error for spool in agents if spool.header.error}
    builder.add_source(
        "agent",
        True,
        joined("; ", sorted(_why(error) for error in errors)),
        lost,
        english("free disk space, or choose another folder with --spool") if errors else "",
    )
    if lost:
        builder.add_warning(
            english_n(
                "{count:,} record could not be written inside the program: see source agent",
                "{count:,} records could not be written inside the program: see source agent",
                lost,
            )
        )


_SHOWN_PROGRAMS = 5


def closed_programs(spools: Sequence[SpoolFile]) -> str:
    """The programs that the agent could not enter and why, for the reason of a source; empty for none."""
    names: dict[int, dict[str, None]] = {}
    for spool in spools:
        for _pid, why, path, _reserved in spool.records(CLOSED_PROGRAM, closed_program).values.tolist():
            names.setdefault(why, {})[os.path.basename(spool.text(path))] = None
    lines = []
    for why, programs in sorted(names.items()):
        listed = list(programs)
        text = ", ".join(listed[:_SHOWN_PROGRAMS]) + (", …" if len(listed) > _SHOWN_PROGRAMS else "")
        if why == Closed.STATIC:
            lines.append(english("not inside {programs}: statically linked", programs=text))
        elif why == Closed.OTHER_MACHINE:
            lines.append(english("not inside {programs}: built for another architecture", programs=text))
        else:
            lines.append(english("not inside {programs}: set-uid or owned by another user", programs=text))
    return joined("; ", lines)


def _states(spool: SpoolFile) -> list[tuple[str, bool, str, str]]:
    rows = spool.records(records.SOURCE_STATE, records.source_state).values
    return [
        (spool.text(name), bool(enabled), spool.text(reason), spool.text(remedy))
        for name, enabled, reason, remedy, _lost in rows.tolist()
    ]


def _is_refused_elsewhere(spools: Sequence[SpoolFile], name: str) -> bool:
    """Whether the launcher already reported this source as disabled."""
    others = [spool for spool in spools if spool.header.producer != "agent"]
    return any(state[0] == name and not state[1] for spool in others for state in _states(spool))


def _why(error: int) -> str:
    if error == errno.EFBIG:
        return english("a spool file reached its maximum size")
    return english("a spool file could not be written: {why}", why=os.strerror(error))
