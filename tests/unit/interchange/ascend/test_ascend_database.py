"""Databases of Ascend's profiler: counts and times equal the tables that they come from."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import count, imported, links, rows

from warpline.interchange import detect
from warpline.storage import Capture

DATABASE = (
    "ascend/xiaobingling93-pixel+Ascend-msinsight/test/data/pytorch/db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/"
    "ascend_pytorch_profiler_0.db"
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Capture:
    copy = tmp_path_factory.mktemp("ascend") / "renamed"
    copy.write_bytes((data_dir / DATABASE).read_bytes())
    assert detect(copy).name == "ascend-db"
    return imported(copy.parent, copy)


def test_kernels_are_what_msprof_counts_as_computing_and_communication(
    capture: Capture, data_dir: Path
) -> None:
    with closing(sqlite3.connect(data_dir / DATABASE)) as database:
        analysis = {
            sort: (number, total)
            for sort, number, total in database.execute(
                "SELECT type, count(*), sum(endNs - startNs) FROM OVERLAP_ANALYSIS WHERE type < 2 GROUP BY type"
            )
        }
    kernels = rows(capture, "kernel")
    computing = [row for row in kernels if "/collectives/" not in row[3]]
    collectives = [row for row in kernels if "/collectives/" in row[3]]
    assert (len(computing), sum(row[2] for row in computing)) == analysis[0] == (187, 8903431)
    assert (len(collectives), sum(row[2] for row in collectives)) == analysis[1] == (4, 102108100)


def test_calls_operators_and_python_functions_equal_the_tables(capture: Capture) -> None:
    assert count(capture, "cuda_api") == 710
    assert count(capture, "operator") + count(capture, "phase") == 860
    assert (count(capture, "python"), count(capture, "range")) == (1282, 318)
    assert {track.title for track in capture.tracks if track.role == "api"} == {"AscendCL"}
    assert [row[0] for row in rows(capture, "phase")] == ["ProfilerStep#50"]
    operators = capture.kinds["operator"]
    assert any(operators.at(row).get("stack") is not None for row in operators.rows.tolist())


def test_launches_lead_from_calls_to_tasks(capture: Capture) -> None:
    launches = sum(capture.links.kind_name(code) == "launch" for code in capture.links.kind.tolist())
    assert launches == 554  # 550 tasks and 4 collectives whose call is in the table
    assert ("launch", "trans_TransData_0") in links(capture, "launch")


def test_copies_frequencies_and_memory(capture: Capture) -> None:
    assert count(capture, "memcpy") == 24
    names = {counter.name for counter in capture.counters}
    assert any(name.startswith("AI core frequency") for name in names)
    assert {"Allocated PTA+GE", "Reserved PTA+GE"} <= names
