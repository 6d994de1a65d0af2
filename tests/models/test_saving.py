"""Saved models: the same predictions in a fresh process, and files that do not fit are refused."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.models import saving
from tests.helpers.estimator_checks import SMALL, some_clouds
from tests.helpers.files import forged, said
from tests.helpers.process import run_python

KINDS = [("simple", "mlp"), ("desc", "lda"), ("joint", "svm"), ("full", None), ("dgcnn", None)]


def kind_of(variant):
    return hf.HFSNetworkClassifier if variant in SMALL else hf.HFSClassifier


def load(folder):
    """A classifier of the kind that the folder holds."""
    return getattr(hf, saving.estimator_of(folder)).load(folder)


def fitted(variant, head, classes=2):
    clouds, labels = some_clouds(24)
    if classes > 2:
        labels = np.array([f"{label}{i % 2}" for i, label in enumerate(labels)], dtype=object).astype(str)
        labels[::4] = "other"
    options = {"head": head} if head else {"network": SMALL[variant], "epochs": 2}
    if head is None:
        pytest.importorskip("torch")
    return kind_of(variant)(variant, n_scales=3, **options).fit(clouds, labels), clouds


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("variant", "head"), KINDS)
def test_loaded_predicts_the_same(variant, head, classes, tmp_path):
    model, clouds = fitted(variant, head, classes)
    model.save(tmp_path / "model", notes={"unit": "mm"})
    assert sorted(f.name for f in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.notes_ == {"unit": "mm"}
    with pytest.warns(hf.HeatFieldWarning, match="unlike the training set"):
        again.predict([1000 * clouds[0]])
    again.save(tmp_path / "model")  # a model is replaced by a model
    np.testing.assert_array_equal(load(tmp_path / "model").predict(clouds), model.predict(clouds))


def test_fresh_process_predicts_the_same_bits(tmp_path):
    """All kinds at once, in one process that has never seen the training."""
    pytest.importorskip("torch")
    expected = {}
    for variant, head in KINDS:
        model, clouds = fitted(variant, head)
        model.save(tmp_path / variant)
        expected[variant] = model.predict_proba(clouds)
    code = f"""
import sys, numpy as np, heatfield as hf
from tests.helpers.estimator_checks import some_clouds
clouds, _ = some_clouds(24)
def predict(variants):
    for variant in variants:
        kind = hf.HFSNetworkClassifier if variant in ("full", "dgcnn") else hf.HFSClassifier
        model = kind.load({str(tmp_path)!r} + "/" + variant)
        np.save({str(tmp_path)!r} + "/" + variant + ".npy", model.predict_proba(clouds))
predict({[v for v, _ in KINDS if v not in SMALL]!r})
assert "torch" not in sys.modules  # closed-form models need no torch
predict({list(SMALL)!r})
"""
    run_python(code)
    for variant, proba in expected.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{variant}.npy"), proba, err_msg=variant)


@pytest.mark.parametrize("classes", [[3, 7], [True, False], ["ä", "b"], np.array([0, 1], np.int8)])
def test_labels_of_any_type(classes, tmp_path):
    clouds, labels = some_clouds(12)
    wanted = np.array(classes)[(labels == "ring").astype(int)]
    model = hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, wanted)
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert again.classes_.dtype == model.classes_.dtype


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    pytest.importorskip("torch")
    places = {}
    for variant, head in (("full", None), ("joint", "svm"), ("simple", "mlp")):
        places[variant] = tmp_path_factory.mktemp("models") / variant
        fitted(variant, head)[0].save(places[variant])
    return places


def copy_of(saved, variant, tmp_path):
    return Path(shutil.copytree(saved[variant], tmp_path / "copy"))


@pytest.mark.parametrize("variant", ["full", "joint"])
def test_changed_files_are_refused(saved, variant, tmp_path):
    rng = np.random.default_rng(0)
    folder = copy_of(saved, variant, tmp_path)
    for name in ("model.json", "model.safetensors"):
        data = (folder / name).read_bytes()
        for place in [0, len(data) - 1, *rng.integers(len(data), size=12)]:
            changed = bytearray(data)
            changed[place] ^= 1 << int(rng.integers(7))
            if name == "model.json" and _same_json(changed, data):
                continue
            (folder / name).write_bytes(changed)
            with pytest.raises(hf.ReadError, match=re.escape(str(folder))):
                kind_of(variant).load(folder)
        (folder / name).write_bytes(data[:-7])
        with pytest.raises(hf.ReadError, match=re.escape(str(folder))):
            kind_of(variant).load(folder)
        (folder / name).write_bytes(data)
    kind_of(variant).load(folder)


def _same_json(one, other):
    """White space may change: the content is what is signed."""
    try:
        return json.loads(bytes(one)) == json.loads(other)
    except ValueError:
        return False


def test_parts_of_two_models_are_refused(saved, tmp_path):
    folder = copy_of(saved, "full", tmp_path)
    shutil.copy(saved["joint"] / "model.safetensors", folder / "model.safetensors")
    with pytest.raises(hf.ReadError, match=r"model.safetensors: was changed, or belongs to another model"):
        hf.HFSNetworkClassifier.load(folder)


def _drop(name):
    return lambda _, t: t.pop(name)


def _cut(name):
    return lambda _, t: t.update({name: np.ascontiguousarray(t[name][..., :-1])})


def _first(name, value):
    return lambda _, t: t[name].flat.__setitem__(0, value)


def _as_type(name, kind):
    return lambda _, t: t.update({name: t[name].astype(kind)})


def _negative_count(_, tensors):
    """The sum is right."""
    tensors["head.counts"][:2] = [-1_000_000, 1_000_000 + len(tensors["head.vectors"])]


def _nested(depth):
    """Lists in lists: JSON reads what a recursion in Python may not come to the end of."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


WIDE = {"pairs": [["widths", [1_000_000, 1_000_000]], ["head", 100_000_000]]}  # a network of terabytes


@pytest.mark.parametrize(
    ("variant", "change", "message"),
    [
        ("full", _drop("points.mean"), "'points.mean' is missing"),
        ("full", _drop("points.scale"), "it does not hold the tensors of this network"),
        ("full", _cut("points.scale"), "tensor 'points.scale' must be torch.float64 of shape"),
        ("full", lambda f, _: f["classes"]["values"].append("third"), "tensor 'network.head"),
        ("full", said("n_dims", value=2), "must be torch.float"),
        ("full", said("params", "variant", value="best"), "variant must be one of"),
        ("full", said("params", "colour", value=1), "this library does not know the parameter 'colour'"),
        ("full", lambda f, _: f.pop("classes"), "'classes' is missing"),
        ("full", said("classes", "dtype", value="O"), "its classes are not a list of labels"),
        ("full", _first("points.mean", np.nan), "tensor 'points.mean' holds numbers that cannot be"),
        ("full", lambda _, t: t["points.scale"].fill(0.0), "tensor 'points.scale' holds numbers that cannot"),
        ("full", said("params", "network", value=WIDE), "tensor 'network.points.0.weight' must be"),
        ("full", said("params", "n_scales", value=10**12), "n_scales=1000000000000 do not fit its"),
        ("full", said("params", "checkpoint", value="x"), "not know the parameter 'checkpoint'"),
        ("full", said("params", "device", value="cpu"), "not know the parameter 'device'"),
        ("full", said("classes", "values", value=["a", "a"]), "not in order, or not distinct"),
        ("full", said("params", value=[]), "cannot be loaded"),
        ("full", said("input_range", value=[1]), "cannot be loaded"),
        ("full", said("notes", value=[]), "its notes are not an object"),
        ("full", said("history", value=3), "its history is not a list"),
        ("joint", _cut("head.vectors"), "'head.vectors' must be float64 of shape (None, "),
        ("joint", _negative_count, "do not fit together"),
        ("joint", lambda _, t: t.update(more=np.zeros(1)), "a tensor 'more' that is not of this model"),
        ("joint", _as_type("head.counts", float), "tensor 'head.counts' must be int64"),
        ("joint", said("readout", "gamma", value=float("nan")), "its gamma is nan"),
        ("simple", _first("head.weights.0", np.nan), "tensor 'head.weights.0' holds non-finite values"),
        ("simple", _drop("head.weights.1"), "tensor 'head.weights.1' is missing"),
        ("simple", _cut("head.weights.0"), "tensor 'head.biases.0' must be float64 of shape (127,)"),
        ("simple", said("n_dims", value=10**12), "n_dims=1000000000000 and n_scales=3 do not fit its"),
        ("simple", said("head", value="tree"), "head must be one of"),
        ("simple", said("variant", value="joint"), "variant must be one of 'simple', got 'joint'"),
        ("simple", said("head", value="lda"), "tensor 'head.coef' is missing"),
        ("simple", said("head_scores", value={"mlp": 2}), "are not values of mean accuracy"),
        ("simple", said("head_scores", value=[]), "cannot be loaded"),
        ("simple", said("classes", "dtype", value="<U500000000"), "not a list of labels"),
        ("simple", said("classes", value={"dtype": "<f8", "values": [10**400, 1]}), "cannot be loaded"),
        ("simple", said("params", "blocks", value=_nested(400)), "are nested too deep"),
        ("simple", said("input_range", "diameter", value=[float("nan"), 1]), "is not a range"),
        ("simple", lambda _, t: t["scale"].fill(0.0), "are not above 0"),
    ],
)
def test_forged_models_are_refused(saved, variant, change, message, tmp_path):
    """Also with checksums that fit: every shape and type is checked before it is used."""
    folder = forged(copy_of(saved, variant, tmp_path), change)
    with pytest.raises(hf.ReadError, match=re.escape(message)) as caught:
        kind_of(variant).load(folder)
    assert caught.value.path == str(folder)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_odd_but_wellformed_files_are_refused(saved, name, tmp_path):
    """JSON without end, and tensors of a type that numpy does not have."""
    folder = copy_of(saved, "full", tmp_path)
    if name == "model.json":
        (folder / name).write_text("[" * 200_000)
    else:
        import torch
        from safetensors.torch import save

        data = save({"a": torch.zeros(3, dtype=torch.bfloat16)})
        metadata = json.loads((folder / "model.json").read_text())
        metadata["tensors_sha256"] = hashlib.sha256(data).hexdigest()
        metadata["checksum"] = saving.checksum(metadata)
        (folder / "model.json").write_text(json.dumps(metadata))
        (folder / name).write_bytes(data)
    with pytest.raises(hf.ReadError, match=re.escape(f"{folder}: {name}: not readable: ")):
        hf.HFSNetworkClassifier.load(folder)


def test_an_older_model_survives_a_failed_save(saved, tmp_path, monkeypatch):
    folder = copy_of(saved, "simple", tmp_path)
    model = hf.HFSClassifier.load(folder)
    rename = Path.rename

    def fails(self, target):
        if self.suffix == ".part":
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="no space left"):
        model.save(folder)
    monkeypatch.undo()
    assert [f.name for f in tmp_path.iterdir()] == ["copy"]
    hf.HFSClassifier.load(folder)


def test_other_versions_are_refused(saved, tmp_path, monkeypatch):
    folder = copy_of(saved, "simple", tmp_path)
    with pytest.raises(
        hf.ReadError, match="was trained on features of schema 2, this library computes schema 99"
    ):
        saving.read_model(folder, "HFSClassifier", schema=99)
    monkeypatch.setattr(saving, "_VERSION", 99)
    with pytest.raises(hf.ReadError, match=r"has the format version 2, this library .* reads version 99"):
        hf.HFSClassifier.load(folder)


def test_a_description_without_end_is_not_read(saved, tmp_path, monkeypatch):
    folder = copy_of(saved, "simple", tmp_path)
    monkeypatch.setattr(saving, "_LARGEST", 100)
    with pytest.raises(hf.ReadError, match="it has more than 100 bytes"):
        hf.HFSClassifier.load(folder)
    with pytest.raises(ValueError, match="has more than 100 bytes"):
        saving.write_model(tmp_path / "new", "HFSClassifier", {}, {})


def test_a_model_of_the_other_kind_is_named(saved):
    for variant, other in (("full", hf.HFSClassifier), ("simple", hf.HFSNetworkClassifier)):
        held = kind_of(variant).__name__
        with pytest.raises(hf.ReadError, match=f"holds a saved {held}, not a saved {other.__name__}"):
            other.load(saved[variant])


def test_places_that_cannot_be(tmp_path):
    model, _ = fitted("simple", "lda")
    with pytest.raises(ValueError, match="there is no folder"):
        model.save(tmp_path / "no" / "model")
    for place in (".", ".."):
        with pytest.raises(ValueError, match="give the name of a new folder"):
            model.save(place)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="it exists and is not a folder with a model only"):
        model.save(tmp_path / "own")
    assert (tmp_path / "own" / "thesis.tex").read_text() == "mine"
    with pytest.raises(hf.ReadError, match="no such folder"):
        hf.HFSClassifier.load(tmp_path / "nothing")
    with pytest.raises(hf.ReadError, match=r"not a saved model: it has no model.json"):
        hf.HFSClassifier.load(tmp_path / "own")


def test_numbers_out_of_range_give_no_answer(saved, tmp_path):
    folder = copy_of(saved, "simple", tmp_path)

    def overflow(_, tensors):
        tensors["head.weights.0"].fill(0.0)
        tensors["head.biases.0"].fill(1e300)
        tensors["head.weights.1"].fill(1e300)
        tensors["head.weights.2"][::2] = 1.0  # infinity less infinity
        tensors["head.weights.2"][1::2] = -1.0

    model = hf.HFSClassifier.load(forged(folder, overflow))
    with pytest.raises(ValueError, match="its numbers are out of range"):
        model.predict_proba(some_clouds(4)[0])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(saved, name, tmp_path):
    folder = copy_of(saved, "simple", tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(hf.ReadError, match=f"not a saved model: it has no {name}"):
        hf.HFSClassifier.load(folder)


@pytest.mark.parametrize("kind", [hf.HFSClassifier, hf.HFSRegressor, hf.HFSNetworkClassifier])
def test_shared_lengths_are_saved(kind, tmp_path):
    clouds, labels = some_clouds(16)
    options = {"n_scales": 3, "lengths": "shared"}
    if kind is hf.HFSNetworkClassifier:
        pytest.importorskip("torch")
        options |= {"network": SMALL["full"], "epochs": 1}
    else:
        options |= {"variant": "simple", "head": "svm"}
    y = np.arange(16.0) if kind is hf.HFSRegressor else labels
    model = kind(**options).fit(clouds, y)
    model.save(tmp_path / "m")
    again = kind.load(tmp_path / "m")
    assert again.lengths_ == model.lengths_
    np.testing.assert_array_equal(again.predict(clouds[:3]), model.predict(clouds[:3]))
    given = kind(**options | {"lengths": model.lengths_}).fit(clouds, y)
    np.testing.assert_array_equal(given.predict(clouds), model.predict(clouds))
    with pytest.raises(ValueError, match="lengths='shared' are learnt from clouds; for features, give"):
        kind(**options).fit_features(np.ones((16, 5)), y, n_dims=3)
    with pytest.raises(hf.ReadError, match="lengths must increase"):
        kind.load(forged(tmp_path / "m", said("lengths", value=[2.0, 1.0, 3.0])))


def test_an_index_keeps_shared_lengths(tmp_path):
    clouds, _ = some_clouds(8)
    index = hf.HFSIndex(hf.HFSDescriptor("simple", lengths="shared")).build(clouds)
    index.save(tmp_path / "i")
    again = hf.HFSIndex.load(tmp_path / "i")
    assert again.descriptor_.lengths == list(index.descriptor_.lengths)
    assert again.query(clouds[:2], k=1).names == [["0"], ["1"]]
    with pytest.raises(ValueError, match="for features, give"):
        hf.HFSIndex(hf.HFSDescriptor("simple", lengths="shared")).build_features(np.ones((8, 5)), n_dims=3)
