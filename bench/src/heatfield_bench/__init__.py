"""The paper's experiments: baselines, data sets, methods, protocols, results that are kept, and the tables.

``heatfield bench`` is the command. `run` computes what is not done yet, `show` gives the tables, and
`METHODS` and `DATA_SETS` are the registries: an entry of one's own is a row or a column. `baselines` holds
the methods that the paper compares with as estimators, `datasets` the loaders of its six real data sets.
"""

from __future__ import annotations

from heatfield._base.optional import lazy_names

__version__ = "0.2.0"

_HOME = {
    "run": "_run", "show": "_run", "Grid": "_grid", "METHODS": "_methods", "Method": "_methods",
    "Protocol": "_sets", "DATA_SETS": "_sets", "DataSet": "_sets", "TABLES": "tables",
    "baselines": "", "datasets": "",
}  # fmt: skip

__all__ = ["__version__", *_HOME]
__getattr__, __dir__ = lazy_names(globals(), _HOME)
