"""Scale schedules of a cloud and of each point, and lengths in the unit of the data."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.scales import SignatureSettings
from tests.helpers import reference
from tests.helpers.agreement import assert_agree
from tests.helpers.clouds import CLOUDS, cloud

everywhere = pytest.mark.parametrize("n", [1, 2, 3, 5])
LENGTHS = [0.3, 0.7, 1.5]


@everywhere
@pytest.mark.parametrize("name", CLOUDS)
def test_schedules_are_those_of_the_reference(name, n):
    points = cloud(name, n)
    assert_agree(hf.scale_schedule(points), reference.scale_schedule(points), 1e-13)
    expected = reference.scale_schedule(points, 3, 0.2, 0.6)
    assert_agree(hf.scale_schedule(points, 3, c_min=0.2, c_max=0.6), expected, 1e-13)
    if name != "duplicates" and (name, n) != ("sphere", 1):  # copies: no distance to the k-th neighbour
        assert_agree(hf.adaptive_scales(points), reference.adaptive_scales(points), 1e-14)
        expected = reference.adaptive_scales(points, 3, 5, 0.1, 2.0)
        assert_agree(hf.adaptive_scales(points, 3, k=5, multipliers=(0.1, 2.0)), expected, 1e-14)


@pytest.mark.parametrize("n_scales", [2, 8, 50])
def test_schedule_is_geometric_between_its_ends(n_scales):
    scales = hf.scale_schedule([[0, 0], [3, 0], [0, 4]], n_scales)
    assert scales.shape == (n_scales,)
    assert_agree(scales[[0, -1]], [0.05 * (10 / 3) ** 2, 0.25 * 25], 1e-15)  # r_nn = (3 + 3 + 4) / 3
    ratios = scales[1:] / scales[:-1]
    assert ratios[0] > 1
    assert_agree(ratios, np.full(n_scales - 1, ratios[0]), 1e-13)


@everywhere
def test_schedule_counts_each_place_once(n):
    points = cloud("ball", n)
    copies = np.random.default_rng(3).integers(1, 30, len(points))
    assert_agree(hf.scale_schedule(np.repeat(points, copies, axis=0)), hf.scale_schedule(points), 1e-12)


def test_negative_zero_is_zero():
    one = hf.scale_schedule([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    two = hf.scale_schedule([[0.0, -0.0], [-0.0, 0.0], [1.0, 0.0], [3.0, -0.0]])
    assert_agree(two, one, 1e-15)


@pytest.mark.parametrize("m", [0, 1, 7])
def test_fewer_than_two_places_have_no_schedule(m):
    with pytest.warns(hf.HeatFieldWarning):
        scales = hf.scale_schedule(np.full((m, 2), 3.0), 4)
    np.testing.assert_array_equal(scales, np.full(4, np.nan))


def test_adaptive_scales_count_copies_as_neighbours():
    points = [[0.0], [0.0], [1.0], [3.0]]
    found = hf.adaptive_scales(points, 2, k=2, multipliers=(1, 2))
    np.testing.assert_allclose(found, [[1, 2], [1, 2], [1, 2], [9, 18]], rtol=1e-15)
    points = cloud("ball", 2, m=20)  # and the farthest point is one
    assert_agree(hf.adaptive_scales(points, k=19), reference.adaptive_scales(points, k=19), 1e-14)


# --- lengths -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(3)
    return [rng.normal(size=(m, 3)) * scale for m, scale in ((50, 1.0), (70, 3.0), (40, 0.5)) for _ in (0, 1)]


def test_lengths_are_roots_of_the_scales(clouds):
    s = hf.signatures(clouds[0], lengths=LENGTHS)
    np.testing.assert_array_equal(s.scales, np.square(LENGTHS))
    np.testing.assert_allclose(s.lengths, LENGTHS, rtol=1e-15)
    expected = hf.signatures(clouds[0], np.square(LENGTHS))
    np.testing.assert_array_equal(s.per_point(), expected.per_point())
    assert hf.signatures(clouds[0], lengths=[0.5], transition="exact").dimension.shape == (50, 1)
    names = hf.HFSDescriptor("desc", lengths=LENGTHS).get_feature_names_out().tolist()
    assert names == hf.HFSDescriptor("desc", n_scales=3).get_feature_names_out().tolist()


@pytest.mark.parametrize("variant", ["simple", "desc", "joint"])
def test_columns_mean_the_same_in_all_clouds(clouds, variant):
    """A cloud twice as large has other numbers at the same lengths, and the same at twice the lengths."""
    descriptor = hf.HFSDescriptor(variant, lengths=LENGTHS, blocks=("dimension",))
    one = descriptor.fit_transform([clouds[0]])
    s = hf.signatures(clouds[0], lengths=LENGTHS)
    column = descriptor.get_feature_names_out().tolist().index("dimension_mean_s2")
    assert one[0, column] == pytest.approx(s.dimension[:, 2].mean(), rel=1e-12)
    twice = hf.HFSDescriptor(variant, lengths=[2 * v for v in LENGTHS], blocks=("dimension",))
    np.testing.assert_allclose(twice.fit_transform([2.0 * clouds[0]]), one, rtol=1e-12)
    assert np.abs(descriptor.transform([2.0 * clouds[0]]) - one).max() > 0.05
    # Schedules of their own do not tell the two clouds apart.
    own = hf.HFSDescriptor(variant, blocks=("dimension",)).fit_transform([clouds[0], 2.0 * clouds[0]])
    np.testing.assert_allclose(own[0], own[1], rtol=1e-10)


def test_models_keep_their_lengths(clouds, tmp_path):
    model = hf.HFSClassifier("simple", head="lda", lengths=LENGTHS).fit(
        clouds, ["a", "a", "b", "b", "c", "c"]
    )
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    assert list(again.lengths) == LENGTHS
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    pytest.importorskip("torch")
    table = hf.HFSNetworkClassifier("full", lengths=LENGTHS, blocks=("dimension",)).point_table(clouds[:1])
    s = hf.signatures(clouds[0], lengths=LENGTHS)
    np.testing.assert_allclose(table.rows * table.unit + table.shift, s.dimension, rtol=1e-5)


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([0.1, -1], "positive numbers, got"),
        ([0.1, float("nan")], "positive numbers, got"),
        ("0.1,0.2", "positive numbers, got '0.1,0.2'"),
        ([[0.1, 0.2]], "positive numbers"),
        ([0.5, 0.2], r"increase, got \[0.5, 0.2\]"),
        ([0.5], "at least 2"),
        ([], "at least 2"),
        ([1e-200, 1.0], "between 1e-140"),
    ],
)
def test_wrong_lengths_are_named(lengths, words):
    with pytest.raises(ValueError, match=f"lengths must.*{words}"):
        SignatureSettings(3, lengths=lengths)


def test_scales_and_lengths_do_not_go_together(clouds):
    with pytest.raises(ValueError, match="scales or lengths, not both"):
        hf.signatures(clouds[0], [1.0, 2.0], lengths=[1.0, 2.0])


def test_settings_without_lengths_keep_their_identity():
    assert "lengths" not in SignatureSettings(3).identity()
    assert SignatureSettings(3, lengths=(1, 2)).identity()["lengths"] == (1.0, 2.0)
