"""Pictures of heat field signatures (needs matplotlib: ``pip install heatfield[show]``).

Every function returns the axes that it drew on: one, or an array of them. ``axes.figure`` (of an array,
``axes.flat[0].figure``) is the figure to save.
"""

from ._classes import accuracy_by_scales, class_curves, confusion_matrix, spectra_by_class
from ._clouds import dimension_over_scales, heat_landscape, local_signatures, pipeline
from ._curves import dimension_spectrum, global_curves, pattern_envelope

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
