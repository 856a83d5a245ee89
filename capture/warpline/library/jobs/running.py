"""Computes a job's ranks in this process, in local processes, or on the workers of a Dask scheduler."""

from __future__ import annotations

import logging
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from warpline.extras import install_command
from warpline.i18n import tr
from warpline.library.jobs.computing import RankTables, cached_tables, compute_rank
from warpline.library.jobs.finding import RankFile
from warpline.model import WarplineError
from warpline.model.progress import IsCancelled, check_cancelled, never

if TYPE_CHECKING:
    from distributed import Client, Future

Report = Callable[[str], None]
MOST_WORKERS = 4
_SET_BY_DASK = ("DASK_SCHEDULER_ADDRESS", "PYTHONHASHSEED", "__DASK_PARENT_PID")
_BEFORE_WORKERS = "distributed.nanny.pre-spawn-environ"
"""Dask's setting for environment variables that it sets before starting workers."""
_CONNECT_SECONDS = 20
_LOOK_SECONDS = 0.2
"""How often a wait for a rank checks for cancellation."""


def has_dask() -> bool:
    """Whether the extra ``dask`` is installed."""
    return find_spec("distributed") is not None


def run_ranks(
    ranks: Sequence[RankFile],
    names: Sequence[str],
    step: str | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    tell: Report = lambda _text: None,
    cancelled: IsCancelled = never,
) -> Iterator[tuple[RankFile, RankTables]]:
    """Yield each rank with its named reports when ready, cached ones first.

    ``scheduler`` is the address of a running scheduler, whose workers see the files under the same paths. Without one,
    ``workers`` local processes compute (default: one per rank or core, at most four), or this process if one is enough
    or Dask is missing. ``tell`` receives messages for the user.

    Raises WarplineError when no scheduler answers or Dask is missing for it, Cancelled.
    """
    remaining = []
    for rank in ranks:
        cached = cached_tables(rank.source, names, step)
        if cached is None:
            remaining.append(rank)
        else:
            yield rank, cached
    if not remaining:
        return
    count = min(workers or min(MOST_WORKERS, os.cpu_count() or 1), len(remaining))
    if scheduler is None and (count < 2 or not (has_dask() and find_spec("cryptography"))):
        if count > 1:
            tell(
                tr(
                    "computing one rank at a time; to compute several at once: {command}",
                    command=install_command("dask"),
                )
            )
        for rank in remaining:
            check_cancelled(cancelled)
            yield rank, compute_rank(rank.source, names, step, cancelled)
        return
    with ExitStack() as stack:
        client = _existing(scheduler, stack) if scheduler is not None else _embedded(count, stack)
        yield from _distributed(client, remaining, names, step, cancelled)


def _existing(address: str, stack: ExitStack) -> Client:
    if not has_dask():
        raise WarplineError(
            tr("--scheduler needs Dask; install it with: {command}", command=install_command("dask"))
        )
    from distributed import Client

    try:
        client: Client = stack.enter_context(Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
    except (OSError, ValueError) as error:
        raise WarplineError(
            tr("no scheduler answers at {address}: {error}", address=address, error=error)
        ) from error
    return client


def _embedded(count: int, stack: ExitStack) -> Client:
    from distributed import Client, LocalCluster
    from distributed.security import Security

    stack.enter_context(_environment_of_workers())
    try:
        # One thread each, so that a worker holds the memory of one rank.
        started = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # A scheduler runs any code it receives. Certificates, made for this job and kept in memory, keep other
            # users of the machine out.
            security=Security.temporary(),
            # The dashboard stays local, and its usual port may belong to another cluster.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            memory_limit=0,
            silence_logs=logging.ERROR,
        )
    except RuntimeError as error:
        # Each process imports the main script, and would open the job again.
        raise WarplineError(
            tr(
                "the processes that compute the ranks could not start: {error}; in a script, open the job below "
                'if __name__ == "__main__", or with workers=1',
                error=str(error).rstrip("."),
            )
        ) from error
    cluster = stack.enter_context(started)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """Keep workers from importing from the current folder, and restore the variables that Dask sets for them."""
    import dask

    names = {"PYTHONSAFEPATH", *_SET_BY_DASK, *(dask.config.get(_BEFORE_WORKERS, None) or ())}
    # Only these variables: other threads may set others meanwhile.
    before = {name: os.environ.get(name) for name in names}
    # For the workers and the helper processes that Python starts.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _distributed(
    client: Client,
    ranks: Sequence[RankFile],
    names: Sequence[str],
    step: str | None,
    cancelled: IsCancelled,
) -> Iterator[tuple[RankFile, RankTables]]:
    done: queue.SimpleQueue[Future[RankTables]] = queue.SimpleQueue()
    future_of: dict[Future[RankTables], RankFile] = {}
    for rank in ranks:
        # Not pure: the result depends on the file, which the scheduler does not see.
        future = client.submit(compute_rank, rank.source, list(names), step, pure=False)
        future_of[future] = rank
        future.add_done_callback(done.put)
    try:
        while future_of:
            check_cancelled(cancelled)
            try:
                future = done.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            rank = future_of.pop(future)
            try:
                tables = future.result()
            except Exception as error:
                # Dask has already retried the rank on other workers; the other ranks go on.
                tables = RankTables({}, f"{type(error).__name__}: {error}")
            future.release()
            yield rank, tables
    finally:
        if future_of:
            client.cancel(list(future_of))
