"""The compiled scanner reads and writes only where it may: mutated traces under the compiler's sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.scanner_tools import build, run, unpacked
from tests.unit.test_import_fuzz import ASYNC, ROCM, SIMPLE, TORCH

from warpline.interchange.scanner import Scanner, library

_HTA = "torch/facebookresearch+HolisticTraceAnalysis/tests/data"
SEEDS = (
    TORCH,
    ASYNC,
    SIMPLE,
    ROCM,
    f"{_HTA}/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
)


@pytest.mark.fuzz
@pytest.mark.parametrize("flags", [(), ("-U__SSE2__",)], ids=["vectors", "plain"])
def test_mutated_texts_stay_in_bounds(tmp_path: Path, data_dir: Path, flags: tuple[str, ...]) -> None:
    run(build(tmp_path, *flags), unpacked(data_dir, SEEDS, tmp_path), 0, 60)


@pytest.mark.skipif(library() is None, reason="the scanner is not compiled here")
@pytest.mark.parametrize("length", [1, 2, 62, 63, 64, 65, 127, 128, 129])
def test_strings_across_blocks(length: int) -> None:
    """Blocks of 64 bytes: a backslash, a quotation mark or a number may be cut by each border."""
    lib = library()
    assert lib is not None
    for filling in (b"x", b"\\\\", b'\\"', b"\\\\x"):
        name = (filling * length)[: length - length % len(filling)]
        for shift in range(70):
            text = b" " * shift + b'{"name":"' + name + b'","ph":"X","ts":12345678,"dur":1}]'
            scan = Scanner(lib).scan(text)
            assert scan is not None, (filling, length, shift)
            assert scan.ended
            assert scan.tables[2] == [b'"' + name + b'"']
            assert scan.columns[8].tolist() == [12345678000]
