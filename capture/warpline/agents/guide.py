"""The guide that teaches an assistant to investigate with Warpline."""

from __future__ import annotations

from warpline.resources import path


def guide() -> str:
    """The guide as Markdown."""
    return path("agent/guide.md").read_text("utf-8")
