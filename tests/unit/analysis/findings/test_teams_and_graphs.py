"""Libraries with more threads than cores, and graphs that are kept from step to step."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.findings.scenes import MS, Acts, Does, scene

from warpline.analysis.findings.catalogue.thread_teams import sets_threads
from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.work.kept_graphs import goes_back_through_old_graphs, keeping_line
from warpline.analysis.findings.work.source_lines import SourceFile
from warpline.analysis.framework.selection import View
from warpline.model.track_titles import RESIDENT_MEMORY
from warpline.model.waits import WaitKind
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize(
    ("helpers", "cores", "shared"), [(3, 2, "2 cores"), (3, 1, "1 core"), (0, 2, ""), (3, 0, "")]
)
def test_more_threads_of_a_library_than_cores_are_named_with_their_setting(
    tmp_path: Path, helpers: int, cores: int, shared: str
) -> None:
    program = tmp_path / "train.py"
    program.write_text("import torch\ntorch.set_num_threads(16)\ndef step(x):\n    return x @ x\n")
    at = (f"step ({program}:4)",)
    main = Acts((Does(MS, frames=at), Does(3 * MS, WaitKind.UNKNOWN, frames=at)) * 40)
    helper = Acts((Does(MS, ready=True), Does(MS), Does(2 * MS, WaitKind.UNKNOWN)) * 40)
    meta = {"start_utc_ns": time.time_ns() + 10**9}
    with scene(tmp_path / "run.h5", [main, *[helper] * helpers], meta=meta, cores=cores) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert ("too_many_threads" in found) is bool(shared)
    if shared:
        finding = found["too_many_threads"]
        assert finding.text.startswith(
            f"4 threads of native libraries share {shared}: 120.0 ms of 160.0 ms (75 %)"
        )
        assert (finding.where.file, finding.where.line) == (str(program), 2)
        assert finding.severity == "critical"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("os.environ['OMP_NUM_THREADS'] = '16'", True),
        ("os.environ.setdefault('OMP_NUM_THREADS', '16')", True),
        ("os.putenv('MKL_NUM_THREADS', '16')", True),
        ("os.environ.update({'OMP_NUM_THREADS': '16'})", True),
        ("os.environ.update(OMP_NUM_THREADS='16')", True),
        ("torch.set_num_threads(16)", True),
        ("os.environ.get('OMP_NUM_THREADS')", False),
        ("n = os.getenv('OMP_NUM_THREADS')", False),
        ("print('OMP_NUM_THREADS')", False),
        ("names.update(['a'])", False),
    ],
)
def test_only_what_sets_the_number_of_threads_is_named(line: str, expected: bool) -> None:
    nodes = [node for node in ast.walk(ast.parse(line)) if isinstance(node, (ast.Call, ast.Assign))]
    assert any(map(sets_threads, nodes)) is expected


@pytest.mark.parametrize(
    ("body", "number", "expected"),
    [
        ("total = total + loss\n    total.backward(retain_graph=True)", 3, True),
        ("h = cell(x, h)\n    loss.backward(retain_graph=True)", 3, True),
        ("h = cell(x, h.detach())\n    loss.backward(retain_graph=True)", 3, False),
        ("loss = net(x)\n    loss.backward(retain_graph=True)", 3, False),
        ("loss = net(x)\n    loss.backward()", 3, False),
        ("loss = net(x)\n    loss += reg(x)\n    loss.backward()", 4, False),
        ("loss, _ = net(x)\n    loss = loss + reg(x)\n    loss.backward()", 4, False),
        ("total = 0\n    for y in x:\n        total += net(y)\n    total.backward()", 5, False),
        ("total += net(x)\n    total.backward(retain_graph=True)", 3, True),
    ],
)
def test_a_backward_pass_through_older_steps_is_seen(body: str, number: int, expected: bool) -> None:
    line = SourceFile(f"for x in data:\n    {body}\n").line(number)
    assert line is not None
    assert goes_back_through_old_graphs(line) is expected


@pytest.mark.parametrize(
    ("added", "number"),
    [
        ("losses.append(loss)", 4),
        ("total += loss / 8", 4),
        ("total += loss.item()", None),
        ("losses.append(loss.detach())", None),
        ("total += float(loss)", None),
        ("count += 1", None),
        ("total += loss.data", None),
        ("n += len(loss)", None),
        ("shapes.append(loss.shape)", None),
        ("n += loss.size(0)", None),
        ("with torch.no_grad():\n        total += loss", None),
        ("with torch.inference_mode():\n        losses.append(loss)", None),
        ("with torch.autocast('cuda'):\n        total += loss", 5),
    ],
)
def test_a_line_that_keeps_losses_is_seen(added: str, number: int | None) -> None:
    source = f"for x in data:\n    loss = net(x)\n    loss.backward(retain_graph=True)\n    {added}\n"
    assert keeping_line(ast.parse(source)) == number


@pytest.mark.parametrize("growth_bytes", [0, 100 << 20])
def test_memory_that_grows_with_each_step_is_explained(tmp_path: Path, growth_bytes: int) -> None:
    program = tmp_path / "train.py"
    program.write_text(
        "for x in data:\n    loss = net(x)\n    loss.backward(retain_graph=True)\n    kept.append(loss)\n"
    )
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 1000 * MS)
        builder.meta.update(start_utc_ns=time.time_ns() + 10**9)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state, samples = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
            for role in ("state", "samples")
        )
        memory = builder.track("process/71.1/memory", role="counter", process=process)
        builder.add_events(state, "thread_state", [0], [1000 * MS], [builder.string("running")])
        stack = builder.stack(builder.string(f"<module> ({program}:3)"))
        times = np.arange(5 * MS, 1000 * MS, 10 * MS)
        builder.add_events(
            samples, "sample", times, np.zeros(len(times), np.int64), [builder.string("sample")] * len(times),
            attributes={"stack": np.full(len(times), stack)},
        )  # fmt: skip
        sizes = 200.0 * (1 << 20) + growth_bytes * np.linspace(0, 1, len(times))
        builder.add_counter(memory, RESIDENT_MEMORY, "B", times, sizes)
        builder.finish()
    with open_capture(path) as capture:
        found = {finding.id: finding for finding in diagnose(View(capture)).findings}
    assert ("kept_graphs" in found) is (growth_bytes > 0)
    if growth_bytes:
        assert (found["kept_graphs"].where.line, found["kept_graphs"].severity) == (4, "warning")
