"""All tools, those of a server, and how a call is answered."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from warpline.agents.session import AgentSession, ToolCall
from warpline.agents.texts import capped, not_recorded
from warpline.agents.tool import Tool, ToolPicture
from warpline.agents.tools import (
    captures,
    comparing,
    events,
    findings,
    jobs,
    pictures,
    questions,
    recording,
    reports,
)
from warpline.model.errors import NotRecordedError, UsageError, WarplineError
from warpline.model.progress import check_cancelled

_READING = (captures, findings, reports, events, comparing, jobs)
ALL = (*_READING, questions, pictures, recording)
"""The modules with tools, those included that need an extra or a permission."""


def tools_of(session: AgentSession) -> dict[str, Tool]:
    """The tools that a server offers, by name: without pictures, SQL or recording where these cannot be had."""
    modules = list(_READING)
    if importlib.util.find_spec("PySide6") is not None:
        modules.append(pictures)
    # SQL can spell a hidden text in other words.
    if importlib.util.find_spec("duckdb") is not None and not session.privacy.is_redacted:
        modules.append(questions)
    if session.allows_recording:
        modules.append(recording)
    return {tool.name: tool for module in modules for tool in module.TOOLS}


def answer(tool: Tool, call: ToolCall, given: Mapping[str, Any]) -> str | ToolPicture:
    """The answer to a call: short, clean, with ``status: not_recorded`` first where the capture lacks what is asked.

    Raises WarplineError for what is wrong with the question, with one clean line.
    """
    privacy = call.session.privacy
    try:
        values = tool.checked(given)
        with call.session.turn:
            check_cancelled(call.cancelled.is_set, "the call was cancelled")
            result = tool.run(call, values)
    except NotRecordedError as error:
        result = not_recorded(str(error))
    except WarplineError as error:
        raise UsageError(privacy.cleaned(" ".join(str(error).split()))[:2000]) from error
    except (MemoryError, RecursionError) as error:
        raise UsageError("not enough memory; ask for a smaller range") from error
    except Exception as error:
        # A damaged file may get this far; its text may hold what is private.
        raise UsageError(f"{tool.name} failed on this capture: {type(error).__name__}") from error
    if isinstance(result, ToolPicture):
        return result
    return capped(privacy.cleaned(result))
