"""Beyond one machine and beyond its memory: many clouds over Dask, one cloud made of many tiles.

`survey` needs no Dask: without a client its passes run here, tile by tile, out of core.
"""

from ._describe import describe
from ._executor import Executor, InProcess
from ._summary import Survey
from ._survey import survey

__all__ = ["Executor", "InProcess", "Survey", "describe", "survey"]
