"""What data loading spends its time on, in the main process and in stages of a pipeline."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.findings.scenes import MS

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Finding
from warpline.analysis.findings.work.hot_lines import hot_line
from warpline.analysis.findings.work.loading_kinds import kind_in_loading
from warpline.analysis.findings.work.shapes import converts
from warpline.analysis.findings.work.source_lines import SourceFile, SourceFiles
from warpline.analysis.framework.selection import View
from warpline.storage import CaptureBuilder, open_capture

SITE = "/usr/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("frames", "line", "expected"),
    [
        ((f"Image.rotate ({SITE}/PIL/Image.py:2300)", "Photos.__getitem__ ({file}:2)"), "im.rotate(3)", "augmented"),
        ((f"ImageFile.load ({SITE}/PIL/ImageFile.py:300)", "Photos.__getitem__ ({file}:2)"), "x(im)", "decoded"),
        (("_merge ({file}:2)", "SubwordTokenizer.encode (/src/t.py:9)"), "pairs.append(a)", "tokenized"),
        (("collate_lists ({file}:2)",), "batch = torch.tensor(rows)", "collated"),
        ((f"loads ({SITE}/../json/__init__.py:299)", "Rides.__getitem__ ({file}:2)"), "json.loads(row)", "parsed"),
        (("Clips.__getitem__ ({file}:2)",), "spec = torch.stft(wave, 512)", "features"),
        (("Rows.__getitem__ ({file}:2)",), "y = x * 2", None),
        (("Rows.__getitem__ ({file}:2)",), "row = copy.deepcopy(x)", "deepcopy"),
    ],
)  # fmt: skip
def test_work_inside_loading_has_a_kind(
    tmp_path: Path, frames: tuple[str, ...], line: str, expected: str | None
) -> None:
    file = tmp_path / "data.py"
    file.write_text(f"def __getitem__(x):\n    {line}\n")
    stack = [frame.format(file=file) for frame in frames]
    hot = hot_line(stack, SourceFiles(time.time_ns() + 10**9))
    assert hot is not None
    kind = kind_in_loading(hot, stack)
    assert (kind.key if kind else None) == expected


@pytest.mark.parametrize("line", ["item = im.rotate(x)", "item = x + 1"])
def test_the_finding_names_the_work_of_loading_in_the_main_process(tmp_path: Path, line: str) -> None:
    file = tmp_path / "data.py"
    file.write_text(f"def __getitem__(im, x):\n    {line}\n")
    found = _loading(tmp_path / "run.h5", f"Photos.__getitem__ ({file}:2)")
    is_named = "rotate" in line
    assert (found.where.file, found.where.line) == (str(file), 2)
    assert (f"100 % of that work is transforming items (augmentation), one by one, at __getitem__ ({file}:2)"
            in found.text) is is_named  # fmt: skip
    assert found.remedy.startswith("Shrink or crop first") is is_named
    assert "num_workers" in found.remedy
    assert found.gain_ns == pytest.approx(60 * MS, abs=MS)


def _loading(path: Path, frame: str) -> Finding:
    """The finding on a thread that runs for 100 ms and loads data in 60 of them, at a frame."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        builder.meta.update(start_utc_ns=time.time_ns() + 10**9)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state, phases, samples = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
            for role in ("state", "phases", "samples")
        )
        builder.add_events(state, "thread_state", [0], [100 * MS], [builder.string("running")])
        names = [builder.string("DataLoader.__next__"), builder.string("fetch batch")]
        builder.add_events(phases, "phase", [0, 0], [60 * MS, 60 * MS], names)
        stack = builder.stack(builder.string(frame))
        times = np.arange(MS, 60 * MS, 2 * MS)
        builder.add_events(
            samples, "sample", times, np.zeros(len(times), np.int64), [builder.string("sample")] * len(times),
            attributes={"stack": np.full(len(times), stack)},
        )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        return next(f for f in diagnose(View(capture)).findings if f.id == "data_loading")


@pytest.mark.parametrize(
    ("line", "is_called", "expected"),
    [
        ("vectors = self.vectors.float()", True, True),
        ("return best.indices.tolist(), best.values.cpu().numpy()", True, True),
        ("table = np.asarray(ROWS)", True, True),
        ("grey = tile @ np.array([0.2, 0.7, 0.1])", True, False),
        ("weights = np.array([0.2, 0.7, 0.1])", True, False),
        ("vectors = self.vectors.float()", False, False),
    ],
)
def test_conversions_for_each_call_are_seen(line: str, is_called: bool, expected: bool) -> None:
    use = "for q in queries:\n    similar(q)\n" if is_called else "similar(q)\n"
    parsed = SourceFile(f"def similar(self):\n    {line}\n{use}").line(2)
    assert parsed is not None
    assert converts(parsed) is expected
