"""Freeze names and values of the descriptors for the schema number in `heatfield._features.layout`.

    python -m tools.write_golden

Run it only when the number was raised: tests/_features/test_descriptor.py compares with the file.
"""

import json

import numpy as np

import heatfield as hf
from benchmarks.lib.results import ROOT
from heatfield._features.layout import SCHEMA, VARIANT_BLOCKS


def main() -> None:
    path = ROOT / "tests" / "golden" / f"descriptor_schema{SCHEMA}.json"
    if path.exists():
        raise SystemExit(f"{path.name} exists: raise SCHEMA before freezing new values")
    points = np.random.default_rng(20261115).normal(size=(40, 3)).round(6)
    variants = {}
    for variant in VARIANT_BLOCKS:
        descriptor = hf.HFSDescriptor(variant)
        values = descriptor.fit_transform([points])[0]
        variants[variant] = {"names": descriptor.get_feature_names_out().tolist(), "values": values.tolist()}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"points": points.tolist(), "variants": variants}) + "\n")
    print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
