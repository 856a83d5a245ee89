"""A program that uses the library is checked by ``mypy --strict``, through names that are loaded when first used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = """
from pathlib import Path

import warpline

with warpline.open(Path("run.h5")) as capture:
    reveal_type(capture)  # warpline.library.capture_reader.CaptureReader
    events = capture.events("kernel", track=["gpu/0/*"], start="1.2s", stop=1_300_000_000)
    reveal_type(events)  # warpline.library.event_frame.EventFrame
    reveal_type(events["name"].tolist())  # Any
    reveal_type(events.start_ns.dtype)  # numpy.dtype[numpy.signedinteger[numpy._typing._nbit_base._64Bit]]
    report = capture.report("overlap", range=("1s", None), track="gpu/*")
    reveal_type(report.units)  # typing.Mapping[str, str]
    reveal_type(list(report.rows()))  # builtins.list[builtins.dict[str, Any]]
    reveal_type(capture.counters)  # tuple[warpline.library.counter_samples.CounterSamples, ...]
    reveal_type(capture.links.kinds)  # builtins.dict[str, int]
    reveal_type(capture.render(size=(800, 400)))  # warpline.library.pictures.PngPicture
    reveal_type(capture.tracks[0].uri)  # str
reveal_type(warpline.import_trace(["a.json"], out="b.h5"))  # warpline.library.capture_reader.CaptureReader
reveal_type(warpline.CaptureBuilder("a.h5").string("x"))  # int
reveal_type(warpline.NotRecordedError("x"))  # warpline.model.errors.NotRecordedError
with warpline.annotate("step"):
    warpline.mark("here")
warpline.nothing  # error: attr-defined
warpline.open(5)  # error: arg-type
capture.events(5)  # error: arg-type
capture.render(size=800)  # error: arg-type
"""


@pytest.mark.slow
def test_a_strict_program_sees_precise_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "sample.py").write_text(SAMPLE)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=cache", "sample.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.stderr
    found = {
        int(number): text
        for number, text in re.findall(r"^sample\.py:(\d+): (.*)$", done.stdout, re.MULTILINE)
    }
    assert found
    for number, line in enumerate(SAMPLE.splitlines(), 1):
        _, _, expected = line.partition("  # ")
        said = found.pop(number, "")
        if expected.startswith("error: "):
            assert said.startswith("error: "), line
            assert said.endswith(f"[{expected.removeprefix('error: ')}]"), said
        elif expected:
            # Versions of mypy differ in whether they name the module of a built-in type.
            assert (
                said.replace("builtins.", "")
                == f'note: Revealed type is "{expected.replace("builtins.", "")}"'
            )
    assert not found
