"""How reports are found: by their modules, and by entry points of what is installed."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program, rows_of

from warpline import plugins
from warpline.analysis.framework.registry import SUBJECTS, compute_report, find_report, reports
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.cli import main
from warpline.model import UsageError
from warpline.storage import Capture


def specs_in_modules() -> dict[str, ReportSpec]:
    """What every module of every subject calls ``report``, by the module's name."""
    found = {}
    for subject in SUBJECTS:
        package = importlib.import_module(f"warpline.analysis.{subject}")
        for entry in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{entry.name}")
            if isinstance(getattr(module, "report", None), ReportSpec):
                found[entry.name] = module.report
    return found


def test_every_module_with_a_report_is_listed_under_its_name() -> None:
    found = specs_in_modules()
    assert len(found) > 40
    assert {spec.name: spec for spec in reports()} == found
    for name, spec in found.items():
        assert find_report(name) is spec


def test_reports_are_listed_by_place() -> None:
    names = [spec.name for spec in reports()]
    assert names[:2] == ["cuda_api_sum", "cuda_api_trace"]
    assert names.index("device") < names.index("operator") < names.index("steps") < names.index("osrt_sum")
    places = [spec.place for spec in reports()]
    assert len(set(places)) == len(places), "two built-in reports claim one place"


def test_finding_one_report_imports_no_other() -> None:
    code = (
        "import sys\n"
        "from warpline.analysis.framework.registry import find_report\n"
        "assert find_report('gpu_idle').title\n"
        "others = [name for name in sys.modules if name.startswith('warpline.analysis.cuda.')]\n"
        "assert not others, others\n"
        "assert 'h5py' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_reports_are_refused(training: Capture) -> None:
    # The last two are modules beside those of reports.
    for name in ("nonsense", "", "../gpu", "gpu.gpu_idle", "cuda_sections", "nested_ranges"):
        with pytest.raises(UsageError, match="no report"):
            compute_report(training, name)


def test_a_report_without_its_kinds_says_what_is_missing(tmp_path: Path) -> None:
    program = Program(tmp_path / "one.h5")
    program.host("memory", "sample", 0, 0, "only a sample")
    with program.finish() as capture:
        for spec in reports():
            assert "sample" not in spec.needs
            if spec.needs:
                result = compute_report(capture, spec.name).result
                assert isinstance(result, NotRecorded), spec.name


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    reports.cache_clear()
    plugins.forget()
    yield
    reports.cache_clear()
    plugins.forget()


@pytest.fixture
def example_installed(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None
) -> Iterator[None]:
    """The example of docs/ as pip installs it, in a folder of its own."""
    source = tmp_path / "example"
    shutil.copytree(repository / "docs" / "example_report", source)
    target = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index",
         "--disable-pip-version-check", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    monkeypatch.syspath_prepend(str(target))
    yield
    sys.modules.pop("warpline_kernel_lengths", None)


@pytest.mark.usefixtures("example_installed")
def test_an_installed_report_is_found_by_its_entry_point(
    training: Capture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reports()[-1].name == "kernel_lengths"
    rows = {row["name"]: row for row in rows_of(training, "kernel_lengths")}
    assert {name: row["count"] for name, row in rows.items() if row["count"]} == {"below 1 ms": 6}
    assert rows["below 1 ms"]["ratio"] == 1.0
    assert main(["stats", "--list"]) == 0
    assert "kernel_lengths           Kernels by length" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("gpu_idle", "json:dumps", None),
        ("broken", "json:dumps", "it is not of type ReportSpec"),
        ("gone", "no_such_module:report", "No module named 'no_such_module'"),
        ("other", "warpline.analysis.gpu.gpu_idle:report", "its name is gpu_idle"),
    ],
)
@pytest.mark.usefixtures("fresh_registry")
def test_a_broken_entry_point_gives_its_reason_and_affects_no_other_report(
    training: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    said: str | None,
) -> None:
    folder = tmp_path / "somebody-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[warpline.reports]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {spec.name for spec in reports()} == specs_in_modules().keys() | {name}
    result = compute_report(training, name).result
    if said is None:
        assert not isinstance(result, NotRecorded), "an installed report replaces no built-in one"
        return
    assert isinstance(result, NotRecorded)
    assert result.reason == f"plug-in {name} cannot be loaded from {value}: {said}"
    assert result.remedy == "update or uninstall somebody"
