"""The tool that looks at the ranks of a job together."""

from __future__ import annotations

from typing import Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined
from warpline.agents.tool import Tool, ToolArgument
from warpline.model.errors import UsageError

_MOST_RANKS = 16


def _job(call: ToolCall, given: dict[str, Any]) -> str:
    from warpline.library.jobs import open_job

    folder = call.session.roots.checked(given["folder"])
    if not folder.is_dir():
        raise UsageError(f"{given['folder'][:200]!r} is not a folder")
    job = open_job(
        [folder], step=given["step"], every=False, progress=call.progress, cancelled=call.cancelled.is_set
    )
    ranks = [rank for rank in job.ranks if rank.state == "computed"]
    lines = [f"{len(ranks)} ranks"]
    lines += [
        f"rank {rank.rank}: {rank.where}" + (f" ({rank.host})" if rank.host else "")
        for rank in ranks[:_MOST_RANKS]
    ]
    lines += [f"rank {rank.rank} failed: {rank.reason}" for rank in job.ranks if rank.state == "failed"][
        :_MOST_RANKS
    ]
    missing = [str(rank.rank) for rank in job.ranks if rank.state == "missing"]
    if missing:
        lines.append(f"no file for ranks: {', '.join(missing[:50])}")
    if job.left_out:
        lines.append(
            f"left out: {len(job.left_out)} files, e.g. {job.left_out[0].where}: {job.left_out[0].reason}"
        )
    for finding in job.findings:
        lines += ["", f"{finding.severity}: {finding.title}", f"   {finding.text}"]
        if finding.remedy:
            lines.append(f"   remedy: {finding.remedy}")
    if not job.findings:
        lines.append("no finding about the ranks together")
    return joined(lines)


TOOLS = (
    Tool(
        name="job",
        description="The ranks of a training job together: stragglers, imbalance, late collectives.",
        run=_job,
        arguments={
            "folder": ToolArgument("string", "folder with a file per rank"),
            "step": ToolArgument("string"),
        },
        required=("folder",),
    ),
)
