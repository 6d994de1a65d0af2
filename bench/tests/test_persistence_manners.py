"""What the classifiers by multiparameter persistence owe their users: checks, errors, saved models."""

import json
import shutil
import sys

import numpy as np
import pytest
from sklearn.base import clone

from tests.helpers.estimator_checks import CHECKS, some_clouds
from tests.helpers.forgery import forged, put, said
from tests.helpers.process import run_python

pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")
xgboost = pytest.importorskip("xgboost", reason="needs xgboost: pip install 'heatfield-bench[persistence]'")

import heatfield as hf  # noqa: E402
from heatfield_bench import baselines  # noqa: E402
from heatfield_bench.baselines import persistence, slices  # noqa: E402

SMALL = {"resolution": 5, "n_estimators": 4, "random_state": 0, "progress": False}
NAMES = ["MPSignedMeasure", "MPLandscape", "MPImage", "GRIL"]


def small(name):
    if name == "MPImage":
        pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    return getattr(baselines, name)(**SMALL)


def fitted(name):
    clouds, labels = some_clouds()
    return small(name).fit(clouds, labels), clouds


# --- manners -----------------------------------------------------------------------


@pytest.mark.parametrize("check", [c for c in CHECKS if c.__name__ != "constructor_does_not_validate"])
def test_checks_of_estimators(check):
    check(small("MPSignedMeasure"))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_an_estimator(name):
    for check in CHECKS:
        if check.__name__ in (
            "threads_change_no_bit",
            "clouds_do_not_influence_each_other",
            "broken_cloud_is_named",
        ):
            check(small(name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"complex": "cech"}, "complex must be one of 'alpha', 'rips', got 'cech'"),
        ({"degrees": (0, 3)}, r"degrees must be some of 0, 1 and 2, each once, got \(0, 3\)"),
        ({"degrees": ()}, "degrees must be some of"),
        ({"degrees": 1}, "degrees must be some of"),
        ({"bandwidth": 0.0}, "bandwidth must be a number above 0, got 0.0"),
        ({"max_radius": "far"}, "max_radius must be a number above 0, got 'far'"),
        ({"resolution": 1}, "resolution must be an integer of at least 2, got 1"),
        ({"resolution": 5000}, "features per cloud, at most 1000000: lower resolution"),
        ({"smoothing": -1.0}, "smoothing must be a number above 0, got -1.0"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1, got 0"),
        ({"learning_rate": 2.0}, "learning_rate must be a number above 0 and at most 1, got 2.0"),
        ({"random_state": "x"}, "random_state must be an integer of at least 0, got 'x'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        small("MPSignedMeasure").set_params(**options).fit(*some_clouds())


def test_many_dimensions_need_rips():
    clouds, labels = some_clouds(n=4)
    with pytest.raises(ValueError, match="up to 3 coordinates, got 4: pass complex='rips'"):
        small("MPSignedMeasure").fit(clouds, labels)
    pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    model = small("MPSignedMeasure").set_params(complex="rips").fit(clouds, labels)
    assert np.abs(model.transform(clouds)).max() > 0


def test_labels_are_checked():
    clouds, labels = some_clouds()
    with pytest.raises(ValueError, match="y has 3 labels for 12 clouds"):
        small("MPSignedMeasure").fit(clouds, labels[:3])
    with pytest.raises(ValueError, match="at least two classes"):
        small("MPSignedMeasure").fit(clouds, ["one"] * 12)


def test_too_large_a_cloud_is_named(monkeypatch):
    clouds, labels = some_clouds()
    clouds[3] = np.random.default_rng(0).normal(size=(300, 3))
    small("MPSignedMeasure").fit(clouds, labels)
    monkeypatch.setattr(slices, "MOST_BYTES", 100_000)
    with pytest.raises(ValueError, match=r"clouds\[3\] has \d+ simplices .* sample it to fewer points"):
        small("MPSignedMeasure").fit(clouds, labels)


def test_unlike_clouds_are_warned_of():
    model, clouds = fitted("MPSignedMeasure")
    with pytest.warns(hf.HeatFieldWarning, match="unlike the training set"):
        model.predict([1000 * clouds[0]])


@pytest.mark.parametrize(
    ("name", "library"), [("MPSignedMeasure", "gudhi"), ("MPImage", "multipers"), ("MPLandscape", "xgboost")]
)
def test_missing_extra_is_one_sentence(name, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.simplex_tree_multi", None)
    with pytest.raises(ImportError, match=rf"needs {library}: pip install 'heatfield-bench\[persistence\]'$"):
        getattr(baselines, name)(**SMALL).fit(*some_clouds())


def test_importing_loads_nothing_heavy():
    code = "import heatfield_bench.baselines as b, json, sys; dir(b); print(json.dumps(list(sys.modules)))"
    heavy = {"numpy", "sklearn", "torch", "gudhi", "multipers", "xgboost", "numba"}
    assert heavy.isdisjoint(json.loads(run_python(code)))
    with pytest.raises(AttributeError, match="has no attribute 'MPKernel'"):
        baselines.MPKernel  # noqa: B018


# --- trees -------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_those_of_xgboost(classes, monkeypatch):
    """The same margins but for sums in single precision."""
    kept = {}
    read = persistence.from_json

    def keep(text, *rest):
        kept["text"] = text
        return read(text, *rest)

    monkeypatch.setattr(persistence, "from_json", keep)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 20))
    labels = (3 * np.abs(rows[:, 0] * rows[:, 1])).astype(np.int64) % classes
    model = baselines.MPLandscape(max_depth=4, subsample=0.8, colsample=0.5, random_state=1, n_estimators=20)
    trees = model._grow(rows, labels, classes)
    booster = xgboost.Booster()
    booster.load_model(bytearray(kept["text"]))
    theirs = booster.predict(xgboost.DMatrix(rows.astype(np.float32)), output_margin=True)
    np.testing.assert_allclose(trees.margins(rows), theirs, rtol=1e-6, atol=1e-6)
    assert np.ptp(theirs) > 1


# --- saved models ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_loaded_predicts_the_same(name, tmp_path):
    model, clouds = fitted(name)
    model.save(tmp_path / "model", notes={"unit": "mm"})
    assert sorted(f.name for f in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    again = type(model).load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    np.testing.assert_array_equal(again.predict(clouds), model.predict(clouds))
    assert again.notes_ == {"unit": "mm"}
    assert clone(again).get_params() == {**model.get_params(), "progress": None, "degrees": [0, 1]}
    other = next(n for n in NAMES if n != name)
    with pytest.raises(ValueError, match=f"holds a saved {name}, not a saved {other}"):
        getattr(baselines, other).load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"cannot be loaded|not a whole model|holds a"):
        hf.HFSClassifier.load(tmp_path / "model")


FORGERIES = {
    "child beyond the tree": put("left", 0, 10**9),
    "child that is its own parent": put("left", 0, 0),
    "right child before": put("right", 0, -1),
    "feature beyond": put("feature", 0, 10**6),
    "negative feature": put("feature", 0, -5),
    "threshold that is no number": put("threshold", 0, np.nan),
    "start beyond": put("starts", 1, 10**7),
    "last start beyond": put("starts", -1, 10**7),
    "types": lambda _f, t: t.update(left=t["left"].astype(np.int64)),
    "a tensor missing": lambda _f, t: t.pop("right"),
    "lengths": lambda _f, t: t.update(right=t["right"][:-1]),
    "one tree less": lambda _f, t: t.update(starts=t["starts"][:-1]),
    "base of other classes": lambda _f, t: t.update(base=np.zeros(3)),
    "classes": said("classes", "values", value=["ball", "ball"]),
    "class type": said("classes", "dtype", value="O"),
    "resolution": said("params", "resolution", value=4),
    "huge resolution": said("params", "resolution", value=10**9),
    "resolution of a word": said("params", "resolution", value="8"),
    "bandwidth": said("frame", "bandwidth", value=-1.0),
    "frame without a number": said("frame", "max_radius", value=None),
    "frame of another complex": said("frame", "kind", value="rips"),
    "dimension": said("frame", "dimension", value=1),
    "unknown parameter": said("params", "gamma", value=1),
    "no frame": lambda f, _t: f.pop("frame"),
    "notes": said("notes", value=3),
    "range": said("input_range", value={"radius": [0.0]}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted("MPSignedMeasure")[0].save(folder)
    return folder


@pytest.mark.parametrize("kind", FORGERIES)
def test_forged_model_is_a_value_error(kind, saved, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(saved, folder)
    baselines.MPSignedMeasure.load(folder)
    forged(folder, FORGERIES[kind])
    with pytest.raises(hf.ReadError, match=r"model: (cannot be loaded|not a whole model|holds a)"):
        baselines.MPSignedMeasure.load(folder)
