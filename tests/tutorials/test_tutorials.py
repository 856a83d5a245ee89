"""The tutorials' commands work, and print what the tutorials say."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.unit.recording.recording_tools import on_time_once
from tests.unit.recording.remote.conftest import NoServer, ssh_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="recording works on Linux only"),
]


@pytest.fixture(scope="module")
def tutorials(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "write_tutorials", repository / "scripts" / "write_tutorials.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def words(line: str) -> str:
    """The words of a line: numbers, their units and what depends on them are left out."""
    line = re.sub(r"[-+]?[\d,.]*\d(?: ?(?:ns|µs|ms|s|%|×))?\b", "#", line)
    return re.sub(r"(?:# )+", "# ", re.sub(r"[\s─%×-]+", " ", line)).strip()


def run_steps(
    tutorials: ModuleType, name: str, folder: Path, python: str, ssh_config: Path | None = None
) -> None:
    text = (tutorials.TUTORIALS / name).read_text(encoding="utf-8")
    environment = tutorials.prepare(folder, python)
    if ssh_config is not None:
        tutorials.reach_box(folder, ssh_config)
    steps = list(tutorials.steps(text))
    assert len(steps) == text.count("```text") - text.count("```text\nHost box")
    for step in steps:
        try:
            printed = tutorials.run(step, folder, environment)
        except subprocess.CalledProcessError as error:
            pytest.fail(f"{step.commands}\n{error.output}")
        # Times decide which rows come first and how many there are, and the folder's name where tables fold; the words
        # stay.
        shown = {word for line in step.output for word in words(line).split()} - {"#"}
        missing = sorted(shown - {word for line in printed for word in words(line).split()})
        assert len(missing) <= len(shown) * 0.3, f"{step.commands}\nnot printed any more: {' '.join(missing)}"


@pytest.mark.parametrize("name", ["lock.md", "foreign-trace.md"])
def test_a_tutorial_prints_what_it_says(tutorials: ModuleType, tmp_path: Path, name: str) -> None:
    on_time_once(tmp_path, lambda folder: run_steps(tutorials, name, folder, sys.executable))


def test_the_tutorial_about_another_machine_prints_what_it_says(
    tutorials: ModuleType, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with contextlib.ExitStack() as stack:
        try:
            config = stack.enter_context(ssh_server(tmp_path_factory.mktemp("sshd")))
        except NoServer as error:
            pytest.skip(str(error))
        on_time_once(tmp_path, lambda folder: run_steps(tutorials, "box.md", folder, sys.executable, config))


def test_the_training_tutorial_prints_what_it_says(tutorials: ModuleType, tmp_path: Path) -> None:
    python = os.environ.get("WARPLINE_FRAMEWORKS_PYTHON")
    if python is None:
        pytest.skip("WARPLINE_FRAMEWORKS_PYTHON names no Python with PyTorch (make frameworks)")
    run_steps(tutorials, "slow-training.md", tmp_path, python)


def test_translations_have_the_commands_and_outputs_of_their_tutorial(tutorials: ModuleType) -> None:
    pages = [page for page in sorted(tutorials.TUTORIALS.glob("*.md")) if "." not in page.stem]
    pairs = [(page, translation) for page in pages for translation in tutorials.translations(page)]
    assert pairs
    for page, translation in pairs:
        steps, translated = (
            [(step.commands, step.first, step.output) for step in tutorials.steps(path.read_text("utf-8"))]
            for path in (page, translation)
        )
        assert translated == steps, translation.name


def test_words_leave_numbers_out() -> None:
    assert words("   70.0        2,450.953    159  write (orders.py:18)") == "# write (orders.py:#)"
    assert words("  Fixing it saves up to 481.2 ms.") == "Fixing it saves up to #."
