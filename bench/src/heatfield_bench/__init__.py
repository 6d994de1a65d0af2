"""The paper's experiments: baselines, data sets, methods, protocols, results that are kept, and the tables.

``heatfield bench`` is the command. `run` computes what is not done yet, `show` gives the tables, and
`METHODS` and `DATA_SETS` are the registries: an entry of one's own is a row or a column. `baselines` holds
the methods that the paper compares with as estimators, `datasets` the loaders of its six real data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatfield._base.lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from . import baselines as baselines
    from . import datasets as datasets
    from ._grid import Cell as Cell
    from ._grid import Grid as Grid
    from ._methods import METHODS as METHODS
    from ._methods import Method as Method
    from ._protocol import Protocol as Protocol
    from ._run import run as run
    from ._run import show as show
    from ._sets import DATA_SETS as DATA_SETS
    from ._sets import DataSet as DataSet
    from ._statistics import difference as difference
    from ._statistics import mean_of as mean_of
    from .tables import TABLES as TABLES

_HOME = {
    "run": "_run", "show": "_run", "Cell": "_grid", "Grid": "_grid", "METHODS": "_methods",
    "Method": "_methods", "Protocol": "_protocol", "DATA_SETS": "_sets", "DataSet": "_sets",
    "difference": "_statistics", "mean_of": "_statistics", "TABLES": "tables",
    "baselines": "", "datasets": "",
}  # fmt: skip

__all__ = ["__version__", *_HOME]
__getattr__, __dir__ = lazy_names(globals(), _HOME)
