"""Sources are found by one registry: those beside it, those of other distributions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import WARPLINE

from warpline import plugins
from warpline.model.tracks import Source
from warpline.recording.agent.contribution import Contribution
from warpline.recording.collectors import Collectors
from warpline.recording.doctor import check_source
from warpline.recording.environment import environment_for_target
from warpline.recording.finalise import finalise
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources import registry
from warpline.recording.sources.collector import Collector, Watched
from warpline.recording.sources.registry import (
    capture_ranges,
    control_mask,
    default_trace,
    recording_sources,
    source_of_range,
    trace_names,
)
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.writer import SpoolWriter
from warpline.storage import open_capture

SAMPLE, PERIOD_NS = 1000, 100_000_000
"""Of the example: docs/example_source."""


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    plugins.forget()
    recording_sources.cache_clear()
    yield
    plugins.forget()
    recording_sources.cache_clear()


@pytest.fixture
def example_installed(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None
) -> Iterator[Path]:
    """The example of docs/ as pip installs it, in a folder of its own."""
    source = tmp_path / "example"
    shutil.copytree(repository / "docs" / "example_source", source)
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
         "--disable-pip-version-check", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    monkeypatch.syspath_prepend(str(target))
    plugins.forget()
    paths = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{target}:{paths}" if paths else str(target))
    yield target
    for name in [name for name in sys.modules if name.startswith("warpline_load_source")]:
        del sys.modules[name]


def warpline(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        [*WARPLINE, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def record_until_sampled(folder: Path, *program: str) -> int:
    """Record a program that goes on once two samples of the load are written down, into run.h5; the status."""
    command = [*WARPLINE, "record", "-q", "-o", "run.h5", "--trace", "load", "--", *program]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as recorder:
        samples = 0
        while samples < 2 and recorder.poll() is None:
            files, _problems = read_spools(folder / "run.h5.spool")
            samples = sum(chunk.record_type == SAMPLE and len(chunk.payload) // chunk.record_bytes
                          for file in files for chunk in file.chunks)  # fmt: skip
    return recorder.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
@pytest.mark.usefixtures("example_installed")
def test_a_source_of_another_distribution_works_like_ours(tmp_path: Path) -> None:
    assert "load" in {point.name for point in metadata.entry_points(group="warpline.sources")}
    assert trace_names()[-1] == "load"
    assert "load" not in default_trace()
    checks = {
        check["name"]: check
        for check in json.loads(warpline("doctor", "--quick", "--json", cwd=tmp_path))["sources"]
    }
    assert checks["load"]["available"] is True
    assert checks["load"]["reason"].endswith(" now")
    assert checks["load"]["title"] in warpline("doctor", "--quick", cwd=tmp_path)
    assert ", load;" in " ".join(warpline("record", "--help", cwd=tmp_path).split())

    assert record_until_sampled(tmp_path, "cat") == 0
    info = json.loads(warpline("info", "run.h5", "--json", cwd=tmp_path))
    sources = {source["name"]: source for source in info["sources"]}
    assert sources["load"]["enabled"] is True
    assert sources["perf"]["reason"] == "not asked for (--trace)"
    assert "load" in {track["uri"] for track in info["tracks"]}
    with open_capture(tmp_path / "run.h5") as capture:
        (counter,) = capture.counters
        assert (counter.name, counter.unit) == ("Load average", "threads")
        times = counter.times[:]
        assert 2 <= len(times) <= 1 + capture.duration_ns // PERIOD_NS
        assert (times[1:] - times[:-1] >= PERIOD_NS).all()
        assert capture.meta["trace"] == ["load"]

    dialog = (
        "from PySide6.QtWidgets import QApplication; app = QApplication([]);"
        "from warpline_app.dialogs.source_choice import SourceChoice;"
        "print({name: box.text() for name, box in SourceChoice().boxes.items()})"
    )
    shown = subprocess.run([sys.executable, "-c", dialog], capture_output=True, text=True, check=True)
    assert "'load': 'Load average'" in shown.stdout


@pytest.mark.usefixtures("example_installed")
def test_records_of_a_source_that_is_not_installed_are_counted(tmp_path: Path) -> None:
    program = "import os, signal, sys; sys.stdin.read(); os.kill(os.getppid(), signal.SIGKILL)"
    assert record_until_sampled(tmp_path, sys.executable, "-c", program) == -9
    shutil.rmtree(tmp_path / "site")
    warpline("recover", "run.h5.spool", cwd=tmp_path)
    info = json.loads(warpline("info", "run.h5", "--json", cwd=tmp_path))
    (skipped,) = info["skipped"]
    assert skipped["what"] == "records of load"
    assert skipped["count"] >= 1


@pytest.mark.usefixtures("fresh_registry")
def test_a_broken_entry_point_is_reported_and_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[warpline.sources]\nbroken = json:dumps\nperf = json:dumps\nother = no_such_module:source\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.forget()
    found = {source.name: source for source in recording_sources()}
    assert type(found["perf"]).__name__ == "PerfSource"
    check = check_source(found["broken"])
    assert not check.available
    assert (
        check.reason == "plug-in broken cannot be loaded from json:dumps: it is not of type RecordingSource"
    )
    assert check.remedy
    assert "no_such_module" in check_source(found["other"]).reason


class Failing(Collector):
    """Goes wrong in one of its methods."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.called: list[str] = []

    def tick(self) -> None:
        self.act("tick")

    def drain(self) -> None:
        self.act("drain")

    def close(self) -> None:
        self.act("close")

    def act(self, what: str) -> None:
        self.called.append(what)
        if what == self.where:
            raise LookupError(f"no {what}")

    def report(self) -> Source:
        return Source("failing", True)


class FailingSource(RecordingSource):
    choice = Choice("failing", "Failing", "")
    title = "Fails"

    def __init__(self, name: str, collector: Collector) -> None:
        self.name = name
        self.collector = collector

    def probe(self) -> str:
        return ""

    def open(self, watched: Watched) -> Collector:
        return self.collector


@pytest.mark.parametrize(
    ("where", "called"),
    [
        ("tick", ["tick", "close"]),
        ("drain", ["tick", "drain", "close"]),
        ("close", ["tick", "drain", "close", "close"]),
    ],
)
def test_a_failing_collector_does_not_affect_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, called: list[str]
) -> None:
    first, second = Failing(where), Failing("never")
    sources = (FailingSource("first", first), FailingSource("second", second))
    monkeypatch.setattr("warpline.recording.collectors.recording_sources", lambda: sources)
    collectors = Collectors(Watched(directory=tmp_path, root_pid=1), ("failing", "absent"), {})
    collectors.tick()
    collectors.drain()
    collectors.close()
    assert first.called == called
    assert second.called == ["tick", "drain", "close"]
    said = {source.name: source for source in collectors.reports()}
    assert said["first"] == Source("first", False, f"it failed: no {where}")
    assert not said["absent"].enabled


class RaisingSource(RecordingSource):
    """Of somebody who did not expect what happens."""

    name = "raising"
    choice = Choice("raising", "Raising", "")
    title = "Raises"

    def probe(self) -> str:
        raise RuntimeError("no probe")

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        raise RuntimeError("no contribution")

    def open(self, watched: Watched) -> Collector:
        raise RuntimeError("no collector")

    def translate(self, *_args: object) -> None:
        raise RuntimeError("no translation")


def test_a_source_that_raises_in_any_step_does_not_affect_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising = RaisingSource()
    for module in ("environment.asked_sources", "collectors.recording_sources", "finalise.recording_sources"):
        monkeypatch.setattr(f"warpline.recording.{module}", lambda *_trace: (raising,))
    check = check_source(raising)
    assert (check.available, check.reason) == (False, "it failed: no probe")
    session = Session(
        directory=tmp_path,
        output=tmp_path,
        command=("x",),
        working_directory="/",
        start_monotonic_ns=1000,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=2,
        options=RecordingOptions(trace=("raising",)),
        stop_monotonic_ns=2000,
    )
    session.save()
    assert environment_for_target(session, {}).sources["raising"].reason == "it failed: no contribution"
    collectors = Collectors(Watched(directory=tmp_path, root_pid=1), ("raising",), {})
    assert [source.reason for source in collectors.reports()] == ["it failed: no collector"]
    SpoolWriter(tmp_path / "recorder.spool", "recorder").close()
    finalise(tmp_path, tmp_path / "x.h5")
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.warnings == ("what raising recorded is damaged: no translation",)


def test_declarations_of_sources_are_consistent() -> None:
    sources = recording_sources()
    positions = {source.name: source.position for source in sources}
    assert positions["perf"] < positions["wakeups"] < positions["procfs"], "one refines, one stands in"
    assert positions["nvml"] < positions["cuda"], "GPUs have NVML's numbers"
    owned = [number for source in sources for number in source.record_types]
    assert len(owned) == len(set(owned))
    for source in sources:
        assert {number for number, _byte in source.timed_records} <= source.record_types
    bits = [choice.control_bit for choice in registry.choices()]
    assert len(bits) == len(set(bits))
    assert control_mask(trace_names()) == sum(bits)
    assert control_mask(("cpu", "cuda")) == 1 | 4
    assert default_trace() == ("cpu", "nvml", "nvtx", "cuda", "osrt", "python", "steps")


@pytest.mark.parametrize("page", ["README.md", "docs/recording.md"])
def test_every_source_is_documented(repository: Path, page: str) -> None:
    text = (repository / page).read_text()
    for source in recording_sources():
        assert f"`{source.choice.name}`" in text, source.name


def test_ranges_of_sources() -> None:
    assert capture_ranges() == ("none", "nvtx:NAME", "cuda-profiler")
    assert source_of_range("none") is None
    for text, name in (("nvtx:epoch 1", "nvtx"), ("nvtx:a:b", "nvtx"), ("cuda-profiler", "cuda")):
        source = source_of_range(text)
        assert source is not None
        assert source.name == name
    for text in ("", "nvtx", "nvtx:", "cuda-profiler:x", "time"):
        with pytest.raises(ValueError, match="not a capture range"):
            source_of_range(text)


def test_listing_sources_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; from warpline.recording.sources.registry import recording_sources; recording_sources();"
        "print([name for name in ('numpy', 'h5py', 'pynvml', 'PySide6') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
