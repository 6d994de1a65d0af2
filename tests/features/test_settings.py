"""Options of features: checked in one place, with one message, whoever asks."""

import json
import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.features.layout import DescriptorSettings
from heatfield.features.points import PointSettings, point_table
from heatfield.scales import SignatureSettings
from tests.helpers.estimator_checks import some_clouds

CLOUD = np.random.default_rng(0).normal(size=(12, 2))


def descriptor(**options):
    hf.HFSDescriptor("simple", **options).fit([CLOUD])


def classifier(**options):
    hf.HFSClassifier("simple", head="lda", **options).fit([CLOUD] * 4, [0, 1, 0, 1])


def points(**options):
    PointSettings(2, **options)


def signatures(**options):
    hf.signatures(CLOUD, **options)


WRONG = [
    ({"n_scales": 1}, "n_scales must be an integer of at least 2, got 1"),
    ({"c_min": 0.3}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.3 and 0.25"),
    ({"transition": "slow"}, "transition must be one of 'difference', 'exact', got 'slow'"),
    ({"method": "quick"}, "method must be one of 'auto', 'dense', 'fast', got 'quick'"),
    ({"tol": 2.0}, "tol must be a number above 0 and below 1, got 2.0"),
    ({"tol": 1e-9, "dtype": "float32"}, "tol=1e-09 is out of reach in float32: at least 1e-05"),
    ({"dtype": "float16"}, "dtype must be 'float64' or 'float32', got 'float16'"),
    ({"n_jobs": 0}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 0"),
    ({"hds_centers": [np.nan]}, "hds_centers must be a list of finite numbers, got [nan]"),
    ({"hds_sigma": 0.0}, "hds_sigma must be a number above 0, got 0.0"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=lambda value: str(value)[:30])
def test_one_message_for_all(options, message):
    askers = [signatures, descriptor, points]
    if "hds" not in str(options):  # no options of the classifier
        askers.append(classifier)
    for ask in askers:
        with pytest.raises(ValueError, match=re.escape(message)):
            ask(**options)


def test_transition_of_its_own():
    assert DescriptorSettings(3, variant="desc", transition=None).transition == "difference"
    assert DescriptorSettings(3, variant="joint", transition=None).exact
    assert not DescriptorSettings(3, variant="joint", transition="difference").exact
    assert PointSettings(3, transition=None).transition == "difference"
    found, paper = (hf.signatures(CLOUD, transition=asked).transition for asked in (None, "difference"))
    np.testing.assert_array_equal(found, paper)


def test_equal_where_the_numbers_are():
    """Threads change no number; a tolerance does, and so does another kind of features."""
    one = PointSettings(3, ["hds", "density"], n_jobs=1)
    assert one == PointSettings(3, ("density", "hds"), n_jobs=2, dtype=np.float64)
    assert hash(one) == hash(PointSettings(3, ("density", "hds"), n_jobs=2))
    assert one != PointSettings(3, ["hds", "density"], tol=1e-7)
    assert one != PointSettings(2, ["hds", "density"])
    assert SignatureSettings(3) != PointSettings(3)


def test_features_kept_by_earlier_versions_are_still_found():
    """The name of a kept table, and the fingerprint of a training, are made of exactly this text."""
    text = json.dumps(PointSettings(3, ["density", "hds"], n_jobs=4).identity(), sort_keys=True)
    assert text == (
        '{"blocks": ["hds", "density"], "c_max": 0.25, "c_min": 0.05, "dtype": "float64", '
        '"isolated": "keep", "method": "auto", "n_dims": 3, "n_scales": 8, "tol": null, '
        '"transition": "difference"}'
    )
    assert "gradient" in PointSettings(3, ["gradient"]).identity()  # whose numbers have changed
    assert PointSettings(3, hds_sigma=0.4).identity()["hds_sigma"] == 0.4


def test_centres_of_the_heat_dimension_spectrum_reach_point_features():
    settings = PointSettings(2, ["hds", "density"], n_scales=3, hds_centers=[0.5, 1.5], hds_sigma=0.3)
    table = point_table([CLOUD], settings)
    s = hf.signatures(CLOUD, n_scales=3, hds_centers=[0.5, 1.5], hds_sigma=0.3)
    wanted = np.concatenate([s.hds.composition.T.ravel(), s.hds.contrast.T.ravel()])
    np.testing.assert_array_equal(table.whole[0], wanted)
    assert table.recipe.whole_names[:3] == tuple(f"hds_composition_d0.5_s{a}" for a in range(3))


@pytest.mark.parametrize("method", ["auto", "fast"])
def test_large_clouds_get_all_threads(method, monkeypatch):
    """One after the other; small ones, of which each takes one thread, go side by side, or in batches."""
    from heatfield.features import describe
    from heatfield.features import points as tables

    seen = []

    def watched(real):
        def call(points, settings, *rest):
            seen.append(rest[-1])
            return real(points, settings, *rest)

        return call

    monkeypatch.setattr(tables, "features_of", watched(tables.features_of))
    monkeypatch.setattr(describe, "_describe_one", watched(describe._describe_one))
    clouds, _ = some_clouds(3)
    point_table(clouds, PointSettings(3, ["dimension"], n_scales=3, method=method), n_jobs=2)
    hf.HFSDescriptor("simple", n_scales=3, method=method, n_jobs=2).fit_transform(clouds)
    assert seen == (6 * [2] if method == "fast" else 3 * [1])


def test_threads_change_no_bit_of_a_large_cloud():
    cloud = np.random.default_rng(1).normal(size=(700, 2))
    settings = PointSettings(2, ["log_density", "gradient", "neighbourhood"], n_scales=4, method="fast")
    one, two = (point_table([cloud], settings, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.rows, two.rows)
