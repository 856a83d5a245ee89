"""The JSON of `check` and `compare`, and the tools, are what docs/schemas says."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from tests.unit.library.library_tools import write_run

from warpline.analysis.compare import comparison_json
from warpline.cli import check, main
from warpline.storage import CaptureBuilder

jsonschema = pytest.importorskip("jsonschema")


def schema(repository: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repository / "docs/schemas" / name).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def strict(value: Any) -> Any:
    """The schema with every object closed, so that a key it does not name is an error."""
    if isinstance(value, list):
        return [strict(part) for part in value]
    if not isinstance(value, dict):
        return value
    closed = {key: strict(part) for key, part in value.items()}
    if value.get("type") == "object" and "properties" in value:
        closed.setdefault("unevaluatedProperties", False)
    return closed


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    with CaptureBuilder(folder / "empty.h5") as builder:
        empty = builder.finish()
    return write_run(folder / "a.h5"), write_run(folder / "b.h5"), empty


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def test_check_prints_its_schema(
    repository: Path, runs: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    described = schema(repository, f"{check.SCHEMA.replace('/', '-')}.json")
    top = {**described, "unevaluatedProperties": False}
    for path in (runs[0], runs[2]):
        found = printed(capsys, "check", str(path), "--json")
        jsonschema.validate(found, top)
    assert found["budget"] is None


def test_compare_prints_its_schema(
    repository: Path, runs: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    described = strict(schema(repository, f"{comparison_json.SCHEMA.replace('/', '-')}.json"))
    a, b = map(str, runs[:2])
    for options in ([], ["--each-step"], ["--report", "cuda_gpu_kern_sum"], ["--fail-if", "total>50%"]):
        jsonschema.validate(printed(capsys, "compare", a, b, "--json", *options), described)


def test_the_tools_are_as_described(repository: Path) -> None:
    script = runpy.run_path(str(repository / "scripts/write_schemas.py"))
    kept = (repository / "docs/schemas/mcp-tools-1.json").read_text("utf-8")
    assert script["page"]() == kept, "run scripts/write_schemas.py"
    for tool in json.loads(kept)["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["arguments"])
