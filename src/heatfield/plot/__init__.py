"""Pictures of heat field signatures (needs matplotlib: ``pip install heatfield[show]``).

Every function returns the axes that it drew on: one, or an array of them. ``axes.figure`` (of an array,
``axes.flat[0].figure``) is the figure to save.
"""

from ._accuracy import accuracy_by_scales
from ._classes import class_curves
from ._clouds import dimension_over_scales
from ._composition import dimension_spectrum
from ._confusion import confusion_matrix
from ._global import global_curves
from ._landscape import heat_landscape
from ._local import local_signatures
from ._pattern import pattern_envelope
from ._pipeline import pipeline
from ._spectra import spectra_by_class

__all__ = [
    "accuracy_by_scales",
    "class_curves",
    "confusion_matrix",
    "dimension_over_scales",
    "dimension_spectrum",
    "global_curves",
    "heat_landscape",
    "local_signatures",
    "pattern_envelope",
    "pipeline",
    "spectra_by_class",
]
