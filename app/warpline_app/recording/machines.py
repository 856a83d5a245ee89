"""Machines that New Capture offers: hosts of ssh's configuration, and those used before."""

from __future__ import annotations

import re
from pathlib import Path

from warpline.platform.folders import home_folder
from warpline_app.remembered.settings import Settings

SETTINGS_KEY = "record/machines"
_MOST_RECENT = 8
_MOST_BYTES = 1 << 20


def ssh_hosts(config: Path | None = None) -> list[str]:
    """Names after ``Host`` in ssh's configuration, without patterns."""
    try:
        with (config or home_folder() / ".ssh" / "config").open(errors="replace") as file:
            text = file.read(_MOST_BYTES)
    except OSError:
        return []
    lines = re.findall(r"^[ \t]*Host[ \t=]+(.+)$", text, re.IGNORECASE | re.MULTILINE)
    names = (name.strip('"') for line in lines for name in line.split())
    return list(dict.fromkeys(name for name in names if not set(name) & set("*?!#")))


def recent_machines(settings: Settings) -> list[str]:
    """Machines used before, the last one first."""
    names = settings.record_of(SETTINGS_KEY).get("recent")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def remember_machine(settings: Settings, name: str) -> None:
    """Put a machine at the head of the recent ones."""
    others = [other for other in recent_machines(settings) if other != name]
    settings.set_record(SETTINGS_KEY, {"recent": [name, *others][:_MOST_RECENT]})


def machine_words(where: str) -> list[str]:
    """The options that name a machine: a host, or a command with blanks; none for this computer."""
    where = where.strip()
    if not where:
        return []
    return ["--via", where] if " " in where else [f"--on={where}"]
