"""Writes docs/keys.md from the list of commands: ``python scripts/write_keys.py``."""

from __future__ import annotations

from pathlib import Path

from warpline_app.verbs.catalogue import all_commands
from warpline_app.window.keys_page import keys_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "keys.md"

if __name__ == "__main__":
    PAGE.write_text(keys_page(all_commands()), encoding="utf-8")
    print(f"wrote {PAGE}")
