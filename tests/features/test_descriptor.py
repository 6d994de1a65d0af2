"""HFSDescriptor: the numbers, their names, and how it behaves in scikit-learn."""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import heatfield as hf
from heatfield._base.check import as_points
from heatfield.features.blocks import BEYOND_PAPER
from heatfield.features.layout import SCHEMA, VARIANT_BLOCKS
from heatfield.models.read_out import RoundOffScaler, magnitudes
from tests.helpers import reference, reference_joint
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import CLOUDS, cloud, rotation
from tests.helpers.estimator_checks import CHECKS, some_clouds

GOLDEN = Path(__file__).parents[1] / "golden" / f"descriptor_schema{SCHEMA}.json"
VARIANTS = tuple(VARIANT_BLOCKS)


def describe(points, variant, **options):
    descriptor = hf.HFSDescriptor(variant, **options)
    return descriptor.fit_transform([points])[0], descriptor.layout()


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("variant", VARIANTS)
def test_estimator_check(check, variant):
    check(hf.HFSDescriptor(variant))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("variant", ["simple", "desc"])
def test_agrees_with_the_reference(variant, name, n):
    # In extreme units the squares of densities leave the range of float64, and with them the reference.
    points = cloud(name, n) * {"tiny": 1e30, "huge": 1e-30}.get(name, 1.0)
    found, columns = describe(points, variant)
    expected = reference.descriptor(points, variant)
    # Times of the two differ in the last digits, and a dimension of 1e-100 by 230 times that.
    floor = magnitudes(columns)
    floor[columns.columns["dimension"]] = 1e-3
    assert_agree(found, expected, 1e-12, floor=floor, what=f"{variant} {name} {n}")


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CLOUDS)
def test_joint_and_oriented_agree_with_the_reference(name, n):
    points = cloud(name, n)
    found, columns = describe(points, "oriented")
    expected = reference_joint.descriptor(points, "oriented")
    # Correlations of channels that hardly vary, and square roots of variances, have
    # lost digits before anybody compares them (measured: up to 1e-11).
    assert_agree(found, expected, 1e-10, floor=1.0, what=f"{name} {n}")
    joint, _ = describe(points, "joint")
    np.testing.assert_array_equal(found[: columns.columns["orientation"].start], joint)


@pytest.mark.parametrize("n", [2, 3])
def test_orientation_agrees_with_the_reference(n):
    points = cloud("clusters", n, 300)
    found, _ = describe(points, "oriented", blocks=["orientation"])
    kept = points[~reference_joint.isolated(points)]
    expected = reference_joint.orientation(kept, reference.scale_schedule(kept, 8))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_no_direction_is_nan():
    """At the corners of a square both axes are alike."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found, columns = describe(square, "oriented", blocks=["orientation"])
    expected = reference_joint.orientation(square, reference.scale_schedule(square, 8))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert np.isnan(found[columns.names.index("orientation_agreement_s0_s0")])


@pytest.mark.parametrize("name", ["sphere", "curve", "ball", "clusters"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_float32(variant, name):
    points = cloud(name, 3)
    exact, columns = describe(points, variant)
    single, _ = describe(points, variant, dtype="float32")
    floor = np.maximum(magnitudes(columns), 1e-3)
    assert_agree(single, exact, 1e-3 if variant in BEYOND_PAPER else 1e-4, floor=floor, what=name)


@pytest.mark.parametrize("motion", ["rotation", "reflection", "translation", "map", "permutation"])
@pytest.mark.parametrize("name", ["sphere", "curve", "ball", "clusters", "duplicates"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_invariance(variant, name, motion):
    points = np.round(cloud(name, 3) * 2.0**20) / 2.0**20  # so that adding 5e6 rounds nothing
    rng = np.random.default_rng(5)
    turn = rotation(3)
    moved = {
        "rotation": points @ turn.T,
        "reflection": points * [1.0, -1.0, 1.0] @ turn.T,
        "translation": points + rng.normal(size=3),
        "map": points + 5e6,
        "permutation": rng.permutation(points),
    }[motion]
    here, _ = describe(points, variant)
    there, _ = describe(moved, variant)
    assert (np.isnan(here) == np.isnan(there)).all()
    finite = np.isfinite(here)
    deviation = np.linalg.norm(here[finite] - there[finite]) / np.linalg.norm(here[finite])
    assert deviation <= 1e-10


@pytest.mark.parametrize(
    ("variant", "n", "width"),
    [
        ("simple", 3, 216),
        ("desc", 3, 336),
        ("joint", 3, 744),
        ("oriented", 3, 1068),
        ("simple", 2, 200),
        ("desc", 2, 280),
        ("joint", 2, 601),
        ("oriented", 2, 917),
    ],
)
def test_width(variant, n, width):
    points = cloud("ball", n)
    descriptor = hf.HFSDescriptor(variant, n_dims=n)
    names = descriptor.get_feature_names_out()
    assert len(set(names)) == len(names) == width
    assert descriptor.fit_transform([points]).shape == (1, width)
    assert (descriptor.get_feature_names_out() == names).all()


def test_every_row_of_the_ablation_table():
    """Dimensions of the paper's component ablation in space."""
    points = cloud("ball", 3)
    whole, columns = describe(points, "desc")
    widths = {"global": 32, "hds": 64, "density": 40, "dimension": 40, "transition": 40, "spectrum": 120}
    for block, width in widths.items():
        alone, _ = describe(points, "desc", blocks=(block,))
        assert alone.shape == (width,)
        np.testing.assert_array_equal(alone, whole[columns.columns[block]])
        without, _ = describe(points, "desc", blocks=[b for b in widths if b != block])
        assert without.shape == (336 - width,)
    assert describe(points, "desc", blocks=("global", "hds"))[0].shape == (96,)
    simple, _ = describe(points, "simple")
    np.testing.assert_array_equal(describe(points, "desc", blocks=list(widths)[:-1])[0], simple)


def test_simple_does_not_pay_for_the_spectrum(monkeypatch):
    from heatfield.features import describe as module

    asked = []
    original = module.dense_sums
    monkeypatch.setattr(module, "dense_sums", lambda *a: (asked.append(a[2].directions), original(*a))[1])
    describe(cloud("ball", 3), "simple")
    describe(cloud("ball", 3), "desc", blocks=("hds", "dimension"))
    describe(cloud("ball", 3), "desc")
    assert asked == [False, False, True]


def test_golden():
    """Names, order and values are frozen; tools/write_golden.py writes the file of a new schema."""
    golden = json.loads(GOLDEN.read_text())
    points = np.array(golden["points"])
    for variant, frozen in golden["variants"].items():
        found, columns = describe(points, variant)
        assert list(columns.names) == frozen["names"]
        np.testing.assert_allclose(found, frozen["values"], rtol=1e-9, atol=1e-12)


def test_other_schedules_and_transitions():
    points = cloud("curve", 3)
    for options in ({"n_scales": 5}, {"c_min": 0.1, "c_max": 0.5}, {"transition": "exact"}):
        found, _ = describe(points, "desc", **options)
        assert_agree(found, reference.descriptor(points, "desc", **options), 1e-11, floor=1e-3)
    own, columns = describe(points, "desc", hds_centers=[0.5, 1.5], hds_sigma=0.2)
    assert own.shape == (304,)
    assert "hds_contrast_d1.5_s7" in columns.names


def test_clouds_without_two_places():
    clouds = [cloud("ball", 3), np.zeros((5, 3)), np.empty((0, 3)), np.ones((1, 3)), cloud("ball", 3)]
    message = (
        "3 of 5 clouds have fewer than two distinct points, so their descriptors are NaN: clouds 1, 2, 3"
    )
    with pytest.warns(hf.HeatFieldWarning, match=re.escape(message)):
        rows = hf.HFSDescriptor().fit_transform(clouds)
    assert (np.isnan(rows).all(axis=1) == [False, True, True, True, False]).all()
    np.testing.assert_array_equal(rows[0], rows[4])


def test_two_points_and_a_line_are_defined():
    rows = hf.HFSDescriptor("desc").fit_transform([[[0.0, 0, 0], [1, 0, 0]], cloud("collinear", 3)])
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "full"}, "variant must be one of 'simple', 'desc', 'joint', 'oriented', got 'full'"),
        ({"n_scales": 1}, "n_scales must be an integer of at least 2, got 1"),
        ({"c_min": 0.5}, "c_min and c_max must satisfy 0 < c_min < c_max, got 0.5 and 0.25"),
        ({"transition": "slope"}, "transition must be one of 'difference', 'exact', got 'slope'"),
        ({"blocks": "hds"}, "blocks must be a sequence of names, got the string 'hds'; pass ('hds',)"),
        (
            {"variant": "simple", "blocks": ("spectrum",)},
            "blocks must be some of 'global', 'hds', 'density', 'dimension', 'transition' "
            "for variant='simple', got ('spectrum',)",
        ),
        ({"n_dims": 2}, "clouds[0] has 3 coordinates per point, but n_dims=2 was asked for"),
        ({"dtype": "float16"}, "dtype must be 'float64' or 'float32', got 'float16'"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer, -1 for all cores, or None for one, got 0"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        hf.HFSDescriptor(**options).fit([cloud("ball", 3)])


def test_pandas_output():
    clouds, _ = some_clouds()
    table = hf.HFSDescriptor("simple").set_output(transform="pandas").fit_transform(clouds)
    assert isinstance(table, pd.DataFrame)
    assert table.shape == (12, 216)
    assert table.columns[-1] == "transition_p90_s7"


def test_in_pipelines_and_searches():
    clouds, labels = some_clouds(24)
    model = make_pipeline(
        hf.HFSDescriptor("simple", n_scales=4), RoundOffScaler(), LogisticRegression(max_iter=5000)
    )
    assert cross_val_score(model, clouds, labels, cv=3).mean() > 0.9
    search = GridSearchCV(model, {"hfsdescriptor__n_scales": [3, 4]}, cv=2).fit(clouds, labels)
    assert pickle.loads(pickle.dumps(search)).predict(clouds).tolist() == search.predict(clouds).tolist()


def test_tiny_units_do_not_overflow():
    points = cloud("curve", 3)
    small, columns = describe(points * 2.0**-160, "desc")
    large, _ = describe(points, "desc")
    assert np.isfinite(small).all()
    density = columns.columns["density"]
    np.testing.assert_allclose(small[density], large[density] * 2.0**480, rtol=1e-12)


@pytest.fixture
def checks(monkeypatch):
    """Which clouds `as_clouds` has looked at, by name, in their order."""
    seen = []

    def counted(points, name="points"):
        seen.append(name)
        return as_points(points, name)

    monkeypatch.setattr("heatfield._base.check.as_points", counted)
    return seen


def test_every_cloud_is_checked_once(checks):
    clouds = [np.random.default_rng(i).normal(size=(9, 2)) for i in range(4)]
    names = [f"clouds[{i}]" for i in range(4)]
    descriptor = hf.HFSDescriptor("simple", n_scales=3)
    descriptor.fit_transform(clouds)
    assert checks == names
    descriptor.transform(clouds)
    assert checks == 2 * names


@pytest.mark.parametrize("variant", ["simple", "full"])
def test_the_classifier_checks_every_cloud_once(variant, checks):
    clouds = [np.random.default_rng(i).normal(size=(9, 2)) for i in range(4)]
    names = [f"clouds[{i}]" for i in range(4)]
    if variant == "full":
        pytest.importorskip("torch")
        model = hf.HFSNetworkClassifier(variant, n_scales=3, epochs=1, device="cpu")
    else:
        model = hf.HFSClassifier(variant, n_scales=3, head="lda")
    model.fit(clouds, [0, 1, 0, 1])
    assert checks == names
    for ask in (model.predict, model.predict_proba):
        checks.clear()
        ask(clouds)
        assert checks == names


# --- lengths that clouds share -------------------------------------------------------


def clouds_of_sizes():
    rng = np.random.default_rng(0)
    return [size * rng.normal(size=(40, 3)) for size in (1.0, 1.1, 0.9, 1.2, 50.0)]


def test_shared_lengths_are_medians_of_own_ends():
    clouds = clouds_of_sizes()
    descriptor = hf.HFSDescriptor("desc", n_scales=5, lengths="shared").fit(clouds)
    own = np.sqrt([hf.scale_schedule(cloud, 5)[[0, -1]] for cloud in clouds])
    low, high = np.median(own, axis=0)
    np.testing.assert_allclose(descriptor.lengths_, np.geomspace(low, high, 5), rtol=1e-12)
    given = hf.HFSDescriptor("desc", lengths=descriptor.lengths_).fit(clouds)
    np.testing.assert_array_equal(descriptor.transform(clouds), given.transform(clouds))
    np.testing.assert_array_equal(
        hf.describe(clouds, "desc", n_scales=5, lengths="shared"), given.transform(clouds)
    )


def test_shared_lengths_need_a_cloud():
    with pytest.raises(ValueError, match="none has two distinct points"):
        hf.HFSDescriptor("desc", lengths="shared").fit([np.zeros((3, 3))])
    with pytest.raises(ValueError, match="lengths must be 'shared' or a list of positive numbers, got 'own'"):
        hf.describe(clouds_of_sizes(), lengths="own")
