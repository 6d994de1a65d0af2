"""Clients of Dask: given, of an address, or of processes of this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._base.check import thread_count
from .._base.children import safe_children
from .._base.optional import need
from ._dask import CONNECT, DaskExecutor


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """No tracebacks of Dask between the lines of a command: what matters is raised as an error."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    loggers = [logging.getLogger(name) for name in {*names, "distributed", "asyncio", "tornado.application"}]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def dask_executor(client: Any) -> Iterator[DaskExecutor]:
    """The executor of a client, of the scheduler at an address, or of ``local[:N]`` processes."""
    distributed = need("distributed", "A cluster", "cluster", verb="needs")
    if isinstance(client, distributed.Client):
        yield DaskExecutor(client)
        return
    kind, _, count = str(client).partition(":")
    if kind == "local":
        if count and not (count.isdigit() and int(count) > 0):
            raise ValueError(f"cluster must be 'local:N' with a number of processes N, got {client!r}")
        workers = int(count) if count else thread_count(-1)
        # Any free port: the usual one may be another cluster's, and only this machine is to see it.
        with (
            safe_children(),  # until the end: a worker that died is started again
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as own,
        ):
            yield DaskExecutor(own)
        return
    if "://" not in str(client):
        raise ValueError(
            f"cluster must be 'local', 'local:N' or an address such as 'tcp://host:8786', got {client!r}"
        )
    with _quiet_logs():
        try:
            own = distributed.Client(str(client), timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError):
            raise OSError(
                f"no scheduler answers at {client!r}; start one with 'dask scheduler', or use 'local'"
            ) from None
        try:
            yield DaskExecutor(own)
        finally:
            own.close(timeout=2)
