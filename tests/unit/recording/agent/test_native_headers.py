"""C and Python share layouts: the agent's headers are written from Python's tables."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["records.h", "python/python_offsets.h"])
def test_headers_of_the_agent_are_current(repository: Path, name: str) -> None:
    path = repository / "scripts" / "write_native_headers.py"
    spec = importlib.util.spec_from_file_location("write_native_headers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (module.NATIVE / name).read_text(encoding="utf-8")
    assert written == module.HEADERS[name](), "run: python scripts/write_native_headers.py"
