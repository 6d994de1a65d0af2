"""Pictures of heat field signatures (needs matplotlib: ``pip install heatfield[show]``)."""

from ._clouds import dimension_over_scales
from ._confusion import confusion_matrix
from ._spectra import spectra_by_class

__all__ = ["confusion_matrix", "dimension_over_scales", "spectra_by_class"]
