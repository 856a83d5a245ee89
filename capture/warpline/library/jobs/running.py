"""A job's ranks computed: one after the other, by processes of this machine, or by the workers of a scheduler."""

from __future__ import annotations

import logging
import os
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.library.jobs.computing import RankTables, compute_rank, kept_tables
from warpline.library.jobs.finding import RankFile
from warpline.model import WarplineError
from warpline.model.progress import IsCancelled, check_cancelled, never

if TYPE_CHECKING:
    from distributed import Client, Future

Told = Callable[[str], None]
MOST_WORKERS = 4
_SET_BY_DASK = ("DASK_SCHEDULER_ADDRESS", "PYTHONHASHSEED", "__DASK_PARENT_PID")
_BEFORE_WORKERS = "distributed.nanny.pre-spawn-environ"
"""The setting of Dask that says what else it sets in the process that starts workers."""
_CONNECT_SECONDS = 20
_LOOK_SECONDS = 0.2
"""How often whoever waits for a rank asks whether it is still wanted."""


def has_dask() -> bool:
    """Whether what the extra ``dask`` brings is installed."""
    return find_spec("distributed") is not None


def run_ranks(
    ranks: Sequence[RankFile],
    names: Sequence[str],
    step: str | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    tell: Told = lambda _text: None,
    cancelled: IsCancelled = never,
) -> Iterator[tuple[RankFile, RankTables]]:
    """Each rank with the reports of those names, as they become ready; what is kept here comes first.

    ``scheduler`` is the address of one that runs already, whose workers see the files under the same paths. Without
    one, processes of this machine compute (``workers`` of them, by default as many as there are ranks or cores, at
    most four), or this process where one is enough or Dask is not installed. ``tell`` takes what is worth a line.

    Raises WarplineError when there is no scheduler at that address, or Dask is needed for it and not installed,
    Cancelled.
    """
    left = []
    for one in ranks:
        kept = kept_tables(one.source, names, step)
        if kept is None:
            left.append(one)
        else:
            yield one, kept
    if not left:
        return
    count = min(workers or min(MOST_WORKERS, os.cpu_count() or 1), len(left))
    if scheduler is None and (count < 2 or not (has_dask() and find_spec("cryptography"))):
        if count > 1:
            tell(tr("one rank after the other: pip install 'warpline[dask]' computes several at once"))
        for one in left:
            check_cancelled(cancelled)
            yield one, compute_rank(one.source, names, step, cancelled)
        return
    with ExitStack() as stack:
        client = _existing(scheduler, stack) if scheduler is not None else _embedded(count, stack)
        yield from _distributed(client, left, names, step, cancelled)


def _existing(address: str, stack: ExitStack) -> Client:
    if not has_dask():
        raise WarplineError(
            tr(
                "--scheduler needs Dask, which is not installed; install it with: pip install 'warpline[dask]'"
            )
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
        # One thread each: the memory of a worker is that of one rank.
        started = LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # A scheduler runs what it is handed: whoever else is on this machine is kept out by certificates that
            # are made for this job and never lie in a file.
            security=Security.temporary(),
            # What the scheduler serves for itself is nobody else's, and its usual port may be another cluster's.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            memory_limit=0,
            silence_logs=logging.ERROR,
        )
    except RuntimeError as error:
        # Each process imports the script that was started, and would open the job itself.
        raise WarplineError(
            tr(
                "no processes could be started to compute the ranks: {error}; a script has to open a job below "
                'if __name__ == "__main__", or with workers=1',
                error=str(error).rstrip("."),
            )
        ) from error
    cluster = stack.enter_context(started)
    client: Client = stack.enter_context(Client(cluster, set_as_default=False))
    return client


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """Workers import nothing from the current folder; what Dask sets for them is not left to other programs."""
    import dask

    names = {"PYTHONSAFEPATH", *_SET_BY_DASK, *(dask.config.get(_BEFORE_WORKERS, None) or ())}
    # Only these: other threads of this process may set others meanwhile.
    before = {name: os.environ.get(name) for name in names}
    # For the workers, and for what Python itself starts beside them.
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
    for one in ranks:
        # What is computed depends on the file behind the path, which a scheduler does not see.
        future = client.submit(compute_rank, one.source, list(names), step, pure=False)
        future_of[future] = one
        future.add_done_callback(done.put)
    try:
        while future_of:
            check_cancelled(cancelled)
            try:
                future = done.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            one = future_of.pop(future)
            try:
                tables = future.result()
            except Exception as error:
                # Dask gives a rank whose worker died to others, some times; the other ranks go on all the same.
                tables = RankTables({}, f"{type(error).__name__}: {error}")
            future.release()
            yield one, tables
    finally:
        if future_of:
            client.cancel(list(future_of))
