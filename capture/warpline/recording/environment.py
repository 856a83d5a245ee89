"""The environment of the recorded program: the user's, plus what sources inside the program need.

Recording CPU states adds nothing to it. The environment is passed to the program and never stored.
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
    """All variables of the program, the reports of sources by name, and warnings for the user."""

    variables: Mapping[str, str]
    sources: Mapping[str, Source]
    warnings: tuple[str, ...]


def environment_for_target(session: Session, inherited: Mapping[str, str]) -> TargetEnvironment:
    """Collect variables from the sources in ``--trace``; each source sees those set before it."""
    variables = dict(inherited)
    said: dict[str, Source] = {}
    warnings: list[str] = []
    for source in asked_sources(session.options.trace):
        try:
            part = source.contribute(session, variables)
        except Exception as error:  # plug-in code may raise anything; the others continue
            unavailable = why_unavailable(error)
            said[source.name] = Source(source.name, False, unavailable.reason, 0, unavailable.remedy)
            continue
        variables.update(part.variables)
        warnings.extend(part.warnings)
        if part.source is not None:
            said[source.name] = part.source
    return TargetEnvironment(variables, said, tuple(warnings))
