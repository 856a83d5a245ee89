"""Which file is which rank: what tells it, and what that costs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.benchmarks.jobs.generate_job import JobPlan, write_job
from tests.unit.interchange.import_tools import rank_file

from warpline.library.jobs.finding import find_job
from warpline.model import Cancelled
from warpline.storage.columns.mapped_file import MappedFile

RANKS = 4


def test_a_name_tells_the_rank_where_nothing_else_does(tmp_path: Path) -> None:
    for rank in (0, 10, 2):
        rank_file(tmp_path, rank, 0, info=False).rename(tmp_path / f"worker{rank}.json")
    by_order = find_job([tmp_path])
    assert [(one.rank, one.path.name, one.told_by) for one in by_order.ranks] == [
        (0, "worker0.json", "order"),
        (1, "worker2.json", "order"),
        (2, "worker10.json", "order"),
    ]
    by_name = find_job([tmp_path], r"worker(\d+)")
    assert [(one.rank, one.told_by) for one in by_name.ranks] == [
        (0, "worker0"),
        (2, "worker2"),
        (10, "worker10"),
    ]
    assert by_name.missing == (1, *range(3, 10))


def test_folders_tell_ranks_and_what_lies_beside_a_trace_is_not_worth_a_word(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        folder = tmp_path / "job" / f"rank{rank}_pt" / "output"
        folder.mkdir(parents=True)
        (folder / "communication.json").write_text('{"step50": {}}')
        trace = rank_file(tmp_path, rank, 0, info=False)
        trace.rename(folder / "trace.json") if rank < 2 else trace.unlink()
    found = find_job([tmp_path / "job"])
    assert [(one.rank, one.path.name, one.told_by) for one in found.ranks] == [
        (0, "trace.json", "rank0"),
        (1, "trace.json", "rank1"),
    ]
    assert [(one.rank, one.path.name) for one in found.left_out] == [(2, "communication.json")]


def test_an_export_beside_its_source_is_no_other_rank(tmp_path: Path) -> None:
    for name in ("first", "second"):
        rank_file(tmp_path, 0, 0, info=False).rename(tmp_path / f"{name}.json")
    (tmp_path / "first.json.gz").write_bytes(gzip.compress((tmp_path / "first.json").read_bytes()))
    found = find_job([tmp_path])
    assert [(one.rank, one.path.name) for one in found.ranks] == [(0, "first.json"), (1, "second.json")]
    assert [(one.path.name, one.reason) for one in found.left_out] == [
        ("first.json.gz", f"{tmp_path / 'first.json'} is the same trace")
    ]


def test_finding_the_ranks_opens_each_file_once_and_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_job(tmp_path, JobPlan(RANKS, 2))
    opened: list[Path] = []
    begin = MappedFile.__init__

    def counted(file: MappedFile, path: Path) -> None:
        opened.append(path)
        begin(file, path)

    monkeypatch.setattr(MappedFile, "__init__", counted)
    assert [one.rank for one in find_job([tmp_path]).ranks] == list(range(RANKS))
    assert sorted(opened) == sorted(tmp_path.iterdir())
    with pytest.raises(Cancelled):
        find_job([tmp_path], cancelled=lambda: True)
