"""Many clouds over a cluster: ``heatfield describe`` with its shards as tasks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any


def describe(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], client: Any, *options: str
) -> int:
    """The table of features of many files, as ``heatfield describe`` writes it, computed by a cluster.

    Guide: ``heatfield docs guide/cluster``.

    Parameters
    ----------
    paths : sequence of path-like
        Files, folders or patterns, which all workers must see under the same names.
    out : path-like
        The table: .parquet, .csv or .npz.
    client : distributed.Client, Executor or str
        An address ``tcp://host:port``, or ``local[:N]`` for N processes of this machine.
    *options : str
        Further words of the command line, such as ``"--variant", "joint"``.

    Returns
    -------
    code : int
        0 where all files were described, 1 where some could not be: see the file of errors.

    Examples
    --------
    >>> import numpy as np, tempfile, heatfield as hf
    >>> from heatfield.cluster import InProcess, describe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hf.write_points(f"{folder}/a.npy", np.random.default_rng(0).random((50, 3)))
    ...     describe([f"{folder}/a.npy"], f"{folder}/f.csv", InProcess(1), "--quiet")
    0
    """
    from ..cli import _describe as command

    parser = argparse.ArgumentParser(prog="heatfield.cluster.describe")
    command.add_arguments(parser)
    words = [*(os.fspath(path) for path in paths), "-o", os.fspath(out), *options]
    chosen = parser.parse_args(words)
    chosen.cluster = client
    return command.run(chosen)
