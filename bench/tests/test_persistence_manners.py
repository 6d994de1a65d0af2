"""What the classifiers by multiparameter persistence owe their users: checks and errors."""

import sys

import numpy as np
import pytest

from tests.helpers.estimator_checks import CHECKS, some_clouds

pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")
pytest.importorskip("xgboost", reason="needs xgboost: pip install 'heatfield-bench[persistence]'")

from heatfield_bench import baselines
from heatfield_bench.baselines import bifiltration

SMALL = {"resolution": 5, "n_estimators": 4, "random_state": 0, "progress": False}
NAMES = ["MPSignedMeasure", "MPLandscape", "MPImage", "GRIL"]


def small(name):
    if name == "MPImage":
        pytest.importorskip("multipers", reason="needs multipers: pip install 'heatfield-bench[persistence]'")
    return getattr(baselines, name)(**SMALL)


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
        ({"degrees": (0, 3)}, r"degrees must be some of 0, 1 and 2, each once, got \(0, 3\)"),
        ({"degrees": ()}, "degrees must be some of"),
        ({"degrees": 1}, "degrees must be some of"),
        ({"bandwidth": 0.0}, "bandwidth must be a number above 0, got 0.0"),
        ({"max_radius": "far"}, "max_radius must be a number above 0, got 'far'"),
        ({"resolution": 1}, "resolution must be an integer of at least 2, got 1"),
        ({"resolution": 5000}, "features per cloud, at most 1000000: lower resolution"),
        ({"smoothing": -1.0}, "smoothing must be a number above 0, got -1.0"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1, got 0"),
        ({"random_state": "x"}, "random_state must be an integer of at least 0, got 'x'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        small("MPSignedMeasure").set_params(**options).fit(*some_clouds())


def test_four_coordinates_are_refused():
    clouds, labels = some_clouds(n=4)
    with pytest.raises(ValueError, match="MPSignedMeasure is for points of up to 3 coordinates, got 4"):
        small("MPSignedMeasure").fit(clouds, labels)


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
    monkeypatch.setattr(bifiltration, "MOST_BYTES", 100_000)
    with pytest.raises(ValueError, match=r"clouds\[3\] has \d+ simplices .* sample it to fewer points"):
        small("MPSignedMeasure").fit(clouds, labels)


@pytest.mark.parametrize(
    ("name", "library"), [("MPSignedMeasure", "gudhi"), ("MPImage", "multipers"), ("MPLandscape", "xgboost")]
)
def test_missing_extra_is_one_sentence(name, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, f"{library}.simplex_tree_multi", None)
    with pytest.raises(ImportError, match=rf"needs {library}: pip install 'heatfield-bench\[persistence\]'$"):
        getattr(baselines, name)(**SMALL).fit(*some_clouds())
