"""How the agent gets into the recorded program: through a variable that NVTX or the CUDA driver looks at."""

from __future__ import annotations

import os
from collections.abc import Mapping

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.agent.contribution import Contribution
from warpline.recording.agent.library import agent_library
from warpline.recording.session import Session
from warpline.recording.unavailable import Unavailable


def load_agent(session: Session, inherited: Mapping[str, str], name: str, variable: str) -> Contribution:
    """Have ``variable`` load the agent for the source ``name``; what another tool has set is never replaced.

    Raises Unavailable when there is no agent.
    """
    library = agent_library()
    if library.path is None:
        raise Unavailable(library.reason, library.remedy)
    variables = {
        "WARPLINE_SPOOL": str(session.directory.resolve()),
        "WARPLINE_AGENT": str(library.path),
    }
    if session.options.capture_range != "none":
        variables["WARPLINE_CAPTURE_RANGE"] = session.options.capture_range
    try:
        require_free(variable, inherited)
    except Unavailable as taken:
        source = Source(name, False, taken.reason, 0, taken.remedy)
        return Contribution(variables, source, (f"{name}: {taken.reason}",))
    variables[variable] = str(library.path)
    return Contribution(variables, Source(name, True))


def require_free(variable: str, inherited: Mapping[str, str]) -> None:
    """Raises Unavailable when another tool has set the variable."""
    other = inherited.get(variable, "")
    path = agent_library().path
    if other and path is not None and os.path.realpath(other) != os.path.realpath(path):
        raise Unavailable(
            english("{variable} is set to {other} by another tool", variable=variable, other=other),
            english("unset {variable} to record with Warpline", variable=variable),
        )
