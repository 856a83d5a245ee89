"""Asks the tools of a server, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpline.agents.catalogue import answer, tools_of
from warpline.agents.privacy import Privacy
from warpline.agents.roots import Roots
from warpline.agents.session import AgentSession, ToolCall
from warpline.agents.tool import ToolPicture


def session_of(*files: Path, is_redacted: bool = False, allows_recording: bool = False) -> AgentSession:
    roots = Roots([file.parent for file in files])
    return AgentSession(
        files,
        roots=roots,
        privacy=Privacy(roots.folders, is_redacted=is_redacted),
        allows_recording=allows_recording,
    )


def ask(session: AgentSession, name: str, /, **given: Any) -> str:
    """The answer as text. Raises UsageError as the server tells it."""
    result = answer(tools_of(session)[name], ToolCall(session), given)
    return "PNG" if isinstance(result, ToolPicture) else result
