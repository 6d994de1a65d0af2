"""How far ``head="auto"`` goes, in numbers and in words: the bound is on work, so that the choice is the same
on every machine."""

from __future__ import annotations

# Clouds from which on the network is tried: below, it is no better than the fast heads and takes longest.
LEAST_FOR_NETWORK = 1000
# Passes of a cloud through the network while it is tried, and the fewest epochs that tell anything.
NETWORK_PASSES = 1_000_000
LEAST_EPOCHS = 50
# Beyond, the time of support vectors, which grows with the square, is hours.
MOST_FOR_VECTORS = 20_000

AUTO_WORDS = (
    f"linear discriminants and support vectors (up to {MOST_FOR_VECTORS:,} clouds) take seconds for a few "
    f"hundred clouds; the network is tried from {LEAST_FOR_NETWORK:,} clouds on, on one fold and for at most "
    f"{NETWORK_PASSES:,} passes of a cloud, about two minutes"
)
