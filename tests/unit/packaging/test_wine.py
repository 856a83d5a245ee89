"""What Windows' Python printed under Wine is read strictly."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

WINE = Path(__file__).resolve().parents[3] / "packaging" / "wine"


@pytest.fixture(scope="module")
def trial() -> ModuleType:
    for name in ("lief", "ziglang"):
        pytest.importorskip(name)
    before = sys.path[:], set(sys.modules)
    sys.path.insert(0, str(WINE))
    try:
        spec = importlib.util.spec_from_file_location("try_wheel", WINE / "try_wheel.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before[0]
        for name in set(sys.modules) - before[1]:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(WINE.parent):
                del sys.modules[name]
    return module


def test_the_summary_is_that_of_pytest(trial: ModuleType) -> None:
    output = "..s\n===== 12 passed, 1 skipped in 1.00s =====\n"
    assert trial.summary_of_tests(0, output, Path("log")) == "12 passed, 1 skipped in 1.00s"


@pytest.mark.parametrize(
    ("status", "output"),
    [
        (0, ""),
        (0, "...\nwine: Unimplemented function KERNEL32.dll.CopyFile2, starting debugger...\n"),
        (1, "== 1 failed, 2 passed in 1.00s ==\n"),
        (0, "== 1 failed, 2 passed in 1.00s ==\n"),
    ],
)
def test_a_crash_is_a_failure_though_wine_says_0(trial: ModuleType, status: int, output: str) -> None:
    with pytest.raises(trial.WineError, match="see log"):
        trial.summary_of_tests(status, output, Path("log"))
