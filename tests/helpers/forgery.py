"""Saved models that someone changed."""

import json

from safetensors.numpy import load_file

from heatfield.models import saving


def forged(folder, change):
    """Change metadata and tensors of a model and make its checksums fit, as somebody with intent would."""
    metadata = json.loads((folder / "model.json").read_text())
    tensors = {k: v.copy() for k, v in load_file(folder / "model.safetensors").items()}
    change(metadata, tensors)
    saving.write_model(folder, "unknown", metadata, tensors)
    return folder


def put(name, place, value):
    def change(_metadata, tensors):
        tensors[name][place] = value

    return change


def said(*path, value):
    def change(metadata, _tensors):
        inner = metadata
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change
