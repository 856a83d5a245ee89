"""XPlane profiles of JAX: counts, sums and launches equal what other readers print for the same files."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.import_tools import count, imported, links, rows

from warpline.interchange import detect
from warpline.interchange.xplane.planes import read_space
from warpline.interchange.xplane.stats import integers
from warpline.storage import Capture

TRACES = "xplane/AMD-AGI+TraceLens/tests/traces/mi300"
CONV = f"{TRACES}/jax_conv_minimal_legacy/chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb"
GEMM = f"{TRACES}/jax08_gemm/tw003.xplane.pb"


@pytest.fixture(scope="module")
def conv(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Capture:
    copy = tmp_path_factory.mktemp("xplane") / "renamed.bin"
    copy.write_bytes((data_dir / CONV).read_bytes())
    assert detect(copy).name == "xplane"
    return imported(copy.parent, copy)


def test_every_event_of_devices_and_host_is_there(conv: Capture) -> None:
    assert count(conv, "kernel") + count(conv, "memcpy") == 78
    host = ("cuda_api", "range", "python", "memory", "operator", "phase", "overhead")
    assert sum(count(conv, kind) for kind in host) == 5946
    launches = sum(conv.links.kind_name(code) == "launch" for code in conv.links.kind.tolist())
    assert launches == 78


def test_seconds_of_stopping_the_profiler_are_not_in_the_first_view(conv: Capture) -> None:
    assert count(conv, "overhead") == 2  # start_trace for 1.6 s, stop_trace for 6.3 s
    start, stop = conv.activity.range_ns
    assert stop - start < 40_000_000


def test_kernels_equal_the_table_of_tracelens(conv: Capture, data_dir: Path) -> None:
    table = data_dir / TRACES / "jax_conv_minimal_perf_report_csvs/kernel_launchers_summary.csv"
    for line in csv.DictReader(table.read_text().splitlines()):
        found = [row for row in rows(conv, "kernel") if row[0] == line["name"]]
        assert len(found) == int(line["Count"])
        assert sum(row[2] for row in found) == round(float(line["total_direct_kernel_time_sum"]) * 1000)


def test_kernels_keep_their_launch_shape_module_and_op(conv: Capture) -> None:
    kernels = conv.kinds["kernel"]
    at = kernels.at(int(kernels.rows[0]))
    assert (at["grid_x"], at["block_x"], at["correlation"]) == (1280, 256, 171)
    assert conv.strings[at["xla_module"]] == "jit_forward_3d_conv"
    assert conv.strings[at["xla_op"]] == "loop_transpose_fusion"
    copies = conv.kinds["memcpy"]
    assert copies.at(int(copies.rows[0]))["bytes"] == 655360


def test_modules_are_ranges_over_successive_kernels(conv: Capture) -> None:
    modules = [row for row in rows(conv, "gpu_annotation") if row[3] == "gpu/7/stream/1/modules"]
    assert {row[0] for row in modules} == {"jit_forward_3d_conv"}
    kernels = rows(conv, "kernel")
    assert min(row[1] for row in modules) == min(row[1] for row in kernels)
    assert max(row[1] + row[2] for row in modules) == max(row[1] + row[2] for row in kernels)


def test_times_count_from_the_start_of_the_profile(conv: Capture, data_dir: Path) -> None:
    # jax.profiler.ProfileData gives 1,635,859,993 ns and 6,890 ns for the first kernel.
    first = min(rows(conv, "kernel"), key=lambda row: row[1])
    assert (first[1] - conv.clocks[0].offset_ns, first[2]) == (1_635_859_993, 6_890)
    assert [plane.name for plane in read_space(data_dir / CONV).planes][:2] == [
        "/host:metadata",
        "/device:GPU:0",
    ]


def test_hip_calls_launch_the_kernels(tmp_path: Path, data_dir: Path) -> None:
    capture = imported(tmp_path, data_dir / GEMM)
    assert count(capture, "kernel") == count(capture, "cuda_api") == 54
    assert ("hipModuleLaunchKernel", "wrapped_broadcast.kd") in links(capture, "launch")
    assert "HIP API" in {track.title for track in capture.tracks if track.role == "api"}


def test_a_cut_file_opens_up_to_the_cut(tmp_path: Path, data_dir: Path) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as out:
        out.write((data_dir / CONV).read_bytes()[:200_000])
    path = tmp_path / "cut.pb.gz"
    path.write_bytes(packed.getvalue())
    capture = imported(tmp_path, path)
    assert any("ends early" in warning for warning in capture.warnings)
    assert len(capture.events)
    assert bool(np.all(capture.events.duration >= 0))


def test_numbers_that_are_lists_are_masked() -> None:
    assert integers([1, [2], None, "3", {}]).tolist() == [1, None, None, 3, None]
