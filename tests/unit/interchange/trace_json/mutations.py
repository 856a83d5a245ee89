"""Damages real traces at random and imports them."""

from __future__ import annotations

import gzip
import random
import time
from pathlib import Path

from tests.fuzz.campaign.mutate_json import by_bytes, by_value
from tests.unit.interchange.import_tools import text_file

from warpline.interchange import import_files
from warpline.model import WarplineError
from warpline.storage import open_capture

TORCH = "torch/pytorch+kineto/tb_plugin/test/gpu_metrics_input.json"
ASYNC = "chrome_generic/catapult-project+catapult/tracing/test_data/nestable_async.json"
SIMPLE = "chrome_generic/catapult-project+catapult/tracing/test_data/simple_trace.json"
ROCM = "torch/AMD-AGI+TraceLens/tests/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz"
PADDLE = "paddle/paddle_lenet_cpu_b8s4.paddle_trace.json"
PROTOBUF = "paddle/paddle_lenet_cpu_b8s4.pb"
SEEDS = (TORCH, ASYNC, SIMPLE, ROCM, PADDLE, PROTOBUF)


def seed(data_dir: Path, name: str, limit: int = 60_000) -> bytes:
    content = (data_dir / name).read_bytes()
    if name.endswith(".gz"):
        content = gzip.decompress(content)
    return content[:limit]


def run(tmp_path: Path, data_dir: Path, name: str, count: int, first: int = 0) -> None:
    content = seed(data_dir, name)
    whole = None if name == PROTOBUF else seed(data_dir, name, 1 << 30)
    import resource  # not on Windows, where the other tests of this folder run

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + count):
        rng = random.Random(f"{name} {number}")
        if whole is not None and len(whole) < 200_000 and number % 3 == 0:
            check(tmp_path, by_value(whole, rng))
        else:
            check(tmp_path, by_bytes(content, rng))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 400 << 10, "small files took much memory"


def check(tmp_path: Path, content: bytes) -> None:
    path = text_file(tmp_path, content, "mutated.bin")
    out = tmp_path / "out.h5"
    begin = time.monotonic()
    problem = import_problem(path, out)
    if problem is None:
        with open_capture(out) as capture:
            assert (capture.events.duration >= 0).all()
            assert len(capture.events) <= len(content)
        out.unlink()
    else:
        assert "\n" not in problem
    assert time.monotonic() - begin < 60, "an import of a small file hangs"
    assert [entry.name for entry in tmp_path.iterdir()] == ["mutated.bin"], "temporary files are left behind"


def import_problem(path: Path, out: Path) -> str | None:
    """The import error, None on success."""
    try:
        import_files([path], out)
    except WarplineError as error:
        return str(error)
    return None
