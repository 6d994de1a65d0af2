"""Saved models: the same predictions in a fresh process, and files that do not fit are refused."""

import hashlib
import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sklearn

import heatfield as hf
from heatfield._classifier.saving import folder as _model_folder
from heatfield._classifier.saving.preprocessing import _ARRAYS, _VALUES
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.process import ROOT, run_python

SMALL = {
    "full": {"widths": (8,), "head": 8},
    "dgcnn": {"k": 4, "widths": (8,), "embedding": 16, "head": (8,)},
}
KINDS = [("simple", "mlp"), ("desc", "lda"), ("joint", "svm"), ("full", None), ("dgcnn", None)]


def fitted(variant, head, classes=2):
    clouds, labels = some_clouds(24)
    if classes > 2:
        labels = np.array([f"{label}{i % 2}" for i, label in enumerate(labels)], dtype=object).astype(str)
        labels[::4] = "other"
    options = {"head": head} if head else {"network": SMALL[variant], "epochs": 2}
    if head is None:
        pytest.importorskip("torch")
    return hf.HFSClassifier(variant, n_scales=3, random_state=0, **options).fit(clouds, labels), clouds


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("variant", "head"), KINDS)
def test_loaded_predicts_the_same(variant, head, classes, tmp_path):
    model, clouds = fitted(variant, head, classes)
    model.save(tmp_path / "model", notes={"unit": "mm"})
    assert sorted(f.name for f in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    again = hf.HFSClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.notes_ == {"unit": "mm"}
    with pytest.warns(hf.HeatFieldWarning, match="unlike the training set"):
        again.predict([1000 * clouds[0]])
    again.save(tmp_path / "model")  # a model is replaced by a model
    np.testing.assert_array_equal(
        hf.HFSClassifier.load(tmp_path / "model").predict(clouds), model.predict(clouds)
    )


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
        model = hf.HFSClassifier.load({str(tmp_path)!r} + "/" + variant)
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


def forge(folder, change_facts=None, change_tensors=None):
    """Change a model and make its checksums fit again, as somebody with intent would."""
    facts = json.loads((folder / "model.json").read_text())
    tensors = _model_folder.load((folder / "model.safetensors").read_bytes())
    if change_tensors:
        change_tensors(tensors)
    if change_facts:
        change_facts(facts)
    for key in ("tensors", "tensors_sha256", "checksum", "format", "format_version", "heatfield", "schema"):
        facts.pop(key)
    _model_folder.write_model(folder, facts, tensors)


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
            with pytest.raises(ValueError, match=re.escape(str(folder))):
                hf.HFSClassifier.load(folder)
        (folder / name).write_bytes(data[:-7])
        with pytest.raises(ValueError, match=re.escape(str(folder))):
            hf.HFSClassifier.load(folder)
        (folder / name).write_bytes(data)
    hf.HFSClassifier.load(folder)


def _same_json(one, other):
    """White space may change: the content is what is signed."""
    try:
        return json.loads(bytes(one)) == json.loads(other)
    except ValueError:
        return False


def test_parts_of_two_models_are_refused(saved, tmp_path):
    folder = copy_of(saved, "full", tmp_path)
    shutil.copy(saved["joint"] / "model.safetensors", folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model.safetensors' was changed, or belongs to another model"):
        hf.HFSClassifier.load(folder)


def _drop(name):
    return lambda tensors: tensors.pop(next(k for k in tensors if k.endswith(name)))


def _cut(name):
    def change(tensors):
        key = next(k for k in tensors if k.endswith(name))
        tensors[key] = np.ascontiguousarray(tensors[key][..., :-1])

    return change


def _spoil(name):
    return lambda tensors: tensors[name].flat.__setitem__(0, np.nan)


def _as_type(name, kind):
    return lambda tensors: tensors.update({name: tensors[name].astype(kind)})


def _negative_count(tensors):
    """The sum is right, but libsvm would read far before and behind its arrays."""
    count = len(tensors["svc.support_"])
    tensors["svc._n_support"][:2] = [-1_000_000, 1_000_000 + count]


def _wide():
    """A network of terabytes."""
    return {"pairs": [["widths", [1_000_000]], ["head", 100_000_000]]}


def _nested(depth):
    """Lists in lists: JSON reads what a recursion in Python may not come to the end of."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("variant", "facts", "tensors", "message"),
    [
        ("full", None, _drop("points.mean"), "it does not hold the tensors of this network"),
        ("full", None, _cut("points.mean"), "tensor 'points.mean' must be torch.float64 of shape"),
        ("full", lambda f: f["classes"]["values"].append("third"), None, "tensor 'network.head"),
        ("full", lambda f: f.update(n_dims=2), None, "must be torch.float"),
        ("full", lambda f: f["params"].update(variant="best"), None, "variant must be one of"),
        (
            "full",
            lambda f: f["params"].update(colour=1),
            None,
            "this library does not know the parameter 'colour'",
        ),
        ("full", lambda f: f.pop("classes"), None, "'classes' is missing"),
        ("full", lambda f: f["classes"].update(dtype="O"), None, "its classes are not a list of labels"),
        ("joint", None, _cut("svc.support_vectors_"), "support_vectors_ of the saved svc must have shape"),
        ("joint", None, _cut("svc.support_"), "support_ of the saved svc must have shape"),
        ("joint", None, lambda t: t["svc._n_support"].__setitem__(0, 99), "do not fit together"),
        ("joint", None, _negative_count, "do not fit together"),
        ("joint", None, lambda t: t.update({"svc._probA": np.zeros(1)}), "_probA of the saved svc must have"),
        ("joint", None, _as_type("svc.support_", float), "the saved support vectors have a wrong type"),
        ("joint", lambda f: f["readout"]["svc"].update(_gamma="x"), None, "have a wrong type"),
        (
            "simple",
            lambda f: f["readout"]["annealedmlp"].update(out_activation_="tanh"),
            None,
            "ends in 'tanh'",
        ),
        ("simple", lambda f: f["readout"]["annealedmlp"].update(n_outputs_=5), None, "outputs for 2 classes"),
        (
            "simple",
            None,
            _spoil("annealedmlp.coefs_.0"),
            "layer 0 of the saved network holds values that are",
        ),
        ("simple", None, _spoil("roundoffscaler.mean_"), "mean_ of the saved roundoffscaler holds values"),
        ("full", None, _spoil("points.mean"), "tensor 'points.mean' holds numbers that cannot be"),
        (
            "full",
            None,
            lambda t: t["points.scale"].fill(0.0),
            "tensor 'points.scale' holds numbers that cannot",
        ),
        (
            "full",
            lambda f: f["params"].update(network=_wide()),
            None,
            "tensor 'network.points.0.weight' must be",
        ),
        (
            "full",
            lambda f: f["params"].update(n_scales=10**12),
            None,
            "n_scales=1000000000000 does not fit its",
        ),
        ("simple", lambda f: f.update(n_dims=10**12), None, "n_dims=1000000000000 does not fit its"),
        ("full", lambda f: f["params"].update(checkpoint="x"), None, "not know the parameter 'checkpoint'"),
        ("full", lambda f: f["params"].update(cache="x"), None, "not know the parameter 'cache'"),
        ("full", lambda f: f["classes"].update(values=["a", "a"]), None, "not in order, or not distinct"),
        ("full", lambda f: f.update(params=[]), None, "cannot be loaded"),
        ("full", lambda f: f.update(input_range=[1]), None, "cannot be loaded"),
        ("full", lambda f: f.update(notes=[]), None, "its notes are not an object"),
        ("simple", None, _drop("coefs_.1"), "the saved read-out is incomplete"),
        ("simple", None, _cut("coefs_.0"), "the saved network has shape"),
        ("simple", lambda f: f.update(head="tree"), None, "head must be one of"),
        ("simple", lambda f: f["classes"].update(dtype="<U500000000"), None, "not a list of labels"),
        ("simple", lambda f: f["classes"].update(dtype="<f8", values=[10**400, 1]), None, "cannot be loaded"),
        ("simple", lambda f: f["params"].update(network=_nested(400)), None, "are nested too deep"),
        ("simple", lambda f: f["input_range"].update(radius=[float("nan"), 1]), None, "is no range"),
        ("joint", lambda f: f["readout"]["svc"].update(_gamma=float("nan")), None, "have a wrong type"),
        ("simple", lambda f: f["readout"]["annealedmlp"].update(n_features_in_=7), None, "has 7 features"),
        ("simple", None, lambda t: t["roundoffscaler.scale_"].fill(0.0), "are not above 0"),
    ],
)
def test_forged_models_are_refused(saved, variant, facts, tensors, message, tmp_path):
    """Also with checksums that fit: every shape and type is checked before it is used."""
    folder = copy_of(saved, variant, tmp_path)
    forge(folder, facts, tensors)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        hf.HFSClassifier.load(folder)
    assert str(folder) in str(caught.value)


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
        facts = json.loads((folder / "model.json").read_text())
        facts["tensors_sha256"] = hashlib.sha256(data).hexdigest()
        facts["checksum"] = _model_folder._checksum(facts)
        (folder / "model.json").write_text(json.dumps(facts))
        (folder / name).write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(f"{str(folder / name)!r} ")):
        hf.HFSClassifier.load(folder)


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
    monkeypatch.setattr(_model_folder, "SCHEMA", 99)
    with pytest.raises(
        ValueError, match="was trained on features of schema 1, this library computes schema 99"
    ):
        hf.HFSClassifier.load(folder)
    monkeypatch.setattr(_model_folder, "_VERSION", 2)
    with pytest.raises(ValueError, match=r"has the format version 1, this library .* reads version 2"):
        hf.HFSClassifier.load(folder)


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
    with pytest.raises(ValueError, match="there is no model at"):
        hf.HFSClassifier.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"is not a whole model: it has no model.json"):
        hf.HFSClassifier.load(tmp_path / "own")


def test_closed_form_variants_import_no_torch():
    code = """
import sys, numpy as np, heatfield as hf
clouds = [np.random.default_rng(i).normal(size=(30, 3)) for i in range(8)]
hf.HFSClassifier("desc", head="lda", n_scales=3).fit(clouds, [0, 1] * 4).predict(clouds)
assert "torch" not in sys.modules and "safetensors" not in sys.modules
"""
    run_python(code)


def test_numbers_out_of_range_give_no_answer(saved, tmp_path):
    folder = copy_of(saved, "simple", tmp_path)

    def overflow(tensors):
        tensors["annealedmlp.coefs_.0"].fill(0.0)
        tensors["annealedmlp.intercepts_.0"].fill(1e300)
        tensors["annealedmlp.coefs_.1"].fill(1e300)
        tensors["annealedmlp.coefs_.2"][::2] = 1.0  # infinity less infinity
        tensors["annealedmlp.coefs_.2"][1::2] = -1.0

    forge(folder, None, overflow)
    model = hf.HFSClassifier.load(folder)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="its numbers are out of range"):
        model.predict_proba(some_clouds(4)[0])


def test_scikit_learn_is_bounded_above_while_its_private_attributes_are_restored():
    """A version that renames them must not be installed silently."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (line,) = [d for d in project["dependencies"] if d.startswith("scikit-learn")]
    private = [name for names in (*_ARRAYS.values(), *_VALUES.values()) for name in names if name[0] == "_"]
    assert private
    upper = re.search(r"<(\d+)\.(\d+)$", line)
    assert upper, line
    assert tuple(map(int, sklearn.__version__.split(".")[:2])) < (int(upper[1]), int(upper[2]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(saved, name, tmp_path):
    folder = copy_of(saved, "simple", tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ValueError, match=f"is not a whole model: it has no {name}"):
        hf.HFSClassifier.load(folder)
