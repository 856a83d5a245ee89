"""The base class of sources that record through hooks inside a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import RecordingSource

if TYPE_CHECKING:
    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session


class HookedSource(RecordingSource):
    """Recorded by the preloaded agent, whose Python code installs hooks in the program."""

    def probe(self) -> str:
        from warpline.recording.agent.probing import require_agent

        require_agent()
        return ""

    def trial(self) -> PythonTrial:
        from warpline.recording.hooks.probing import HOOKS_TRIAL

        return HOOKS_TRIAL

    def asked(self, session: Session) -> Mapping[str, str]:  # noqa: ARG002  # for sources that ask for more
        """Variables with the options of the hooks."""
        return {}

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import preload_agent
        from warpline.recording.hooks.injection import hooking

        loaded = preload_agent(session, inherited, self.name)
        variables = {**loaded.variables, **hooking(self.name, inherited), **self.asked(session)}
        return Contribution(variables, loaded.source, loaded.warnings)
