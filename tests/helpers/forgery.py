"""Saved models that someone changed."""

import hashlib
import json

from safetensors.numpy import load_file, save_file

from heatfield._classifier.saving import folder as model_folder


def forged(folder, change):
    """A model that someone changed, with checksums that fit."""
    facts = json.loads((folder / "model.json").read_text())
    tensors = {k: v.copy() for k, v in load_file(folder / "model.safetensors").items()}
    change(facts, tensors)
    save_file(tensors, folder / "model.safetensors")
    facts["tensors"] = {name: [str(a.dtype), list(a.shape)] for name, a in sorted(tensors.items())}
    facts["tensors_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    facts["checksum"] = model_folder._checksum(facts)
    (folder / "model.json").write_text(json.dumps(facts))


def put(name, place, value):
    def change(_facts, tensors):
        tensors[name][place] = value

    return change


def said(*path, value):
    def change(facts, _tensors):
        inner = facts
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change
