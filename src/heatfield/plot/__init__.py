"""Pictures of heat field signatures (needs matplotlib: ``pip install heatfield[show]``)."""

from ._clouds import dimension_over_scales
from ._spectra import spectra_by_class

__all__ = ["dimension_over_scales", "spectra_by_class"]
