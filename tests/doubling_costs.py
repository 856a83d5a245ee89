"""What each part of Warpline costs on a file: processor time and the highest memory, each part in a fork of its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.doubling import command, run
from tests.fuzz.campaign.actions import preload

from warpline.analysis.findings.budget import budget_of
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.diagnose import open_case
from warpline.analysis.findings.rule import builtin_rules
from warpline.analysis.framework.registry import compute_report, reports
from warpline.analysis.framework.report_json import json_parts
from warpline.analysis.framework.selection import View
from warpline.storage import open_capture

EXPORTS = ("json", "csv", "parquet", "svg", "html", "h5")


@dataclass(frozen=True)
class Cost:
    """Processor time and the highest resident memory, mapped files included, or why there is none."""

    cpu_s: float = 0.0
    peak_bytes: int = 0
    problem: str = ""


def _peak_bytes() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def _judge(work: Callable[[], dict[str, float] | None]) -> dict[str, Any]:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    began = time.process_time()
    try:
        parts = work() or {}
    # Whatever goes wrong is a line of the table.
    except BaseException as error:
        return {"problem": f"{type(error).__name__}: {error}"[:300]}
    return {"cpu_s": time.process_time() - began, "peak_bytes": _peak_bytes(), "parts": parts}


def in_fork(name: str, work: Callable[[], dict[str, float] | None]) -> dict[str, Cost]:
    """The cost of some work by its name, and that of the parts it measured itself, in a fork with its memory reset."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            json.dump(_judge(work), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    found: dict[str, Any] = json.loads(text) if text else {"problem": f"ended by signal {status & 127}"}
    parts = found.pop("parts", {})
    cost = Cost(**found)
    return {name: cost} | {part: Cost(cpu_s, cost.peak_bytes) for part, cpu_s in parts.items()}


def best(name: str, work: Callable[[], dict[str, float] | None], times: int) -> dict[str, Cost]:
    """The cheapest of several attempts."""
    attempts = [in_fork(name, work) for _ in range(times)]
    return {
        part: min((attempt[part] for attempt in attempts if part in attempt), key=lambda cost: cost.cpu_s)
        for part in attempts[0]
    }


def _findings(path: Path) -> dict[str, float]:
    """Processor time of the budget and of each rule on the whole capture."""
    spent = {}
    with open_capture(path) as capture:
        case = open_case(View(capture), None, None)
        if not isinstance(case, Case):
            return {}
        began = time.process_time()
        budget_of(case)
        spent["budget"] = time.process_time() - began
        for rule in builtin_rules():
            began = time.process_time()
            list(rule.find(case))
            spent[f"finding {rule.name}"] = time.process_time() - began
    return spent


def _report(path: Path, name: str) -> None:
    with open_capture(path) as capture:
        list(json_parts(compute_report(capture, name)))


def costs(capture: Path, parts: tuple[str, ...], times: int = 1) -> Iterator[dict[str, Cost]]:
    """The cost of every report, finding, export and of ``info`` on a capture; of ``parts``, "" standing for all."""

    def is_wanted(name: str) -> bool:
        return any(part in name for part in parts)

    def exported(form: str) -> None:
        out = capture.parent / f"out.{form}"
        try:
            run("export", str(capture), str(out))
        finally:
            out.unlink(missing_ok=True)

    if is_wanted("info"):
        yield best("info", lambda: run(*command("info", capture)), times)
    if is_wanted("check"):
        yield best("check", lambda: run(*command("check", capture)), times)
    if is_wanted("finding"):
        yield best("findings", lambda: _findings(capture), times)
    for report in reports():
        if is_wanted(f"report {report.name}"):
            yield best(f"report {report.name}", partial(_report, capture, report.name), times)
    for form in EXPORTS:
        if is_wanted(f"export {form}"):
            yield best(f"export {form}", partial(exported, form), times)


def import_cost(source: Path, capture: Path, times: int = 1) -> Cost:
    """The cost of an import."""
    return best("import", lambda: run("import", "-o", str(capture), str(source)), times)["import"]


def warm() -> None:
    """Import everything once, so that forks share it."""
    preload()
    builtin_rules()
