"""What all pictures share: colours, and a clear word when matplotlib is missing."""

from __future__ import annotations

from typing import Any

# Dimension 0, 1, 2, 3: point, filament, surface, volume. The colours are told apart in
# print and by most colour-blind readers.
DIMENSION_COLORS = ("#4d4d4d", "#d95f02", "#1b9e77", "#3b528b")
CLASS_COLORS = ("#3b528b", "#d95f02", "#1b9e77", "#c51b7d", "#b8860b", "#4d4d4d", "#66a61e", "#7570b3")
DIMENSION_NAMES = ("point", "filament", "surface", "volume")


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'heatfield[show]'") from error
    return plt


def dimension_name(center: float) -> str:
    """ "1 (filament)" and so on."""
    if float(center).is_integer() and 0 <= center < len(DIMENSION_NAMES):
        return f"{center:g} ({DIMENSION_NAMES[int(center)]})"
    return f"{center:g}"
