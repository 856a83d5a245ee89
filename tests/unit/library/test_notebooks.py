"""The notebooks of docs/ run from top to bottom; their outputs are not kept, so that a change of one is readable."""

from __future__ import annotations

from pathlib import Path

import pytest


def notebooks(repository: Path) -> list[Path]:
    found = sorted((repository / "docs" / "notebooks").glob("*.ipynb"))
    assert found
    return found


def test_notebooks_are_kept_without_outputs(repository: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    for path in notebooks(repository):
        notebook = nbformat.read(path, 4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            assert cell.get("outputs", []) == []
            assert cell.get("execution_count") is None


@pytest.mark.slow
def test_notebooks_run(
    repository: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    for module in ("ipykernel", "pandas", "PySide6"):
        pytest.importorskip(module)
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.delenv("DISPLAY", raising=False)
    for path in notebooks(repository):
        notebook = nbformat.read(path, 4)
        folder = tmp_path / path.stem
        folder.mkdir()
        client = nbclient.NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(folder)}})
        client.execute()
        shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert not [output for output in shown if output.output_type == "error"]
        assert not [output for output in shown if output.get("name") == "stderr"]
        kinds = {kind for output in shown for kind in output.get("data", {})}
        assert {"text/html", "image/png"} <= kinds
