"""The list of reports in docs/summaries.md is that of the registry."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_the_list_of_reports_is_current(repository: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        "write_reports", repository / "scripts" / "write_reports.py"
    )
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = (repository / "docs" / "summaries.md").read_text(encoding="utf-8")
    assert page == script.with_list(page), "run: python scripts/write_reports.py"
