"""Who does the work: this process, or a cluster by its address or its client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._executor import Executor, InProcess


@contextmanager
def executor_of(client: Any, n_jobs: int | None = 1, at_once: int = 1) -> Iterator[Executor]:
    """An executor for the block: of this process for None, else of a cluster.

    ``client`` is None, an `Executor`, a ``distributed.Client``, an address, or ``local[:N]``.
    """
    if client is None:
        yield InProcess(n_jobs, at_once)
    elif hasattr(client, "map") and hasattr(client, "memory"):
        yield client
    else:
        from ._dask_client import dask_executor

        with dask_executor(client) as executor:
            yield executor
