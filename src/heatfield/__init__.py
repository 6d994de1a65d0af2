"""Heat Field Signatures: multiscale geometry of point clouds, in closed form.

``import heatfield as hf`` loads nothing heavy; each name is fetched when first used.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ._base.optional import lazy_names

__version__ = "0.2.0"

# Public names by the module that has them.
_NAMES = {
    "scales": "scale_schedule isolated_points adaptive_scales",
    "heat_signatures": "signatures Signatures HeatDimensionSpectrum",
    "core.planner": "Plan",
    "field": "HeatField",
    "heat_body": "HeatBody",
    "features.describe": "describe",
    "workflows.describe": "describe_files FeatureTable",
    "workflows.report": "report_files ReportResult",
    "report._collection": "Separation",
    "workflows.search": "build_index add_to_index remove_from_index query_index IndexResult QueryResult",
    "workflows.pattern": "pattern_test",
    "workflows.one_file": "info FileInfo view_file",
    "_survey": "survey Survey",
    "features.descriptor": "HFSDescriptor",
    "features.layout": "Layout",
    "features.points": "PointTable",
    "models.classifier": "HFSClassifier",
    "models.network": "HFSNetworkClassifier HFSNetworkRegressor",
    "models.regressor": "HFSRegressor",
    "workflows.train": "train_files CrossValidation",
    "workflows.predict": "predict_files Predictions",
    "workflows.files": "FileError",
    "models.index": "HFSIndex",
    "models.retrieval": "Hits",
    "workflows.points": "train_points predict_points LabelledFiles",
    "models.points": "HFSPointClassifier",
    "_base.check": "HeatFieldWarning",
    "io": "Cloud ReadError read_cloud read_points write_points",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("datasets", "io", "nn", "patterns", "plot", "sampling", "view")

# Without torch `nn` is not listed, so that `help`, `inspect.getmembers` and `import *` work; asking for it by
# name still says what to install.
__all__ = ["__version__", *_HOME, *(name for name in _MODULES if name != "nn" or find_spec("torch"))]

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import io as io
    from . import nn as nn
    from . import patterns as patterns
    from . import plot as plot
    from . import sampling as sampling
    from . import view as view
    from ._base.check import HeatFieldWarning as HeatFieldWarning
    from ._survey import Survey as Survey
    from ._survey import survey as survey
    from .core.planner import Plan as Plan
    from .features.describe import describe as describe
    from .features.descriptor import HFSDescriptor as HFSDescriptor
    from .features.layout import Layout as Layout
    from .features.points import PointTable as PointTable
    from .field import HeatField as HeatField
    from .heat_body import HeatBody as HeatBody
    from .heat_signatures import HeatDimensionSpectrum as HeatDimensionSpectrum
    from .heat_signatures import Signatures as Signatures
    from .heat_signatures import signatures as signatures
    from .io import Cloud as Cloud
    from .io import ReadError as ReadError
    from .io import read_cloud as read_cloud
    from .io import read_points as read_points
    from .io import write_points as write_points
    from .models.classifier import HFSClassifier as HFSClassifier
    from .models.index import HFSIndex as HFSIndex
    from .models.network import HFSNetworkClassifier as HFSNetworkClassifier
    from .models.network import HFSNetworkRegressor as HFSNetworkRegressor
    from .models.points import HFSPointClassifier as HFSPointClassifier
    from .models.regressor import HFSRegressor as HFSRegressor
    from .models.retrieval import Hits as Hits
    from .report._collection import Separation as Separation
    from .scales import adaptive_scales as adaptive_scales
    from .scales import isolated_points as isolated_points
    from .scales import scale_schedule as scale_schedule
    from .workflows.describe import FeatureTable as FeatureTable
    from .workflows.describe import describe_files as describe_files
    from .workflows.files import FileError as FileError
    from .workflows.one_file import FileInfo as FileInfo
    from .workflows.one_file import info as info
    from .workflows.one_file import view_file as view_file
    from .workflows.pattern import pattern_test as pattern_test
    from .workflows.points import LabelledFiles as LabelledFiles
    from .workflows.points import predict_points as predict_points
    from .workflows.points import train_points as train_points
    from .workflows.predict import Predictions as Predictions
    from .workflows.predict import predict_files as predict_files
    from .workflows.report import ReportResult as ReportResult
    from .workflows.report import report_files as report_files
    from .workflows.search import IndexResult as IndexResult
    from .workflows.search import QueryResult as QueryResult
    from .workflows.search import add_to_index as add_to_index
    from .workflows.search import build_index as build_index
    from .workflows.search import query_index as query_index
    from .workflows.search import remove_from_index as remove_from_index
    from .workflows.train import CrossValidation as CrossValidation
    from .workflows.train import train_files as train_files

__getattr__, __dir__ = lazy_names(globals(), _HOME | dict.fromkeys(_MODULES, ""))
