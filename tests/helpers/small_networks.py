"""Learned models that are small enough for a test."""

import heatfield as hf

SMALL = {
    "full": {"widths": (8, 16), "head": 8},
    "dgcnn": {"k": 4, "widths": (8, 8), "embedding": 16, "head": (8,)},
}


def classifier(variant="full", **options):
    return hf.HFSNetworkClassifier(
        variant, **{"n_scales": 3, "network": SMALL[variant], "epochs": 3, **options}
    )
