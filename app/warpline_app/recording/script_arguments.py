"""The arguments that scripts were last recorded with: they belong to their script, not to the next one."""

from __future__ import annotations

from warpline_app.look.files_there import typed_path
from warpline_app.remembered.settings import Settings

SETTINGS_KEY = "recording/arguments"
_MOST = 30


def arguments_of(settings: Settings, script: str) -> str:
    """The arguments that a script was last recorded with; empty for a new one."""
    kept = settings.record_of(SETTINGS_KEY).get(_key(script), "")
    return kept if isinstance(kept, str) else ""


def remember_arguments(settings: Settings, script: str, arguments: str) -> None:
    """Keep the arguments of a script, and those of the scripts recorded before it."""
    key = _key(script)
    others = [pair for pair in settings.record_of(SETTINGS_KEY).items() if pair[0] != key]
    settings.set_record(SETTINGS_KEY, dict([*others, (key, arguments)][-_MOST:]))


def _key(script: str) -> str:
    return str(typed_path(script).absolute())
