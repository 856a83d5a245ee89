"""Workflows of the code host parse, and run targets of the Makefile that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_parses_and_its_targets_exist(workflow: Path) -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = {target for command in commands for target in re.findall(r"^make ([a-z]+)", command, re.MULTILINE)}
    assert made
    assert made <= TARGETS
    for step in (step for job in jobs.values() for step in job["steps"]):
        assert ("run" in step) != ("uses" in step)


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_workflows_are_valid() -> None:
    done = subprocess.run(["actionlint", *map(str, WORKFLOWS)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
