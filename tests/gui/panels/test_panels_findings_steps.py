"""The budget step by step, of a training that others recorded: bars as long as their steps, a click selects one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, OpenPage, panel_of, settle

from warpline.analysis.findings.finding import Budget, BudgetPart, BudgetStep
from warpline.cli import main
from warpline_app.look.theme import DARK
from warpline_app.panels.findings.panel import FindingsPanel
from warpline_app.panels.findings.step_stack import StepStack
from warpline_app.window.main_window import MainWindow


@pytest.fixture(scope="module")
def resnet(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = next(data_dir.glob("torch/**/resnet50_num_workers_0/*.json.gz"))
    path = tmp_path_factory.mktemp("steps") / "resnet.h5"
    assert main(["import", str(trace), "-o", str(path)]) == 0
    return path


def test_each_step_of_a_training_has_a_bar_that_selects_it(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, resnet: Path
) -> None:
    page = open_page(resnet)
    panel = panel_of(qtbot, window, "findings", FindingsPanel)
    stack = panel.steps
    assert stack.isVisible()
    assert stack.budget is not None
    steps = stack.budget.steps
    assert [step.name for step in steps] == [f"ProfilerStep#{n}" for n in range(5, 11)]
    assert [sum(step.times_ns) for step in steps] == [step.stop_ns - step.start_ns for step in steps]
    heights = [stack.bar_of(number).height() for number in range(6)]
    lengths = [step.stop_ns - step.start_ns for step in steps]
    assert np.allclose(np.array(heights) / max(heights), np.array(lengths) / max(lengths))
    # The share of computation is what is painted in its colour.
    bar = stack.bar_of(3)
    image = stack.grab().toImage()
    kernel = panel.theme.color("kernel")
    x = int(bar.center().x())
    painted = sum(image.pixelColor(x, y) == kernel for y in range(int(bar.top()), int(bar.bottom())))
    place = [part.cause for part in stack.budget.parts].index("computation")
    assert painted / bar.height() == pytest.approx(steps[3].times_ns[place] / lengths[3], abs=0.03)
    qtbot.mouseClick(stack, LEFT, pos=QPoint(x, int(bar.center().y())))
    settle(qtbot, window)
    state = page.document.state
    assert state.range_selection == (steps[3].start_ns, steps[3].stop_ns)
    assert panel.diagnosis is not None
    assert panel.diagnosis.budget is not None
    assert panel.diagnosis.budget.stop_ns - panel.diagnosis.budget.start_ns == lengths[3]
    assert stack.isVisible()
    assert len(stack.budget.steps) == 6
    qtbot.keyClick(stack, Qt.Key.Key_Right)
    assert state.range_selection == (steps[4].start_ns, steps[4].stop_ns)
    settle(qtbot, window)


def test_more_steps_than_pixels_cost_pixels_and_outliers_stay_seen(qtbot: QtBot) -> None:
    count = 20_000
    lengths = np.full(count, 100)
    lengths[12_345] = 1_000
    edges = np.r_[0, np.cumsum(lengths)].tolist()
    steps = tuple(
        BudgetStep(f"step {n}", -1, edges[n], edges[n + 1], (edges[n + 1] - edges[n],)) for n in range(count)
    )
    stack = StepStack(DARK)
    qtbot.addWidget(stack)
    stack.resize(400, 120)
    stack.show_budget(
        Budget(
            waited_for="main",
            start_ns=0,
            stop_ns=edges[-1],
            parts=(BudgetPart("running", "running", edges[-1]),),
            tracks=(),
            steps=steps,
        )
    )
    drawn = stack._drawn()
    assert len(drawn) <= 400
    assert 12_345 in drawn
    x = stack.bar_of(12_345).left()
    assert stack.step_at(x) == 12_345
    assert stack.step_text(12_345).startswith("step 12345")
