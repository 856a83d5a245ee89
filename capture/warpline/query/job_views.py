"""The ranks of a job as one table: each table of all captures together, with a column ``rank``."""

from __future__ import annotations

from collections.abc import Sequence

from warpline.query.catalog import Catalog
from warpline.query.definitions import quoted

SCHEMA = "job"


def ranks_of(catalogs: Sequence[Catalog]) -> list[int]:
    """The rank of each capture: that of its processes; places from 0 where captures name none, several or the same."""
    named = [
        {process.rank for process in catalog.capture.processes if process.rank is not None}
        for catalog in catalogs
    ]
    ranks = [next(iter(found)) for found in named if len(found) == 1]
    return ranks if len(set(ranks)) == len(catalogs) else list(range(len(catalogs)))


def sql(name: str, having: Sequence[Catalog], captures: Sequence[Catalog]) -> str:
    """The statement that makes a table of all ``captures``; those in ``having`` have it. Columns match by name."""
    ranks = dict(zip((catalog.schema for catalog in captures), ranks_of(captures), strict=True))
    parts = [
        f"SELECT {ranks[catalog.schema]} AS rank, *{_without_rank(catalog, name)} "
        f"FROM {quoted(catalog.schema)}.{quoted(name)}"
        for catalog in having
    ]
    return f"CREATE OR REPLACE VIEW {SCHEMA}.{quoted(name)} AS {' UNION ALL BY NAME '.join(parts)}"


def _without_rank(catalog: Catalog, name: str) -> str:
    """Tracks and processes have a column of that name."""
    columns = catalog.view(name).columns if catalog.has_view(name) else ()
    return " EXCLUDE (rank)" if any(column.name == "rank" for column in columns) else ""
