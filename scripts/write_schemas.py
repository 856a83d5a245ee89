"""Writes docs/schemas/mcp-tools-1.json, the tools of ``warpline mcp``: ``python scripts/write_schemas.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warpline.agents import catalogue

PAGE = Path(__file__).resolve().parents[1] / "docs" / "schemas" / "mcp-tools-1.json"


def tools() -> dict[str, Any]:
    """All tools with the JSON schemas of their arguments, those included that need an extra or a permission."""
    every = [tool for module in catalogue.ALL for tool in module.TOOLS]
    return {
        "schema": "mcp-tools/1",
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "read_only": tool.is_read_only,
                "arguments": tool.schema(),
            }
            for tool in every
        ],
    }


def page() -> str:
    """The file's text."""
    return json.dumps(tools(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
