"""Lengths in the unit of the data instead of a schedule of each cloud's own."""

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.check import as_lengths
from heatfield.scales import SignatureSettings

LENGTHS = [0.3, 0.7, 1.5]


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


def test_a_single_length_is_for_the_exact_transition(clouds):
    assert hf.signatures(clouds[0], lengths=[0.5], transition="exact").dimension.shape == (50, 1)
    with pytest.raises(ValueError, match="at least 2 times"):
        hf.signatures(clouds[0], lengths=[0.5])


@pytest.mark.parametrize("variant", ["simple", "desc", "joint"])
def test_columns_mean_the_same_in_all_clouds(clouds, variant):
    """A cloud twice as large has other numbers at the same lengths, and the same at twice the lengths."""
    descriptor = hf.HFSDescriptor(variant, lengths=LENGTHS, blocks=("dimension",))
    one = descriptor.fit_transform([clouds[0]])
    twice = hf.HFSDescriptor(variant, lengths=[2 * v for v in LENGTHS], blocks=("dimension",))
    np.testing.assert_allclose(twice.fit_transform([2.0 * clouds[0]]), one, rtol=1e-12)
    assert np.abs(descriptor.transform([2.0 * clouds[0]]) - one).max() > 0.05
    # Schedules of their own do not tell the two clouds apart.
    own = hf.HFSDescriptor(variant, blocks=("dimension",)).fit_transform([clouds[0], 2.0 * clouds[0]])
    np.testing.assert_allclose(own[0], own[1], rtol=1e-10)


def test_the_descriptor_has_a_block_per_length(clouds):
    names = hf.HFSDescriptor("desc", lengths=LENGTHS).get_feature_names_out().tolist()
    assert names == hf.HFSDescriptor("desc", n_scales=3).get_feature_names_out().tolist()
    row = hf.HFSDescriptor("desc", lengths=LENGTHS).fit_transform(clouds[:1])[0]
    s = hf.signatures(clouds[0], lengths=LENGTHS)
    assert row[names.index("dimension_mean_s2")] == pytest.approx(s.dimension[:, 2].mean(), rel=1e-12)


def test_the_classifier_keeps_its_lengths(clouds, tmp_path):
    labels = ["a", "a", "b", "b", "c", "c"]
    model = hf.HFSClassifier("simple", head="lda", lengths=LENGTHS).fit(clouds, labels)
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    assert list(again.lengths) == LENGTHS
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))


def test_learned_variants_take_lengths(clouds):
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
def test_wrong_lengths(lengths, words):
    with pytest.raises(ValueError, match=f"lengths must.*{words}"):
        SignatureSettings(3, lengths=lengths)


def test_scales_and_lengths_do_not_go_together(clouds):
    with pytest.raises(ValueError, match="scales or lengths, not both"):
        hf.signatures(clouds[0], [1.0, 2.0], lengths=[1.0, 2.0])


def test_identity_without_lengths_is_as_before():
    assert "lengths" not in SignatureSettings(3).identity()
    assert SignatureSettings(3, lengths=(1, 2)).identity()["lengths"] == (1.0, 2.0)
    assert SignatureSettings(3, lengths=(1, 2)) != SignatureSettings(3, n_scales=2)
    assert as_lengths(None) is None
