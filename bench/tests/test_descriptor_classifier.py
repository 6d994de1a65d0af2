"""DescriptorClassifier: learns, keeps its manners, and comes back from a folder."""

import json
import re
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import heatfield as hf
import heatfield_bench as hb
from heatfield_bench.baselines import FPFH, HKS, WKS, DescriptorClassifier, LocalCovariance
from open3d_here import needs_open3d
from tests.helpers.clouds import cloud
from tests.helpers.estimator_checks import CHECKS, some_clouds
from tests.helpers.forgery import forged
from tests.helpers.process import run_python

NAMES = [pytest.param("FPFH", marks=needs_open3d), "HKS", "WKS", "LocalCovariance"]
OWN_CHECKS = [c for c in CHECKS if c.__name__ != "constructor_does_not_validate"]
SMALL = LocalCovariance(radii=(0.5,), features=("linearity", "planarity", "sphericity"))


@pytest.mark.parametrize("check", OWN_CHECKS, ids=lambda c: c.__name__)
def test_estimator_check(check):
    check(DescriptorClassifier("LocalCovariance", head="lda", random_state=0))


def test_constructor_does_not_validate():
    clouds, labels = some_clouds()
    with pytest.raises(ValueError, match="head must be one of 'auto', 'lda', 'svm', 'mlp', got 'tree'"):
        DescriptorClassifier("HKS", head="tree").fit(clouds, labels)
    with pytest.raises(ValueError, match=r"descriptor must be one of 'FPFH', .* got 'PFH'"):
        DescriptorClassifier("PFH").fit(clouds, labels)
    with pytest.raises(ValueError, match="or such an estimator, got 3"):
        DescriptorClassifier(3).fit(clouds, labels)


@pytest.mark.parametrize("descriptor", NAMES)
@pytest.mark.parametrize("head", ["mlp", "lda"])
def test_learns(descriptor, head):
    clouds, labels = some_clouds(40)
    model = DescriptorClassifier(descriptor, head=head, random_state=0).fit(clouds[:24], labels[:24])
    assert model.score(clouds[24:], labels[24:]) >= 0.9
    chances = model.predict_proba(clouds[24:])
    assert chances.shape == (16, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(clouds[24:])).all()


def test_network_of_the_paper():
    clouds, labels = some_clouds()
    model = DescriptorClassifier(SMALL, head="mlp").fit(clouds, labels)
    assert [w.shape for w in model.readout_.head.weights] == [(15, 128), (128, 64), (64, 1)]


def test_labels_without_meaning_are_not_learnt():
    clouds, _ = some_clouds(60)
    labels = np.random.default_rng(0).integers(2, size=60)
    assert 0.2 < cross_val_score(DescriptorClassifier("HKS", head="lda"), clouds, labels, cv=5).mean() < 0.8


def test_a_descriptor_with_its_own_settings():
    clouds, labels = some_clouds()
    model = DescriptorClassifier(SMALL, head="auto", inner_folds=3, random_state=0).fit(clouds, labels)
    assert model.descriptor_ is not SMALL
    assert not hasattr(SMALL, "n_dims_")
    assert {*model.head_scores_} == {"lda", "svm"}
    assert clone(model).descriptor.radii == (0.5,)
    assert model.set_params(descriptor__radii=(0.25,)).descriptor.radii == (0.25,)


def test_n_jobs_is_that_of_the_classifier():
    clouds, labels = some_clouds()
    model = DescriptorClassifier(HKS(n_jobs=2), head="lda", n_jobs=1).fit(clouds, labels)
    assert model.descriptor_.n_jobs == 1
    chances = model.predict_proba(clouds)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict_proba(clouds), chances)
    assert model.descriptor_.n_jobs == 3


def test_features_computed_before():
    clouds, labels = some_clouds()
    table = HKS().fit_transform(clouds)
    model = DescriptorClassifier("HKS", head="lda")
    expected = model.fit(clouds, labels).predict_proba(clouds)
    model.fit_features(table, labels, n_dims=3)
    np.testing.assert_array_equal(model.predict_proba(clouds), expected)
    np.testing.assert_array_equal(model.predict_features(table), model.predict(clouds))
    message = "features must have shape (N, 80) for HKS in 3 dimensions, got (12, 79)"
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit_features(table[:, 1:], labels, n_dims=3)
    with pytest.raises(ValueError, match="y has 11 labels for 12 clouds"):
        model.fit_features(table, labels[1:], n_dims=3)


def test_gaps_are_filled_and_seen():
    """A cloud that cannot be described is named in a warning and gets the median of the training set."""
    clouds, labels = some_clouds()
    clouds[3] = np.zeros((4, 3))
    model = DescriptorClassifier("LocalCovariance", head="lda")
    with pytest.warns(hf.HeatFieldWarning, match="LocalCovariance features are NaN: clouds 3"):
        model.fit(clouds, labels)
    with pytest.warns(hf.HeatFieldWarning, match="1 of 1 clouds have fewer than two distinct points"):
        chances = model.predict_proba([np.zeros((40, 3))])
    assert np.isfinite(chances).all()
    np.testing.assert_array_equal(chances, head_of_medians(model))


def head_of_medians(model):
    return model.readout_.probabilities(model.readout_.fill[None])


def test_clouds_unlike_the_training_set():
    clouds, labels = some_clouds()
    model = DescriptorClassifier("HKS", head="lda").fit(clouds, labels)
    with pytest.warns(hf.HeatFieldWarning, match=r"clouds\[0\] has a diameter of .* is it in another unit"):
        model.predict([1000.0 * clouds[0]])


@pytest.mark.parametrize("head", ["mlp", "lda", "svm"])
@pytest.mark.parametrize(
    "descriptor",
    [
        pytest.param(FPFH(feature_radius=0.5, orient=True), id="FPFH", marks=needs_open3d),
        pytest.param(HKS(n_pairs=20, n_times=4), id="HKS"),
        pytest.param(WKS(width=0.1, n_energies=5), id="WKS"),
        pytest.param(SMALL, id="LocalCovariance"),
    ],
)
def test_save_and_load(tmp_path, descriptor, head):
    clouds, labels = some_clouds(18)
    labels = np.where(np.arange(18) % 3 == 0, "third", labels)
    model = DescriptorClassifier(descriptor, head=head, epochs=20, random_state=0)
    # Twenty passes are few.
    with pytest.warns(ConvergenceWarning) if head == "mlp" else nullcontext():
        model.fit(clouds, labels)
    model.save(tmp_path / "model", notes={"about": "rings"})
    again = DescriptorClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert again.notes_ == {"about": "rings"}
    assert again.head_ == head
    assert again.input_range_ == model.input_range_
    assert type(again.descriptor_) is type(descriptor)
    for name, value in descriptor.get_params().items():
        assert np.array_equal(again.descriptor_.get_params()[name], value)  # a tuple comes back as a list
    assert {f.name for f in (tmp_path / "model").iterdir()} == {"model.json", "model.safetensors"}
    again.save(tmp_path / "twice", notes={"about": "rings"})  # and once more, to the bit
    for name in ("model.json", "model.safetensors"):
        one, other = ((tmp_path / place / name).read_bytes() for place in ("model", "twice"))
        assert one == other


def test_loads_in_a_fresh_process(tmp_path):
    clouds, labels = some_clouds()
    model = DescriptorClassifier("HKS", head="lda").fit(clouds, labels)
    model.save(tmp_path / "model")
    np.savez(tmp_path / "clouds.npz", *clouds)
    code = f"""
import json, numpy as np, heatfield_bench as hb
clouds = list(np.load({str(tmp_path / "clouds.npz")!r}).values())
model = hb.baselines.DescriptorClassifier.load({str(tmp_path / "model")!r})
print(json.dumps(model.predict_proba(clouds).tolist()))
"""
    np.testing.assert_array_equal(json.loads(run_python(code)), model.predict_proba(clouds))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.update(estimator="Other"), "holds a saved Other, not a saved DescriptorClassifier"),
        (lambda f: f["descriptor"].update(name="os"), "descriptor must be one of 'FPFH', .* got 'os'"),
        (lambda f: f["descriptor"]["params"].update(n_times=10**12), "has 5000000000000 columns"),
        (lambda f: f["descriptor"]["params"].update(n_times="many"), "n_times must be an integer"),
        (lambda f: f["descriptor"]["params"].update(colour=1), "cannot be loaded: .*colour"),
        (lambda f: f["params"].update(colour=1), "cannot be loaded: .*colour"),
        (lambda f: f["params"].update(head="tree"), "head must be one of"),
        (lambda f: f.update(head="auto"), "head must be one of"),
        (lambda f: f.pop("readout"), "'readout' is missing"),
        (lambda f: f["classes"].update(values=["ring", "ball"]), "not in order"),
        (lambda f: f.update(notes=[]), "its notes are not an object"),
    ],
)
def test_files_that_do_not_fit(tmp_path, change, message):
    clouds, labels = some_clouds()
    DescriptorClassifier("HKS", head="lda").fit(clouds, labels).save(tmp_path / "model")
    with pytest.raises(hf.ReadError, match=message):
        DescriptorClassifier.load(forged(tmp_path / "model", lambda metadata, _: change(metadata)))


def test_models_of_the_other_kind_are_refused(tmp_path):
    clouds, labels = some_clouds()
    hf.HFSClassifier("simple", head="lda", n_scales=3).fit(clouds, labels).save(tmp_path / "theirs")
    with pytest.raises(ValueError, match="holds a saved HFSClassifier, not a saved DescriptorClassifier"):
        DescriptorClassifier.load(tmp_path / "theirs")
    DescriptorClassifier("HKS", head="lda").fit(clouds, labels).save(tmp_path / "ours")
    with pytest.raises(ValueError, match="holds a saved DescriptorClassifier, not a saved HFSClassifier"):
        hf.HFSClassifier.load(tmp_path / "ours")


def test_a_descriptor_from_elsewhere_cannot_be_saved(tmp_path):
    class Other(HKS):
        """Somebody's own."""

    clouds, labels = some_clouds()
    model = DescriptorClassifier(Other(), head="lda").fit(clouds, labels)
    assert model.score(clouds, labels) > 0.5
    with pytest.raises(ValueError, match="it is not a descriptor of this library"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("clouds", "labels", "message"),
    [
        (some_clouds()[0], ["a"] * 12, "y must hold at least two classes, got only ['a']"),
        (some_clouds()[0], ["a", "b"], "y has 2 labels for 12 clouds"),
        (some_clouds()[0], 3, "y must be a label for each cloud, got 3"),
        ([cloud("ball", 4)] * 2, [0, 1], "LocalCovariance is defined for points of at most 3 coordinates"),
    ],
)
def test_wrong_input(clouds, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        DescriptorClassifier("LocalCovariance", head="lda").fit(clouds, labels)


def test_numbers_out_of_range_give_no_answer():
    """A forged model whose decision values overflow says so; it does not answer NaN."""
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=3, n_points=50)
    model = hb.baselines.DescriptorClassifier("HKS", head="lda").fit(clouds, labels)
    model.readout_.head.coef[:, ::2], model.readout_.head.coef[:, 1::2] = 1e308, -1e308
    with pytest.raises(ValueError, match="its numbers are out of range"):
        model.predict_proba(clouds)
