"""Writes the list of reports in docs/summaries.md: ``python scripts/write_reports.py``."""

from __future__ import annotations

from pathlib import Path

from warpline.analysis.framework.registry import reports
from warpline.analysis.framework.report_spec import ReportSpec

PAGE = Path(__file__).resolve().parents[1] / "docs" / "summaries.md"
BEGIN = "<!-- begin: list of reports, written by scripts/write_reports.py -->\n"
END = "<!-- end: list of reports -->\n"
FAMILIES = {
    "gpu": "GPU",
    "framework": "Frameworks (Paddle's tables)",
    "steps": "Steps",
    "ranges": "Ranges",
    "cpu": "CPU and threads",
}


def report_list() -> str:
    """The built-in reports by family, as tables of Markdown: name, title, kinds of events they need."""
    families: dict[str, list[ReportSpec]] = {}
    for spec in reports():
        if spec.compute.__module__.startswith("warpline."):
            families.setdefault(spec.family, []).append(spec)
    sections = []
    for family, specs in families.items():
        rows = "".join(f"| `{spec.name}` | {spec.title} | {_needs(spec)} |\n" for spec in specs)
        title = FAMILIES.get(family, family.capitalize())
        sections.append(f"### {title}\n\n| report | contents | needs one of |\n|---|---|---|\n{rows}")
    return "\n".join(sections)


def _needs(spec: ReportSpec) -> str:
    kinds = ", ".join(f"`{kind}`" for kind in spec.needs)
    return f"{kinds}, and launch links" if spec.of_launches else kinds


def with_list(page: str) -> str:
    """The page with the current list between its markers. Raises ValueError if a marker is missing."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{report_list()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_list(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE}")
