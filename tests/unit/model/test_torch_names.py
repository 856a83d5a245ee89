"""Names of PyTorch's NVTX ranges, taken apart."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

import warpline
from warpline.cli import main
from warpline.model.torch_names import torch_names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "aten::add, seq = 0, op_id = 72093, sizes = [[8, 4], [4]]",
            ("aten::add", 0, 72093, "[[8, 4], [4]]"),
        ),
        ("aten::view, op_id = 314290", ("aten::view", -1, 314290, "")),
        ("AddmmBackward0, seq = 7", ("AddmmBackward0", 7, -1, "")),
        (
            "aten::mm, op_id = 3, sizes = [[2, 2], []], input_op_ids = [(1,0), (2,0)]",
            ("aten::mm", -1, 3, "[[2, 2], []]"),
        ),
        (
            "autograd::engine::evaluate_function: MulBackward0",
            ("autograd::engine::evaluate_function: MulBackward0", -1, -1, ""),
        ),
        ("epoch = 3, loss", ("epoch = 3, loss", -1, -1, "")),
        ("", ("", -1, -1, "")),
        (", op_id = 3", (", op_id = 3", -1, -1, "")),
    ],
)
def test_what_stands_behind_a_name(text: str, parts: tuple[str, int, int, str]) -> None:
    found = torch_names([text])
    assert (found.names[0], found.sequence[0], found.call[0], found.sizes[0]) == parts


def test_an_export_of_nsight_groups_by_operator_and_keeps_the_numbers(data_dir: Path, tmp_path: Path) -> None:
    export = data_dir / "nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite"
    if not export.exists():
        pytest.skip("the export is not there")
    with sqlite3.connect(f"file:{export}?mode=ro&immutable=1", uri=True) as database:
        texts = [text for (text,) in database.execute("SELECT text FROM NVTX_EVENTS WHERE eventType = 59")]
    calls = Counter(text.partition(", ")[0] for text in texts if ", op_id = " in text)
    numbers = {int(text.rpartition(", op_id = ")[2]) for text in texts if text.startswith("aten::mm, op_id")}
    assert main(["import", str(export), "-o", str(tmp_path / "x.h5")]) == 0
    with warpline.open(tmp_path / "x.h5") as capture:
        ranges = capture.events("range").to_pandas()
        table = capture.report("nvtx_sum").to_pandas()
    assert ranges[ranges.external_id.notna()].groupby("name", observed=True).size().to_dict() == dict(calls)
    assert set(ranges.external_id[ranges.name == "aten::mm"].astype(int)) == numbers
    assert len(table) < 200
