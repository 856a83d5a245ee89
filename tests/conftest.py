"""What all tests share: where real captures are, which tests can run here, no display needed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.leftovers import be_marked, end_all, now_s, with_usual_signals
from tests.waiting import wait_until

# Before anything imports Qt or h5py.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
# What commands print is compared with English texts, whatever whoever runs the tests speaks.
os.environ["LC_ALL"] = "C.UTF-8"

if os.name == "posix":
    with_usual_signals()
be_marked()

REPOSITORY = Path(__file__).resolve().parents[1]

# A busy machine is not a defect: no deadlines. `fuzz` is chosen by `make fuzz`; `ci` tries the same input every time,
# so that a red run tells of the commit it ran on.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("fuzz", parent=settings.get_profile("default"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session", autouse=True)
def recordings_of_these_tests() -> Iterator[None]:
    """``warpline control`` without a name means the only recording of a user: other test runs are not to be seen."""
    with tempfile.TemporaryDirectory(prefix="warpline-runtime-") as folder:
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = folder
        yield
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember failures for the hook below."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Programs that a failed test did not come to end would run on, and disturb those after it."""
    begun_s = now_s()
    result = yield
    if item.stash.get(_HAS_FAILED, False):
        tell_leftovers(item.config, f"{item.nodeid} failed", end_all(begun_s))
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """What is still there when all tests are over has no business; Python's own helper goes without being named."""
    tracker = getattr(sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None)
    if tracker is not None:
        tracker._stop()  # it would end with this process, which looks before
    tell_leftovers(session.config, "the tests are over", end_all())


def tell_leftovers(config: pytest.Config, when: str, ended: list[str]) -> None:
    """Name programs that had to be ended."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if ended and reporter is not None:
        reporter.write_line("")  # after the letters of progress
        for line in ended:
            reporter.write_line(f"still there when {when}, ended: {line}")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Files that other people recorded; named by WARPLINE_TEST_DATA, otherwise shared/data beside the checkout."""
    folder = Path(os.environ.get("WARPLINE_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no test data in {folder}; set WARPLINE_TEST_DATA to the folder that holds it")
    return folder


@pytest.fixture(scope="session")
def bench_smoke() -> bool:
    """Whether benchmarks only show that they run: tiny sizes, no bars."""
    return os.environ.get("WARPLINE_BENCH_SMOKE") == "1"


# Tests that record programs share one process where pytest-xdist runs several: two recordings at once would disturb
# each other more than any other test does.
_RECORDERS = (
    "bench_findings/test_bench_findings.py",
    "bench_findings/test_cured_programs.py",
    "native/",
    "unit/profiling/",
    "unit/recording/",
    "gui/window/test_window_recording.py",
)


_types_checked = os.environ.pop("WARPLINE_TYPES_CHECKED", None)
"""Where it will be written; taken away from the processes of pytest that are started here."""


def pytest_configure(config: pytest.Config) -> None:
    """With pytest-xdist, end the run when a worker crashes, instead of replacing the worker.

    A replacement may receive only tests that the crashed worker had finished; then it and pytest-xdist (3.8) wait for
    each other forever. Not in ``addopts``: pytest without pytest-xdist refuses its options.
    """
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests stay together, and so do all that record; compiling for minutes is no recording."""
    from xdist.scheduler import LoadScopeScheduling  # only there when several processes were asked for

    def scope(nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        is_alone = not path.removeprefix("tests/").startswith(_RECORDERS) or "cross_compile" in path
        return path if is_alone else "recorders"

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = scope
    return scheduler


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """What came of the types, which ``make test`` checks meanwhile; `scripts/check.sh` makes it count."""
    if _types_checked is None or exitstatus >= pytest.ExitCode.INTERRUPTED:
        return
    answer = Path(_types_checked)
    wait_until(answer.exists, "the types were not checked within an hour", 3600)
    told = answer.read_text().strip()
    terminalreporter.write_line(f"{'types':<16} {told}")
    if told != "ok":
        terminalreporter.write_line(answer.with_suffix(".log").read_text())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path("/dev/nvidiactl").exists():
        return
    without = pytest.mark.skip(reason="needs an NVIDIA GPU, and there is none here")
    for item in items:
        if item.get_closest_marker("gpu") is not None:
            item.add_marker(without)
