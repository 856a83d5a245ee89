"""Rows of Nsight exports become events; damaged and foreign files are errors."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.nsys.nsys_tools import FUSER, H100, PID, TID, import_mutated, make_export, spelled

from warpline.interchange import detect, import_files
from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables
from warpline.model import Flag, ImportFormatError, WarplineError
from warpline.storage import CaptureBuilder, open_capture


def test_the_error_for_a_report_names_the_export_command(data_dir: Path, tmp_path: Path) -> None:
    report = next((data_dir / "nsys_rep").rglob("*.nsys-rep"))
    with pytest.raises(ImportFormatError, match="nsys export --type sqlite"):
        import_files([report], tmp_path / "out.h5")
    renamed = tmp_path / "renamed.bin"
    renamed.write_bytes(report.read_bytes()[:4096])
    assert detect(renamed).name == "nsys-rep"
    old = tmp_path / "old.qdrep"
    old.write_bytes(b"\x01\x02\x03 anything")
    with pytest.raises(ImportFormatError, match="nsys export"):
        import_files([old], tmp_path / "out.h5")
    assert not (tmp_path / "out.h5").exists()


def test_nvtx_domains_categories_colours_payloads_and_unfinished_ranges(tmp_path: Path) -> None:
    columns = (
        "start, end, eventType, category, color, text, globalTid, endGlobalTid, textId, domainId, uint64Value, "
        "doubleValue, jsonText"
    )
    other = TID + 1
    rows = [
        (10, 90, 59, 3, -16711936, None, TID, None, 1, 2, -1, None, None),
        (20, 30, 59, None, None, "own text", TID, None, 2, 2, None, 0.5, None),
        (15, 40, 60, None, None, "across", TID, other, None, 0, None, None, '{"a":1}'),
        (16, None, 60, None, None, "open", TID, None, None, 0, None, None, None),
        (50, None, 34, None, None, "mark", TID, None, None, 0, None, None, None),
        (0, None, 75, None, None, "Domain", TID, None, None, 2, None, None, None),
        (0, None, 33, 3, None, "Category", TID, None, None, 2, None, None, None),
        (0, None, 39, None, None, "Worker", TID, None, None, 0, None, None, None),
        (0, 5, 99, None, None, "strange", TID, None, None, 0, None, None, None),
    ]
    source = make_export(
        tmp_path / "nvtx.sqlite",
        {"NVTX_EVENTS": (columns, rows), "ANALYSIS_DETAILS": ("duration", [(100,)])},
    )
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        table = capture.kinds["range"]
        found = {}
        for row in table.rows.tolist():
            values = spelled(capture, table.at(row))
            found[capture.strings[int(capture.events.name[row])]] = (row, values)
        assert set(found) == {"outer", "own text", "across", "open", "mark"}
        row, outer = found["outer"]
        track = capture.tracks[capture.track_of_row(row)]
        assert "Domain" in track.title
        assert track.role == "ranges"
        assert (outer["domain"], outer["category"]) == ("Domain", "Category")
        assert outer["color_argb"] == 0xFF00FF00
        assert outer["payload"] == str(2**64 - 1)
        assert found["own text"][1]["payload"] == "0.5"
        assert capture.parent_of_row(found["own text"][0]) == row
        across = found["across"]
        assert across[1]["end_thread"] == 2
        assert across[1]["payload"] == '{"a":1}'
        assert capture.tracks[capture.track_of_row(across[0])].thread is None
        still_open = found["open"][0]
        assert capture.events.flags[still_open] & Flag.CUT_END
        assert int(capture.events.start[still_open] + capture.events.duration[still_open]) == 100
        assert capture.events.flags[found["mark"][0]] & Flag.INSTANT
        assert capture.threads[0].name == "Worker"
        assert any("99" in entry.reason and entry.count == 1 for entry in capture.skipped)


def test_device_ordinals_map_to_the_gpus_of_the_machine(tmp_path: Path) -> None:
    second = PID + (1 << 24)
    kernel = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName"
    rows = [(0, 10, 0, 1, 7, 5, PID, 1, 2), (5, 20, 0, 1, 7, 5, second, 1, 2)]
    api = [(-5, -1, 0, TID, 5, 1, 0), (-4, -2, 0, second + 1, 5, 1, 0)]
    source = make_export(
        tmp_path / "devices.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_KERNEL": (kernel, rows),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (
                "start, end, eventClass, globalTid, correlationId, nameId, returnValue",
                api,
            ),
            "TARGET_INFO_GPU": ("id, name, smCount", [(3, "GPU three", 132), (4, "GPU four", 132)]),
            "TARGET_INFO_CUDA_DEVICE": ("gpuId, cudaId, pid", [(3, 0, 8), (4, 0, 9)]),
        },
    )
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        streams = {track.device: track for track in capture.tracks if track.role == "stream"}
        assert set(streams) == {3, 4}
        assert {device.index: device.name for device in capture.devices} == {3: "GPU three", 4: "GPU four"}
        assert dict(capture.devices[0].properties)["sm_count"] == 132
        for source_row, target in zip(capture.links.from_row, capture.links.to_row, strict=True):
            caller, work = (capture.tracks[capture.track_of_row(int(row))] for row in (source_row, target))
            assert caller.process == work.process
        assert len(capture.links.to_row) == 2


def test_graphs_metrics_memory_and_calls(tmp_path: Path) -> None:
    call = "start, end, globalTid, nameId, returnValue, callchainId"
    source = make_export(
        tmp_path / "more.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
                "start, end, deviceId, contextId, streamId, correlationId, globalPid, graphId, graphExecId",
                [(0, 50, 0, 1, 7, 9, PID, 12, 13)],
            ),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (
                "start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId",
                [(-9, -1, 0, TID, 9, 2, 0, 4)],
            ),
            "CUDA_CALLCHAINS": ("id, symbol, module, stackDepth", [(4, 2, 1, 0), (4, 1, 1, 1)]),
            "TARGET_INFO_GPU_METRICS": (
                "typeId, metricId, typeName, metricName",
                [(256, 7, "GH100", "SM Active [Throughput %]")],
            ),
            "GPU_METRICS": ("timestamp, typeId, metricId, value", [(10, 256, 7, 40), (20, 256, 7, 60)]),
            "CUDA_GPU_MEMORY_USAGE_EVENTS": (
                "start, globalPid, deviceId, contextId, address, bytes, memKind, memoryOperationType, name",
                [(1, PID, 0, 1, 4096, 100, 2, 0, None), (9, PID, 0, 1, 8192, 50, 2, 0, "buffer"),
                 (30, PID, 0, 1, 4096, 100, 2, 1, None)],
            ),
            "OSRT_API": (call, [(2, 8, TID, 4, -1, 1)]),
            "OSRT_CALLCHAINS": ("id, symbol, module, stackDepth", [(1, 4, 1, 0)]),
            "CUBLAS_EVENTS": ("start, end, globalTid, nameId", [(3, 6, TID, 3)]),
            "PROFILER_OVERHEAD": ("start, end, globalTid, nameId", [(0, 2, TID, 5)]),
            "MPI_P2P_EVENTS": ("start, end, globalTid, textId, remoteRank, size", [(4, 5, TID, 1, 3, 64)]),
            "MPI_RANKS": ("globalTid, rank", [(TID, 2)]),
            "VULKAN_API": ("start", [(1,), (2,)]),
        },
    )  # fmt: skip
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        graph = capture.kinds["graph"]
        assert graph.at(int(graph.rows[0]))["graph_exec_id"] == 13
        assert any("--cuda-graph-trace=node" in text for text in capture.warnings)
        (link,) = capture.links.to_row.tolist()
        assert link == graph.rows[0]
        api = capture.kinds["cuda_api"].at(int(capture.kinds["cuda_api"].rows[0]))
        assert capture.stack_frames(int(api["stack"])) == ["inner", "outer"]
        counters = {counter.name: counter for counter in capture.counters}
        assert counters["SM Active"].unit == "%"
        assert counters["SM Active"].values.tolist() == [40.0, 60.0]
        (memory,) = (counter for counter in capture.counters if counter.unit == "bytes")
        assert memory.values.tolist() == [100.0, 150.0, 50.0]
        events = capture.kinds["memory"]
        names = capture.strings.get(capture.events.name[events.rows])
        assert names == ["Allocation", "buffer", "Release"]
        osrt = capture.kinds["osrt"].at(int(capture.kinds["osrt"].rows[0]))
        assert osrt["return_value"] == -1
        assert capture.stack_frames(int(osrt["stack"])) == ["read"]
        library = capture.kinds["library"]
        assert spelled(capture, library.at(int(library.rows[0])))["library"] == "cuBLAS"
        assert capture.kinds["mpi"].at(int(capture.kinds["mpi"].rows[0]))["remote_rank"] == 3
        assert capture.processes[0].rank == 2
        assert [(entry.what, entry.count) for entry in capture.skipped] == [("VULKAN_API", 2)]


def test_irregular_rows_are_kept_or_counted(tmp_path: Path) -> None:
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName"
    rows: list[tuple[Any, ...]] = [
        (0, 10, 0, 1, 7, 1, PID, 1, 2),
        (20, 15, 0, 1, 7, 2, PID, 1, 2),
        (None, 30, 0, 1, 7, 3, PID, 1, 2),
        ("text", 3, 0, 1, 7, 4, PID, 1, 2),
        (1 << 62, (1 << 62) + 1, 0, 1, 7, 5, PID, 1, 2),
        (40, None, None, None, None, None, None, None, None),
        (5.7, 9, 0, 1, 7, 6, PID, 99, 98),
    ]
    source = make_export(tmp_path / "odd.sqlite", {"CUPTI_ACTIVITY_KIND_KERNEL": (columns, rows)})
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        assert len(capture.kinds["kernel"].rows) == 4
        assert sum(entry.count for entry in capture.skipped) == 3
        assert any("1 ends before it starts" in text for text in capture.warnings)
        assert any("has no end" in text or "have no end" in text for text in capture.warnings)


def test_foreign_and_damaged_databases_end_in_one_line(data_dir: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with pytest.raises(ImportFormatError):
        import_files([foreign], tmp_path / "out.h5")
    content = (data_dir / "nsys" / FUSER).read_bytes()
    for size in (100, 4096, 50_000, len(content) // 2):
        cut = tmp_path / "cut.sqlite"
        cut.write_bytes(content[:size])
        with pytest.raises(ImportFormatError) as caught:
            import_files([cut], tmp_path / "out.h5")
        assert "\n" not in str(caught.value)
        assert "cut.sqlite" in str(caught.value)
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(12))
def test_mutated_files_end_in_a_capture_or_an_error(data_dir: Path, tmp_path: Path, seed: int) -> None:
    import_mutated(data_dir, tmp_path, seed)


def test_importing_can_be_cancelled(data_dir: Path, tmp_path: Path) -> None:
    asked = iter([False] * 3 + [True] * 100)
    with pytest.raises(WarplineError, match="cancel"):
        import_files([data_dir / "nsys" / H100], tmp_path / "out.h5", cancelled=lambda: next(asked))
    assert list(tmp_path.iterdir()) == []


def test_progress_reaches_the_end(data_dir: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    import_files(
        [data_dir / "nsys" / FUSER], tmp_path / "out.h5", progress=lambda share, _: seen.append(share)
    )
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert len(seen) > 5


def test_builder_is_left_without_a_file_when_conversion_fails(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError), CaptureBuilder(tmp_path / "out.h5"):
        SqliteTables(tmp_path / "missing.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_row_that_repeats_a_call_gives_it_its_stack(tmp_path: Path) -> None:
    columns = "start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId"
    other = TID + 1
    rows = [
        (10, 90, 67, TID, 7, 1, 0, 3),  # with its stack
        (11, 89, 0, TID, 7, 2, 0, None),
        (20, 30, 0, other, 7, 2, 0, None),  # another thread's: nobody repeats it
        (100, 120, 67, TID, 8, 1, 0, 3),  # repeats nothing
        (130, 140, 67, TID, -5, 1, 0, 3),  # damaged
    ]
    source = make_export(
        tmp_path / "calls.sqlite",
        {
            "CUPTI_ACTIVITY_KIND_RUNTIME": (columns, rows),
            "CUDA_CALLCHAINS": ("id, symbol, module, stackDepth", [(3, 2, 2, 0), (3, 1, 1, 1)]),
        },
    )
    with open_capture(import_files([source], tmp_path / "out.h5")) as capture:
        table = capture.kinds["cuda_api"]
        found = {
            (int(capture.events.start[row]), int(capture.events.duration[row])): spelled(
                capture, table.at(row)
            )
            for row in table.rows.tolist()
        }
        assert sorted(found) == [(11, 78), (20, 10), (100, 20), (130, 10)]
        stack, _ = table.column("stack")
        assert capture.stack_frames(int(stack[0])) == ["inner", "outer"]
