"""What a rank tells about itself besides its steps: the host it ran on."""

from __future__ import annotations

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import Table
from warpline.analysis.framework.selection import View
from warpline.i18n import english

FACTS = "rank_facts"


def rank_facts(view: View, _options: Options) -> Table:
    """One row: the name of the host, None where it was not recorded."""
    host = view.capture.meta.get("host")
    name = host.get("name") if isinstance(host, dict) else None
    return Table(
        (Column("host", english("Host"), Role.TEXT),),
        {"host": [name if isinstance(name, str) and name else None]},
    )
