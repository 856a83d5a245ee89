"""Untouched scripts of real frameworks: their steps, phases and modules are what the scripts' own clocks say.

Needs a Python that has the frameworks: ``make frameworks`` makes one, ``WARPLINE_FRAMEWORKS_PYTHON`` names one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import warpline

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = os.environ.get("WARPLINE_FRAMEWORKS_PYTHON", "")
PHASES = ("dataloader_ns", "forward_ns", "backward_ns", "optimization_ns")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="WARPLINE_FRAMEWORKS_PYTHON names no Python with the frameworks"),
]


def needs(package: str) -> None:
    """Skip where the package is not installed."""
    found = subprocess.run([PYTHON, "-c", f"import {package}"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"{package} is not installed there")


def record(
    tmp_path: Path, *command: str, options: tuple[str, ...] = ()
) -> tuple[list[dict[str, Any]], warpline.CaptureReader]:
    """What the script printed as JSON, and its recording."""
    output = tmp_path / "run.h5"
    words = [sys.executable, "-m", "warpline", "record", "-q", *options, "-o", str(output), "--", PYTHON]
    done = subprocess.run(
        [*words, *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PROGRAMS)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]
    return told, warpline.open(output)


def program(name: str) -> str:
    return str(PROGRAMS / name)


def steps_of(capture: warpline.CaptureReader) -> pd.DataFrame:
    return capture.report("steps").to_pandas()


def holds_together(steps: pd.DataFrame) -> None:
    """Phases and the rest are the step, and nothing is counted twice."""
    known = [name for name in PHASES if name in steps]
    assert len(known) >= 3
    assert (steps.others_ns >= 0).all()
    assert (steps[[*known, "others_ns"]].sum(axis=1) == steps.duration_ns).all()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_net_with_a_slow_dataset(tmp_path: Path, workers: int) -> None:
    needs("torch")
    (told,), capture = record(tmp_path, program("cnn.py"), str(workers))
    with capture:
        steps = steps_of(capture)
        modules = capture.events("module").to_pandas()
        phases = capture.events("phase").to_pandas()
    assert len(steps) == told["steps"]
    holds_together(steps)
    assert steps.dataloader_ns.sum() / 1e9 == pytest.approx(told["wait_s"], rel=0.01)
    assert {*told["modules"], "criterion"} == set(modules.name)
    assert (phases.name == "evaluation").sum() == 2
    assert (phases.name == "fetch batch").sum() == 2 * told["steps"]


@pytest.mark.parametrize("script", ["transformer.py", "gan.py", "lightning_fit.py"])
def test_steps_are_those_that_the_script_counts(tmp_path: Path, script: str) -> None:
    needs("lightning" if script.startswith("lightning") else "torch")
    told, capture = record(tmp_path, program(script))
    with capture:
        steps = steps_of(capture)
    assert len(steps) == told[-1]["steps"]
    holds_together(steps)


def test_transformers_trainer(tmp_path: Path) -> None:
    needs("transformers")
    told, capture = record(tmp_path, program("hf_trainer.py"))
    with capture:
        steps = steps_of(capture)
        phases = capture.events("phase").to_pandas()
    assert len(steps) == told[-1]["steps"]
    holds_together(steps)
    assert (phases.name == "evaluation").sum() == 2


def test_two_ranks_started_by_torchrun(tmp_path: Path) -> None:
    needs("torch")
    launch = ("-m", "torch.distributed.run", "--nproc-per-node", "2", program("ddp.py"))
    told, capture = record(tmp_path, *launch)
    with capture:
        steps = steps_of(capture)
        phases = capture.events("phase").to_pandas()
    assert len(told) == 2
    assert len(steps) == sum(rank["steps"] for rank in told)
    holds_together(steps)
    assert (phases.name == "all_reduce").sum() == len(steps)


@pytest.mark.parametrize(
    "options",
    [("--trace", "steps"), ("--trace", "steps,torch"), ("--trace", "steps", "--torch-shapes", "6")],
)
def test_compiled_code_has_the_same_graphs_breaks_and_recompiles(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    needs("torch")
    plain = subprocess.run(
        [PYTHON, program("compiled.py")], capture_output=True, text=True, check=True
    ).stdout
    (told,), capture = record(tmp_path, program("compiled.py"), options=options)
    with capture:
        phases = capture.events("phase").to_pandas()
    assert told == json.loads(plain)
    assert told["full"]["unique_graphs"] == 1
    assert (phases.category == "Forward").any()


def test_operators_are_those_that_the_profiler_counts_and_it_works_as_before(tmp_path: Path) -> None:
    needs("torch")
    (told,), capture = record(tmp_path, program("operators.py"), options=("--trace", "torch"))
    with capture:
        operators = capture.events("operator").to_pandas()
        ranges = capture.events("range").to_pandas()
        name_of = operators.set_index("row").name
        found = capture.links.to_pandas()
        found = found[found.kind == "forward_backward"]
        links = [
            (one, name_of[one], name_of[other])
            for one, other in zip(found.from_row, found.to_row, strict=True)
        ]
    for name in ("counted", "again"):
        (span,) = ranges[ranges.name == name].itertuples()
        inside = operators[
            (operators.start_ns >= span.start_ns) & (operators.start_ns < span.start_ns + span.duration_ns)
        ]
        assert inside.groupby("name").size().to_dict() == told["operators"]
        made = set(inside.row)
        pairs = Counter(f"{a} {b}" for row, a, b in links if row in made)
        assert pairs == told["derivatives"]


def test_operators_of_the_first_steps_have_shapes_types_and_flops(tmp_path: Path) -> None:
    needs("torch")
    (told,), capture = record(tmp_path, program("operators.py"), options=("--torch-shapes", "3"))
    with capture:
        operators = capture.events("operator").to_pandas()
        flops = capture.report("operator_flops").to_pandas()
        modules = capture.report("modules").to_pandas().set_index("name")
    calls = operators[operators.name == "aten::addmm"]
    shaped = calls[calls.input_shapes.notna()]
    # Two layers in each of the three steps; those of all other steps are told without.
    assert (
        shaped.input_shapes.tolist() == ["[16], [4, 8], [8, 16], [], []", "[4], [4, 16], [16, 4], [], []"] * 3
    )
    assert set(shaped.input_types) == {"float, float, float, Scalar, Scalar"}
    assert shaped.flops.tolist() == [2 * 4 * 8 * 16, 2 * 4 * 16 * 4] * 3
    assert len(calls) - len(shaped) == 2 * (5 - 3) + 2 * 5 + 2 * 5 + 2 * 5
    row = flops[(flops.name == "aten::addmm") & flops.input_shapes.str.startswith("[16]")]
    assert row.flops.tolist() == [3 * 2 * 4 * 8 * 16]
    assert modules.flops["net.0"] == 3 * 2 * 4 * 8 * 16
    names = Counter(operators.name)
    # Whoever tells: the same operators.
    assert {name for name in told["operators"] if "::" in name} <= set(names)


@pytest.mark.parametrize("trace", ["torch", "steps,torch"])
def test_shapes_end_after_some_calls_where_nothing_is_optimised(tmp_path: Path, trace: str) -> None:
    needs("torch")
    script = "import os, torch\nnet = torch.nn.Linear(2, 3)\nfor _ in range(9): net(torch.ones(1, 2))\n"
    script += "print('{\"log\": \"%s\"}' % os.environ.get('KINETO_LOG_LEVEL'))"
    options = ("--trace", trace, "--torch-shapes", "4")
    (told,), capture = record(tmp_path, "-c", script, options=options)
    with capture:
        operators = capture.events("operator").to_pandas()
    calls = operators[operators.name == "aten::addmm"]
    assert len(calls) == 9
    assert calls.input_shapes.notna().sum() == 4
    assert told == {"log": "None"}  # the program's environment is its own


def test_shapes_end_after_many_operators_where_there_is_no_model(tmp_path: Path) -> None:
    needs("torch")
    script = "import torch\nx = torch.ones(2)\nfor _ in range(11_000): y = x * 2\nprint('{}')"
    _told, capture = record(tmp_path, "-c", script, options=("--trace", "torch", "--torch-shapes", "1"))
    with capture:
        operators = capture.events("operator").to_pandas()
    calls = operators[operators.name == "aten::mul"].sort_values("start_ns")
    # One that was open when they were counted may be in neither.
    assert 10_990 <= len(calls) <= 11_000
    shaped = calls.input_shapes.notna().to_numpy()
    assert 9_990 <= shaped.sum() <= 10_001
    assert not shaped[shaped.sum() :].any()


def test_backward_of_a_module_is_that_of_the_operators_in_it(tmp_path: Path) -> None:
    needs("torch")
    _told, capture = record(tmp_path, program("operators.py"), options=("--trace", "steps,torch"))
    with capture:
        operators = capture.events("operator").to_pandas().set_index("row")
        modules = capture.events("module").to_pandas()
        table = capture.report("modules").to_pandas().set_index("name")
    # PyTorch numbers nodes in the order in which the forward pass makes them.
    nodes = operators[operators.name.str.match(r"\w*Backward0$")]
    made = operators[~operators.name.str.contains("Backward")].dropna(subset="sequence_number")
    for name in ("net", "net.0", "net.1", "net.2"):
        backward = 0
        for call in modules[modules.name == name].itertuples():
            inside = made[made.start_ns.between(call.start_ns, call.start_ns + call.duration_ns)]
            backward += nodes.duration_ns[nodes.sequence_number.isin(inside.sequence_number)].sum()
        assert table.backward_ns[name] == backward > 0, name


def test_loader_workers_say_nothing_on_their_way_out(tmp_path: Path) -> None:
    needs("torch")
    output = tmp_path / "run.h5"
    words = [sys.executable, "-m", "warpline", "record", "-q", "--trace", "steps,torch", "-o", str(output)]
    done = subprocess.run(
        [*words, "--", PYTHON, program("cnn.py"), "2"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(PROGRAMS)},
    )
    assert done.stderr == ""
    with warpline.open(output) as capture:
        operators = capture.events("operator").to_pandas()
        phases = capture.events("phase").to_pandas()
    assert set(operators.process_id) == {phases.process_id[phases.name == "backward"].iloc[0]}
    assert len(operators) > 1000


@pytest.mark.parametrize("workers", [0, 2])
def test_paddle(tmp_path: Path, workers: int) -> None:
    needs("paddle")
    (told,), capture = record(tmp_path, program("paddle_train.py"), str(workers))
    with capture:
        steps = steps_of(capture)
        modules = capture.events("module").to_pandas()
        phases = capture.events("phase").to_pandas()
    assert len(steps) == told["steps"]
    holds_together(steps)
    assert steps.dataloader_ns.sum() / 1e9 == pytest.approx(told["wait_s"], rel=0.01)
    assert {*told["modules"], "criterion"} == set(modules.name)
    assert (phases.name == "evaluation").sum() == 2


PADDLE_EVENTS = """
import numpy, paddle
layer = paddle.nn.Linear(8, 4)
optimizer = paddle.optimizer.SGD(parameters=layer.parameters())
for _ in range(3):
    with paddle.profiler.RecordEvent("mine"):
        loss = layer(paddle.randn([4, 8])).mean()
    loss.backward()
    optimizer.step()
paddle.enable_static()
main, start = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, start):
    x = paddle.static.data("x", [None, 8])
    y = paddle.static.nn.fc(x, 4).mean()
executor = paddle.static.Executor()
executor.run(start)
for _ in range(4):
    executor.run(main, feed={"x": numpy.ones((2, 8), "float32")}, fetch_list=[y])
print('{"runs": 5}')
"""


def test_events_of_a_script_of_paddle_and_runs_of_a_static_graph(tmp_path: Path) -> None:
    needs("paddle")
    (told,), capture = record(tmp_path, "-c", PADDLE_EVENTS, options=("--trace", "steps", "--torch-memory"))
    with capture:
        steps = steps_of(capture)
        names = Counter(capture.events("phase").to_pandas().name)
        modules = capture.events("module").to_pandas()
    assert (len(steps), names["mine"], names["Executor.run"]) == (3, 3, told["runs"])
    assert modules.host_kept_bytes.notna().all()


def test_operators_of_paddle_are_those_that_its_profiler_counts_and_it_works_as_before(
    tmp_path: Path,
) -> None:
    needs("paddle")
    (told,), capture = record(tmp_path, program("paddle_operators.py"), options=("--trace", "steps,paddle"))
    with capture:
        events = capture.events(["operator", "range"]).to_pandas()
        phases = capture.events("phase").to_pandas()
        modules = capture.events("module").to_pandas()
    (span,) = phases[phases.name == "counted"].itertuples()
    inside = events[events.start_ns.between(span.start_ns, span.start_ns + span.duration_ns)]
    assert Counter(f"{one.category}: {one.name}" for one in inside.itertuples()) == told["operators"]
    # What Paddle's profiler does at a mark lies inside of ours.
    total = inside[inside.category == "Operator"].duration_ns.sum()
    assert total / 1e3 >= told["operators_us"]
    first = modules[modules.name == "net.0"]
    matmul = events[events.name == "matmul dygraph"]
    assert len(first) == 4
    for call in first.itertuples():
        assert matmul.start_ns.between(call.start_ns, call.start_ns + call.duration_ns).sum() == 1


@pytest.mark.parametrize("graphs", ["0", "1"])
def test_steps_of_a_static_graph_of_paddle(
    tmp_path: Path, graphs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("paddle")
    monkeypatch.setenv("FLAGS_enable_pir_api", graphs)
    (told,), capture = record(tmp_path, program("paddle_static.py"), options=("--trace", "steps,paddle"))
    with capture:
        steps = steps_of(capture)
        events = capture.events("operator").to_pandas()
        phases = capture.events("phase").to_pandas()
    assert len(steps) == told["steps"]
    assert (phases.name == "evaluation").sum() == 2
    assert (phases.name == "Executor.run").sum() == told["runs"]
    names = Counter(events.name[events.category == "Operator"])
    optimizes = names["pd_op.adam_"] + names["adam"]
    # Two parameters; a graph of before Paddle 3 marks nothing where it is run first.
    assert optimizes in {2 * told["steps"], 2 * (told["steps"] - 1)}
    inside = Counter(phases.name[phases.category.isin(["Forward", "Backward", "Optimization"])])
    assert inside["Forward"] == inside["Backward"] == optimizes // 2
    assert (
        inside["Optimization"] <= optimizes // 2
    )  # updates that end before the last gradient belong to Backward


def test_paddle_inference_has_the_operators_of_its_own_report(tmp_path: Path) -> None:
    needs("paddle")
    command = (program("paddle_inference.py"), str(tmp_path))
    (told,), capture = record(tmp_path, *command, options=("--trace", "paddle"))
    with capture:
        operators = capture.events("operator").to_pandas()
        ranges = capture.events("range").to_pandas()
    ours = pd.concat([operators, ranges]).groupby("name").duration_ns.agg(["count", "sum"])
    assert told["events"]
    for name, calls, total_ms in told["events"]:
        assert ours["count"][name] == calls, name
        # Both clocks are read in turn, at either end of each event.
        assert ours["sum"][name] / 1e6 == pytest.approx(total_ms, rel=0.1, abs=0.05 * calls), name
