"""Freeze hashes of generated data, and names and values of the descriptors for the present schema.

    python -m tools.write_golden
    python -m tools.write_golden pictures [FOLDER]    # tests/golden/pictures.npz instead

Hashes are added for new cases of tests/helpers/generated_data.py; one that is kept never changes, since kept
results belong to the same data (tests/datasets/test_data_hashes.py compares). A file of descriptors belongs
to the schema number in `heatfield.features.layout`; variants that it does not have are added
(tests/features/test_descriptor.py compares).

Look at the pictures first: they are written as PNG into FOLDER where it is given.
"""

import json
import sys
from pathlib import Path

import numpy as np

import heatfield as hf
from benchmarks.lib.results import ROOT
from heatfield.features.layout import SCHEMA, VARIANT_BLOCKS
from tests.helpers import generated_data, pictures


def main() -> None:
    if sys.argv[1:2] == ["pictures"]:
        write_pictures(*map(Path, sys.argv[2:3]))
    else:
        write_data_hashes()
        write_descriptors()


def write_data_hashes() -> None:
    """Add hashes of new cases and remove those of cases that are gone."""
    kept = generated_data.kept() if generated_data.GOLDEN.exists() else {"cases": {}}
    machine = generated_data.machine()
    if kept.get("machine", machine) != machine:
        raise SystemExit("this machine rounds otherwise than the one that wrote data_hashes.json")
    cases = {generated_data.name_of(case): generated_data.facts_of(case) for case in generated_data.CASES}
    changed = [
        name for name in cases.keys() & kept["cases"] if cases[name]["hash"] != kept["cases"][name]["hash"]
    ]
    if changed:
        raise SystemExit("\n".join(["other data than before; mend the generator:", *changed]))
    lines = [f" {json.dumps(name)}: {json.dumps(facts)}" for name, facts in cases.items()]
    text = f'{{"machine": {json.dumps(machine)}, "cases": {{\n' + ",\n".join(lines) + "\n}}\n"
    generated_data.GOLDEN.write_text(text)
    new = len(cases.keys() - kept["cases"])
    print(f"wrote {generated_data.GOLDEN.name}: {len(cases)} cases, {new} of them new")


def write_descriptors() -> None:
    """Freeze the variants of a new schema, or those that its file does not have."""
    path = ROOT / "tests" / "golden" / f"descriptor_schema{SCHEMA}.json"
    points = np.random.default_rng(20261115).normal(size=(40, 3)).round(6)
    kept = json.loads(path.read_text()) if path.exists() else {"points": points.tolist(), "variants": {}}
    new = [variant for variant in VARIANT_BLOCKS if variant not in kept["variants"]]
    for variant in new:
        descriptor = hf.HFSDescriptor(variant)
        values = descriptor.fit_transform([points])[0].tolist()
        kept["variants"][variant] = {"names": descriptor.get_feature_names_out().tolist(), "values": values}
    path.write_text(json.dumps(kept) + "\n")
    print(f"{path.name}: {len(new)} new variants; raise SCHEMA to freeze new values of the others")


def write_pictures(folder: Path | None = None) -> None:
    """Keep the pictures as they are drawn now."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = {}
    for name, draw in pictures.PICTURES.items():
        axes = draw(False)
        found[name] = pictures.blocks(pictures.render(axes))
        gap = pictures.gaps(found[name], pictures.blocks(pictures.render(draw(True))))
        print(name, "changed by mean, largest:", *np.round(gap, 1))
        if folder is not None:
            figure = np.atleast_1d(np.asarray(axes, dtype=object)).flat[0].figure
            figure.savefig(folder / f"{name}.png", dpi=80)
        plt.close("all")
    np.savez_compressed(pictures.GOLDEN, **found)


if __name__ == "__main__":
    main()
