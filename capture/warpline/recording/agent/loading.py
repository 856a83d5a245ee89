"""Sets the variables by which NVTX, the CUDA driver or the dynamic loader load the agent into the program."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from warpline.i18n import english
from warpline.model.tracks import Source
from warpline.recording.agent.contribution import Contribution
from warpline.recording.agent.library import agent_library
from warpline.recording.session import Session
from warpline.recording.unavailable import Unavailable


def load_agent(session: Session, inherited: Mapping[str, str], name: str, variable: str) -> Contribution:
    """Have ``variable`` load the agent for the source ``name``; the setting of another tool is never replaced.

    Raises Unavailable when there is no agent.
    """
    variables = _agent_variables(session)
    try:
        require_free(variable, inherited)
    except Unavailable as taken:
        source = Source(name, False, taken.reason, 0, taken.remedy)
        return Contribution(variables, source, (f"{name}: {taken.reason}",))
    variables[variable] = variables["WARPLINE_AGENT"]
    return Contribution(variables, Source(name, True))


def preload_agent(session: Session, inherited: Mapping[str, str], name: str) -> Contribution:
    """Have the dynamic loader preload the agent into the program and its children, for the source ``name``.

    Libraries that the user preloads come first. Raises Unavailable when there is no agent or the loader cannot handle
    its path.
    """
    variables = _agent_variables(session)
    path = variables["WARPLINE_AGENT"]
    if any(character in path for character in " :"):
        raise Unavailable(
            english("the loader cannot preload {library}: its path has a blank or a colon", library=path),
            english("install Warpline in another folder"),
        )
    before = [word for word in re.split("[ :]+", inherited.get("LD_PRELOAD", "")) if word and word != path]
    return Contribution({**variables, "LD_PRELOAD": ":".join([*before, path])}, Source(name, True))


def _agent_variables(session: Session) -> dict[str, str]:
    library = agent_library()
    if library.path is None:
        raise Unavailable(library.reason, library.remedy)
    variables = {
        "WARPLINE_SPOOL": str(session.directory.resolve()),
        "WARPLINE_AGENT": str(library.path),
    }
    if session.options.capture_range != "none":
        variables["WARPLINE_CAPTURE_RANGE"] = session.options.capture_range
    return variables


def require_free(variable: str, inherited: Mapping[str, str]) -> None:
    """Raises Unavailable when another tool has set the variable."""
    other = inherited.get(variable, "")
    path = agent_library().path
    if other and path is not None and os.path.realpath(other) != os.path.realpath(path):
        raise Unavailable(
            english("{variable} is set to {other} by another tool", variable=variable, other=other),
            english("unset {variable} to record with Warpline", variable=variable),
        )
