"""A folder of mixed files opens each run once."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.unit.interchange.import_tools import imported, rank_file, skipped, text_file, trace_file, x
from tests.unit.interchange.rocm.rocm_files import rocpd_file, rocprofv3_file

from warpline.interchange.framework.runs import one_of_each_run

XPLANE = "xplane/AMD-AGI+TraceLens/tests/traces/mi300/jax08_gemm/tw003.xplane.pb"
ASCEND = "ascend/xiaobingling93-pixel+Ascend-msinsight/test/data/pytorch"


def chosen(*traces: tuple[str, str]) -> list[str]:
    return [
        path.as_posix() for path in one_of_each_run([(Path(name), importer) for name, importer in traces])[0]
    ]


def test_a_run_in_several_formats_is_one_file() -> None:
    assert chosen(
        ("a/1_results.db", "rocpd"), ("a/1_results.json", "rocprofv3"), ("a/2_results.db", "rocpd")
    ) == [
        "a/1_results.db",
        "a/2_results.db",
    ]
    assert chosen(("r.nsys-rep", "nsys-rep"), ("r.sqlite", "nsys")) == ["r.sqlite"]
    assert chosen(("rank0.json", "torch"), ("rank1.json", "torch")) == ["rank0.json", "rank1.json"]


def test_the_newest_run_of_tensorboard_counts_and_its_profile_comes_first() -> None:
    runs = "log/plugins/profile"
    assert chosen(
        (f"{runs}/2026_01_02/a.b.xplane.pb", "xplane"),
        (f"{runs}/2026_01_02/a.b.trace.json.gz", "chrome"),
        (f"{runs}/2026_01_02/perfetto_trace.json.gz", "chrome"),
        (f"{runs}/2026_01_02/c.xplane.pb", "xplane"),
        (f"{runs}/2026_01_01/a.b.xplane.pb", "xplane"),
    ) == [f"{runs}/2026_01_02/a.b.xplane.pb", f"{runs}/2026_01_02/c.xplane.pb"]


def test_the_output_of_ascends_profiler_counts_and_not_its_raw_data() -> None:
    rank = "x/rank0_ascend_pt"
    assert chosen(
        (f"{rank}/ASCEND_PROFILER_OUTPUT/trace_view.json", "ascend"),
        (f"{rank}/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db", "ascend-db"),
        (f"{rank}/PROF_1/mindstudio_profiler_output/msprof_1.json", "ascend"),
        ("x/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", "ascend"),
    ) == [
        f"{rank}/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
        "x/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
    ]


def test_a_tensorboard_folder_opens_as_one_capture(tmp_path: Path, data_dir: Path) -> None:
    run = tmp_path / "log/plugins/profile/2026_02_20"
    run.mkdir(parents=True)
    shutil.copy(data_dir / XPLANE, run / "tw003.xplane.pb")
    trace_file(run, [x("kernel", 1, 2)], "tw003.trace.json")
    capture = imported(tmp_path, tmp_path / "log")
    assert len(capture.kinds["kernel"].rows) == 54
    assert skipped(capture)["files of the folder"] == 1
    assert not any(track.role == "rank" for track in capture.tracks)


def test_databases_of_ranks_open_as_one_job(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    rocpd_file(folder / "71_results.db")
    rocprofv3_file(folder / "71_results.json")
    rocpd_file(folder / "72_results.db")
    text_file(folder, "a log", "run.log")
    capture = imported(tmp_path, folder)
    assert {track.uri for track in capture.tracks if track.role == "rank"} == {"rank/0", "rank/1"}
    assert len(capture.kinds["kernel"].rows) == 2


def test_a_folder_of_ascend_opens_as_one_job(tmp_path: Path, data_dir: Path) -> None:
    capture = imported(tmp_path, data_dir / ASCEND / "text/level1")
    assert {track.rank for track in capture.tracks} == {0, 1}


def test_traces_of_ranks_stay_apart(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    rank_file(folder, 0, 0.0)
    rank_file(folder, 1, 500.0)
    assert {track.rank for track in imported(tmp_path, folder).tracks} == {0, 1}
