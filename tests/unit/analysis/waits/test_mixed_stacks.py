"""Stacks that the kernel sampled count for what ran; those of Python alone where it sampled none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gui.native_sample import DEFLATE, FAULT, SERVE, write_native_sample
from tests.unit.analysis.waits.test_stack_flame import graph, paths

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.line_times import source_times
from warpline.storage import Capture, open_capture


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Capture]:
    source = tmp_path / "pack.py"
    source.write_text("def crunch():\n    zlib.compress(data)\n")
    with open_capture(write_native_sample(tmp_path / "pack.h5", source)) as capture:
        yield capture


def test_each_thread_counts_samples_of_one_sampler(mixed: Capture) -> None:
    running = graph(mixed, "on_cpu")
    assert (running.unit, running.total) == ("samples", 9)
    assert paths(mixed, running) == {
        f"crunch (pack.py:2) > {DEFLATE}": 4,
        f"crunch (pack.py:2) > {DEFLATE} > {FAULT}": 1,
        "crunch (pack.py:2)": 2,
        SERVE: 2,
    }


def test_the_samples_source_uses_pythons_samples(mixed: Capture) -> None:
    assert paths(mixed, graph(mixed, "samples")) == {"crunch (pack.py:2)": 5}


def test_the_cost_of_a_line_includes_its_callees(mixed: Capture) -> None:
    file = str(mixed.path.parent / "pack.py")
    times = source_times(View(mixed), file)
    assert {number: line.running for number, line in times.lines.items()} == {2: 7}
    assert [(found.file, found.running) for found in times.files] == [(file, 7)]


def test_bottom_up_begins_with_native_functions(mixed: Capture) -> None:
    turned = graph(mixed, "on_cpu", bottom_up=True)
    roots = {
        turned.text(mixed, box).partition(" ")[0]: int(turned.value[box])
        for box in range(len(turned))
        if turned.parent[box] < 0
    }
    assert roots == {"deflate": 4, "clear_page": 1, "crunch": 2, "serve": 2}
