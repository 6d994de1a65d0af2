"""A long fuzz of what the library saves for itself: models, checkpoints, feature caches.

    python -m tools.fuzz_models --seconds 600
    python -m tools.fuzz_models --inputs 60000

How inputs are numbered, limited and counted: `tools.fuzzing`.
Most models are changed in their JSON or their arrays and get checksums that fit, since whoever can write a
model can write its checksums. Loading a changed model ends in a `ReadError`, or in a model that predicts
finite probabilities that add up to 1 or raises a ValueError. Anything else, and for a cache
anything but a ValueError or nothing found, is a failure. The counts go to tools/results/fuzz_models.json;
``--show k folder`` writes an input. The test suite reads the first few hundred inputs by `outcome`.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzzing import (
    RESULTS,
    Fuzzer,
    Input,
    damaged,
    parser,
    read_inputs,
    require_an_end,
    work_folder,
)

TOGETHER = 250
FUZZER = Fuzzer("tools.fuzz_models", RESULTS / "fuzz_models.json", TOGETHER, 40, 16 * 2**30)

Files = dict[str, bytes]
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 17, 2**31, 2**53 + 1, 2**63, 2**64, 10**40, -(10**18), 0.5, -0.0,
    1e-320, 1e308, float("nan"), float("inf"), "", "x", "é" * 9, "lda", "../../a", "<U99999999", "|V8", "O",
    "f8", [], {}, [[]], [0, 1], ["a", "b"], {"pairs": []}, {"pairs": [[1, 2]]}, {"a": {"b": 1}},
]  # fmt: skip
VALUES = [0.0, -1.0, 1.0, 1e-320, 1e-30, 1e30, 1e300, -1e308, np.nan, np.inf, -np.inf, 2.0**31, 127.0, -7.0]
LARGEST = 200_000  # characters of a JSON that is changed further
TYPES = ["f4", "f8", "f2", "i1", "i4", "i8", "u1", "u8", "?"]
HUGE = (2**31, 10**12, 2**50)  # lengths of arrays without a number


def some_clouds(count: int = 12) -> tuple[list[np.ndarray], list[str]]:
    """Rings and balls in the plane."""
    rng = np.random.default_rng(0)
    clouds = []
    for i in range(count):
        points = rng.normal(size=(24 + i, 2))
        clouds.append(points / np.linalg.norm(points, axis=1, keepdims=True) if i % 2 else points)
    return clouds, ["ring" if i % 2 else "ball" for i in range(count)]


def models() -> dict[str, Callable[[], Any]]:
    """Small models of every kind that is saved."""
    import heatfield as hf

    closed = {"n_scales": 2, "random_state": 0}
    learned = {"n_scales": 2, "epochs": 1, "random_state": 0, "device": "cpu", "progress": False}
    return {
        "lda": lambda: hf.HFSClassifier("simple", head="lda", **closed),
        "svm": lambda: hf.HFSClassifier("simple", head="svm", **closed),
        "mlp": lambda: hf.HFSClassifier("desc", head="mlp", epochs=3, **closed),
        "full": lambda: hf.HFSNetworkClassifier("full", network={"widths": [8, 8], "head": 8}, **learned),
        "dgcnn": lambda: hf.HFSNetworkClassifier(
            "dgcnn", network={"k": 4, "widths": [4, 8], "embedding": 16, "head": [8]}, **learned
        ),
    }


def point_model() -> Any:
    """A small classifier of points, not fitted."""
    import heatfield as hf

    return hf.HFSPointClassifier(lengths=[0.3, 0.6], iterations=3, points_per_class=40, cell=1.0)


def fitted_beside() -> dict[str, Any]:
    """Fitted models that learn from something else than a label for each cloud."""
    import heatfield as hf

    clouds, labels = some_clouds()
    sides = [(points[:, 0] > 0.0).astype(int) for points in clouds]
    few = hf.HFSDescriptor("simple", n_scales=2)
    closed, sizes = {"variant": "simple", "n_scales": 2}, [float(len(points)) for points in clouds]
    learned = hf.HFSNetworkRegressor(
        n_scales=2, epochs=1, device="cpu", progress=False, network={"widths": [8], "head": 8}
    )
    return {
        "ridge": hf.HFSRegressor(head="ridge", **closed).fit(clouds, sizes),
        "vectors": hf.HFSRegressor(head="svm", **closed).fit(clouds, sizes),
        "numbers": learned.fit(clouds, sizes),
        "points": point_model().fit(clouds, sides),
        "index": hf.HFSIndex(few, metric="learned").build(clouds, labels=labels),
    }


def sound_files(folder: Path) -> dict[str, Files]:
    """The files of every sample, made once and kept in a folder."""
    if not (folder / "done").exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _make_samples(folder)
        (folder / "done").touch()
    return {
        place.name: {file.name: file.read_bytes() for file in sorted(place.iterdir())}
        for place in sorted(folder.iterdir())
        if place.is_dir()
    }


def _make_samples(folder: Path) -> None:
    import heatfield as hf

    clouds, labels = some_clouds()
    for name, make in models().items():
        make().fit(clouds, labels).save(folder / name)
    for name, model in fitted_beside().items():
        model.save(folder / name)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
            (place / label).mkdir(exist_ok=True)
            hf.write_points(place / label / f"{i}.npy", points)
        options = {"variant": "simple", "head": "lda", "n_scales": 2, "folds": 2, "n_jobs": 1}
        hf.train_files(temporary, folder / "trained", **options)
        for leftover in folder.glob("trained.*"):
            leftover.unlink()
    (folder / "checkpoint").mkdir()
    models()["full"]().set_params(checkpoint=folder / "checkpoint" / "c").fit(clouds, labels)
    for name, data in caches().items():
        (folder / name).mkdir()
        (folder / name / "file").write_bytes(data)


def caches() -> Files:
    """What commands keep."""
    from heatfield.features.points import PointSettings, point_table

    clouds, labels = some_clouds()
    with tempfile.TemporaryDirectory() as folder:
        point_table(clouds, point_settings(PointSettings), cache=folder)
        table = next(Path(folder).iterdir()).read_bytes()
    kept = io.BytesIO()
    np.savez(kept, values=np.random.default_rng(0).normal(size=60), predicted=np.array(labels[:6]))
    return {
        "point table": table,
        "kept": kept.getvalue(),
    }


def point_settings(kind: Any) -> Any:
    """Those of the sample of a point table."""
    return kind(2, n_scales=2, transition="difference", blocks=("density", "dimension"))


# --- changes -------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    found, todo = [], [(path, value)]
    while todo:
        path, value = todo.pop()
        found += [path] if path else []
        inner = (
            list(value.items())
            if isinstance(value, dict)
            else list(enumerate(value))
            if isinstance(value, list)
            else []
        )
        todo += [((*path, key), part) for key, part in reversed(inner)]
    return found


def changed_json(value: Any, rng: random.Random) -> Any:
    """One to four parts replaced, removed, renamed, repeated, nested or exchanged."""
    value = json.loads(json.dumps(value))
    nested = False
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if nested or len(json.dumps(value)) > LARGEST:
            break  # as deep, or as large, as this script itself can go
        paths = places(value)
        if not paths:
            break
        path = rng.choice(paths)
        parent = value
        for key in path[:-1]:
            parent = parent[key]
        key = path[-1]
        what = rng.randrange(8)
        if what <= 2:
            parent[key] = copy.deepcopy(rng.choice(ODD))  # or the next change would change ODD itself
        elif what == 3:
            del parent[key]
        elif what == 4 and isinstance(parent, dict):
            parent[rng.choice(["x", str(key) + "_", "dtype", "n_dims"])] = parent.pop(key)
        elif what == 5 and isinstance(parent[key], list):
            parent[key] = parent[key] * rng.choice((0, 2, 50))
        elif what == 5 and isinstance(parent[key], (int, float)):
            parent[key] = parent[key] * rng.choice((-1, 2, 1000, 1e30, 0.5))
        elif what == 6:
            nested = True
            for _ in range(rng.choice((1, 5, 40, 800))):
                parent[key] = [parent[key]] if rng.random() < 0.7 else {"pairs": parent[key]}
        else:
            other = rng.choice(paths)
            part = value
            for step in other:
                part = part[step] if isinstance(part, list) or step in part else None
                if part is None:
                    break
            parent[key] = json.loads(json.dumps(part))
    return value


def changed_arrays(arrays: dict[str, np.ndarray], rng: random.Random) -> dict[str, np.ndarray]:
    """One to three arrays with other values, types or shapes, missing, added, renamed or exchanged."""
    out = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not out:
            break
        name = rng.choice(sorted(out))
        array = out[name]
        what = rng.randrange(11)
        if what <= 2 and array.size:
            flat = array.reshape(-1)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                value = np.array(rng.choice(VALUES)).astype(array.dtype)
            if what:
                flat[rng.randrange(array.size)] = value
            else:
                flat[:] = value
        elif what == 3:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if array.dtype.kind != "U":
                    out[name] = array.astype(rng.choice(TYPES))
        elif what == 4:
            out[name] = rng.choice([array[:-1] if array.ndim else array, array[None], array.T, array.ravel()])
        elif what == 5:
            lengths = [min(length, 1000) for length in array.shape]  # HUGE ones have no numbers
            shape = [rng.choice((0, 1, 2, length, length + 1, 40)) for length in lengths]
            out[name] = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
        elif what == 6:
            del out[name]
        elif what == 7:
            out[rng.choice([name + "x", "x", name.replace("0", "1")])] = out.pop(name)
        elif what == 8:
            out[rng.choice([name + ".0", "more", "head." + name])] = array.copy()
        elif what == 9:
            out[name] = np.zeros(rng.choice([(0, rng.choice(HUGE)), (rng.choice(HUGE), 0)]), array.dtype)
        else:
            other = rng.choice(sorted(out))
            out[name], out[other] = out[other], out[name]
    return {name: np.ascontiguousarray(array) for name, array in out.items()}


def changed_model(files: Files, other: bytes, rng: random.Random) -> Files:
    """A model folder: bytes of one file, or JSON and arrays with checksums that fit."""
    from safetensors.numpy import load, save

    from heatfield.models.saving import checksum

    out = dict(files)
    what = rng.randrange(8)
    if what == 0:
        name = rng.choice(sorted(out))
        out[name] = damaged(out[name], other, rng)
        return out
    facts = json.loads(out["model.json"])
    tensors = load(out["model.safetensors"])
    data = out["model.safetensors"]
    if what == 1:
        data = damaged(data, other, rng)
    elif what <= 3:
        tensors = changed_arrays(tensors, rng)
        data = save(tensors)
    if what == 3 or what >= 4:
        facts = changed_json(facts, rng)
    if isinstance(facts, dict):
        if rng.random() < 0.95 and what != 1:
            facts["tensors"] = {k: [str(a.dtype), list(a.shape)] for k, a in sorted(tensors.items())}
        facts["tensors_sha256"] = hashlib.sha256(data).hexdigest()
        facts["checksum"] = checksum(facts)
    return {"model.json": json.dumps(facts).encode(), "model.safetensors": data}


def changed_checkpoint(files: Files, other: bytes, rng: random.Random) -> Files:
    """A checkpoint: bytes, or its facts and tensors."""
    from safetensors.numpy import load, save

    data = files["c"]
    if rng.random() < 0.4:
        return {"c": damaged(data, other, rng)}
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    facts, tensors = json.loads(header["__metadata__"]["facts"]), load(data)
    fingerprint = facts["fingerprint"]
    if rng.random() < 0.6:
        facts = changed_json(facts, rng)
    if rng.random() < 0.6:
        tensors = changed_arrays(tensors, rng)
    if isinstance(facts, dict) and rng.random() < 0.9:
        facts["fingerprint"] = fingerprint
    metadata = {"format": header["__metadata__"]["format"], "facts": json.dumps(facts)}
    return {"c": save(tensors, metadata)}


def changed_cache(files: Files, other: bytes, rng: random.Random) -> Files:
    """A file of arrays."""
    data = files["file"]
    if rng.random() < 0.4:
        return {"file": damaged(data, other, rng)}
    buffer = io.BytesIO()
    with np.load(io.BytesIO(data)) as arrays:
        np.savez(buffer, **changed_arrays(dict(arrays), rng))
    return {"file": buffer.getvalue()}


def make(number: int, sound: dict[str, Files]) -> tuple[str, Files, random.Random]:
    """The sample's name, the changed files, and the random numbers of what is done with them."""
    rng = random.Random(number)
    name = rng.choice(sorted(sound))
    other = rng.choice(list(sound[rng.choice(sorted(sound))].values()))
    if name == "checkpoint":
        files = changed_checkpoint(sound[name], other, rng)
    elif "file" in sound[name]:
        files = changed_cache(sound[name], other, rng)
    else:
        files = changed_model(sound[name], other, rng)
    return name, files, rng


# --- reading -------------------------------------------------------------------------


class Reader:
    """What is done with an input: load it, and use what was loaded."""

    def __init__(self) -> None:
        import torch

        import heatfield as hf
        from heatfield.features.points import PointSettings

        torch.set_num_threads(1)
        self.clouds, self.labels = some_clouds()
        self.loaders: dict[str, Callable[[Path], Any]] = {
            "trained": hf.HFSClassifier.load,
            "ridge": hf.HFSRegressor.load,
            "vectors": hf.HFSRegressor.load,
            "numbers": hf.HFSNetworkRegressor.load,
            "points": hf.HFSPointClassifier.load,
            "index": hf.HFSIndex.load,
            "cells": hf.HFSIndex.load,
        }
        self.loaders |= {name: type(make()).load for name, make in models().items()}
        self.recipe = point_settings(PointSettings)

    def read(self, name: str, place: Path, rng: random.Random) -> bool:
        """Whether the input was accepted; an AssertionError where what was read is no answer."""
        if name in self.loaders:
            if name == "trained" and rng.random() < 0.3:
                return self._command(place)
            return self._model(name, place)
        return bool(getattr(self, "_" + name.replace(" ", "_"))(place))

    def _model(self, name: str, place: Path) -> bool:
        import heatfield as hf

        try:
            model = self.loaders[name](place)
        except hf.ReadError:
            return False
        except ValueError as error:
            raise AssertionError(f"a {type(error).__name__}, not a ReadError: {error}") from None
        if isinstance(model, hf.HFSIndex):
            hits = model.query(self.clouds[:2], k=3)
            assert np.isfinite(hits.distances).all(), "distances that are no numbers"
            return True
        if name in ("ridge", "vectors", "numbers"):
            assert np.isfinite(model.predict(self.clouds[:2])).all(), "predictions that are no numbers"
            return True
        shares = model.predict_proba(self.clouds[:2])
        if name == "points":
            assert list(map(len, shares)) == list(map(len, self.clouds[:2])), "points without probabilities"
            shares = np.concatenate(shares)
        assert shares.shape[1:] == (len(model.classes_),), f"probabilities of shape {shares.shape}"
        assert np.isfinite(shares).all(), "probabilities that are no numbers"
        assert (shares >= 0.0).all(), "probabilities below 0"
        assert np.allclose(shares.sum(axis=1), 1.0, atol=1e-5), "probabilities that do not add up to 1"
        return True

    def _command(self, place: Path) -> bool:
        from heatfield.cli import main

        cloud, out = place.parent / "cloud.npy", place.parent / "predicted.csv"
        np.save(cloud, self.clouds[0])
        try:
            code = main(["predict", str(place), str(cloud), "-o", str(out), "--quiet", "--n-jobs", "1"])
            assert code in (0, 1, 2), f"exit code {code}"
            assert code or "nan" not in out.read_text(), "probabilities that are no numbers"
        finally:
            for file in place.parent.glob("predicted.*"):
                file.unlink()
        return code == 0

    def _checkpoint(self, place: Path) -> bool:
        model = models()["full"]().set_params(checkpoint=place / "c")
        if not hasattr(self, "table"):
            self.table = model.point_table(self.clouds)
        model.fit_features(self.table, self.labels, n_dims=2)
        assert np.isfinite(model.predict_features(self.table.take(np.arange(2))) == "ring").all()
        return True

    def _point_table(self, place: Path) -> bool:
        from heatfield.features.points import _load

        return _load(place / "file", self.recipe, self.clouds) is not None

    def _kept(self, place: Path) -> bool:
        from heatfield.jobs import Job

        job, key = Job(place / "table"), 32 * "0"
        assert job.folder is not None
        job.folder.mkdir()
        (place / "file").rename(job.folder / f"{key}.npz")
        return job.load(key) is not None


def child(first: int, last: int, samples: Path) -> None:
    """Read inputs and report."""
    sound, reader, work = sound_files(samples), Reader(), work_folder()
    warnings.simplefilter("ignore")  # of scikit-learn and numpy, on numbers that are odd
    for name in sorted(sound):  # the undamaged ones: they must be read, and all libraries are loaded
        _write(work / "m", sound[name])
        assert reader.read(name, work / "m", random.Random(0)), f"the sound sample {name} is refused"

    def ready(number: int) -> Input:
        name, files, rng = make(number, sound)
        _write(work / "m", files)
        return Input(name, [], lambda: _accepted(reader, name, work / "m", rng))

    read_inputs(first, last, TOGETHER, ready)
    shutil.rmtree(work)


def outcome(number: int, sound: dict[str, Files], reader: Reader, place: Path) -> tuple[str, bool]:
    """The sample that an input was made from, and whether it was accepted; a failure is raised."""
    name, files, rng = make(number, sound)
    _write(place, files)
    return name, _accepted(reader, name, place, rng)


def _accepted(reader: Reader, name: str, place: Path, rng: random.Random) -> bool:
    """Whether an input was accepted; False for a ValueError, which is what is documented."""
    try:
        return reader.read(name, place, rng)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        return False


def _write(place: Path, files: Files) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in files.items():
        (place / name).write_bytes(data)


def main() -> int:
    """The command line."""
    words = parser(__doc__)
    words.add_argument("--show", nargs=2, metavar=("K", "FOLDER"), help="write the files of this input")
    options = words.parse_args()
    if options.child:
        child(int(options.child[0]), int(options.child[1]), Path(options.child[2]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if options.show:
            name, files, _ = make(int(options.show[0]), sound_files(Path(folder)))
            print(f"from {name}")
            _write(Path(options.show[1]), files)
            return 0
        require_an_end(words, options)
        sound = sound_files(Path(folder))
        return FUZZER.run(options.seconds, options.inputs, lambda k: [make(k, sound)[0]], [folder])


if __name__ == "__main__":
    sys.exit(main())
