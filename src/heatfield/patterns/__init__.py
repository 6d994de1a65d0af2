"""Point patterns: clustered, regular or random, and at which distances.

The heat response C2(t) of a pattern is compared with that of simulated patterns in the same window by a
global rank envelope test.
"""

from ._envelope import Curve, PatternTest, RankEnvelope, envelope_test, rank_envelope, response_curve
from ._windows import Box, Polygon

__all__ = [
    "Box",
    "Curve",
    "PatternTest",
    "Polygon",
    "RankEnvelope",
    "envelope_test",
    "rank_envelope",
    "response_curve",
]
