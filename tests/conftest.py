"""What all tests share: where real captures are, which tests can run here, no display needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before anything imports Qt or h5py.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
# What commands print is compared with English texts, whatever whoever runs the tests speaks.
os.environ["LC_ALL"] = "C.UTF-8"

REPOSITORY = Path(__file__).resolve().parents[1]

# A busy machine is not a defect: no deadlines. `fuzz` is chosen by `make fuzz`; `ci` tries the same input every time,
# so that a red run tells of the commit it ran on.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("fuzz", parent=settings.get_profile("default"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if Path("/dev/nvidiactl").exists():
        return
    without = pytest.mark.skip(reason="needs an NVIDIA GPU, and there is none here")
    for item in items:
        if item.get_closest_marker("gpu") is not None:
            item.add_marker(without)
