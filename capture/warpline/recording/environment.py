"""What the environment of the recorded program gets in addition, so that agents are loaded into it.

Recording CPU states adds nothing: the program then sees exactly the environment ``warpline record`` was started with.
The environment is handed to the program and never stored.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from warpline.model.tracks import Source
from warpline.recording.session import Session

CONTRIBUTORS: tuple[str, ...] = ("warpline.recording.agent.environment",)
"""Modules with a function ``contribute(session, inherited) -> Contribution``, asked in this order."""


@dataclass(frozen=True)
class Contribution:
    """What one agent needs.

    ``variables`` are set in the program's environment; build them from ``inherited`` so that what a user has set is
    kept (PYTHONPATH is extended, never replaced). ``sources`` tell for each source of ``--trace`` that is this
    agent's whether it can record; ``warnings`` are stored in the capture and shown.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    warnings: tuple[str, ...] = ()


class Contributor(Protocol):
    """A module named in :data:`CONTRIBUTORS`."""

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        """What to add for this session; must not raise for a source that cannot work, but say so in ``sources``."""
        ...


def environment_for_target(session: Session, inherited: Mapping[str, str]) -> Contribution:
    """The program's whole environment as ``variables``, and what the agents said.

    Each contributor sees what those before it have set.
    """
    variables = dict(inherited)
    sources: list[Source] = []
    warnings: list[str] = []
    for name in CONTRIBUTORS:
        contributor = cast("Contributor", importlib.import_module(name))
        part = contributor.contribute(session, variables)
        variables.update(part.variables)
        sources.extend(part.sources)
        warnings.extend(part.warnings)
    return Contribution(variables, tuple(sources), tuple(warnings))
