"""The environment of the recorded program: what its user gave it, and what sources that work inside it need.

Recording CPU states adds nothing: the program then sees exactly the environment ``warpline record`` was started with.
The environment is handed to the program and never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpline.model.tracks import Source
from warpline.recording.session import Session
from warpline.recording.sources.registry import asked_sources
from warpline.recording.unavailable import why_unavailable


@dataclass(frozen=True)
class TargetEnvironment:
    """All variables of the program; what sources said of themselves, by name; what a person should know."""

    variables: Mapping[str, str]
    sources: Mapping[str, Source]
    warnings: tuple[str, ...]


def environment_for_target(session: Session, inherited: Mapping[str, str]) -> TargetEnvironment:
    """Ask the sources that ``--trace`` names; each sees what those before it have set."""
    variables = dict(inherited)
    said: dict[str, Source] = {}
    warnings: list[str] = []
    for source in asked_sources(session.options.trace):
        try:
            part = source.contribute(session, variables)
        except Exception as error:  # a source may be anybody's; the others go on
            unavailable = why_unavailable(error)
            said[source.name] = Source(source.name, False, unavailable.reason, 0, unavailable.remedy)
            continue
        variables.update(part.variables)
        warnings.extend(part.warnings)
        if part.source is not None:
            said[source.name] = part.source
    return TargetEnvironment(variables, said, tuple(warnings))
