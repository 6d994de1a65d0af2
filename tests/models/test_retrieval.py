"""Exact neighbours and retrieval scores beside a few lines of plain NumPy."""

import numpy as np
import pytest

from heatfield.models.retrieval import across_folds, fit_space, leave_one_out, nearest


def plain_nearest(queries, rows, k):
    table = ((queries[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(axis=2)
    order = np.argsort(table, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(table, order, axis=1)


def plain_scores(vectors, labels):
    """Precision and recall written out: nearest, tiers, average precision, precision at 10."""
    out = []
    for i in range(len(vectors)):
        others = [j for j in range(len(vectors)) if j != i]
        others.sort(key=lambda j: (((vectors[i] - vectors[j]) ** 2).sum(), j))
        same = [labels[j] == labels[i] for j in others]
        count = sum(same)
        if count == 0:
            continue
        average = sum(sum(same[: r + 1]) / (r + 1) for r, hit in enumerate(same) if hit) / count
        out.append(
            (same[0], sum(same[:count]) / count, sum(same[: 2 * count]) / count, average, sum(same[:10]) / 10)
        )
    return np.mean(out, axis=0)


@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_nearest_is_exact_where_the_product_cancels(far, k):
    rng = np.random.default_rng(0)
    # Rows that differ in the last digits of what a product in single precision can hold.
    rows = (far + 0.01 * rng.normal(size=(60, 40))).astype(np.float32)
    rows[7] = rows[3]  # equal ones come in their order
    queries = np.concatenate([rows[:5], (far + 0.01 * rng.normal(size=(4, 40))).astype(np.float32)])
    found, squared = nearest(queries, rows, k)
    expected, exact = plain_nearest(queries, rows, k)
    assert np.array_equal(found, expected)
    np.testing.assert_allclose(squared, exact, rtol=1e-12, atol=0)


def test_scores_equal_the_plain_ones():
    rng = np.random.default_rng(1)
    labels = np.array(["a"] * 12 + ["b"] * 5 + ["c"] * 8 + ["alone"])
    vectors = rng.normal(size=(26, 4)) + (labels == "a")[:, None]
    scores = leave_one_out(vectors, labels)
    found = (
        scores.nearest,
        scores.first_tier,
        scores.second_tier,
        scores.mean_average_precision,
        scores.precision_at_10,
    )
    np.testing.assert_allclose(found, plain_scores(vectors, labels), rtol=1e-12)
    assert (scores.queries, scores.skipped) == (25, 1)
    assert set(scores.by_class) == {"a", "b", "c"}
    assert "25 clouds" in str(scores)


def test_folds_hide_the_sought_from_learning():
    """With labels by chance, a space fitted on all rows seems good; across folds it must be at chance."""
    rng = np.random.default_rng(2)
    features, labels = rng.normal(size=(120, 100)), np.repeat([0, 1, 2], 40)
    cheating = leave_one_out(fit_space(features, labels, "learned", 0).embed(features), labels)
    honest = across_folds(features, labels, lambda x, y: fit_space(x, y, "learned", 0).embed, 5, 0)
    assert cheating.nearest > 0.6
    # 120 queries at 1/3: five standard deviations are 0.215.
    assert abs(honest.nearest - 1 / 3) < 0.215
    assert honest.queries == 120


def test_discriminants_have_unit_variance_within_classes():
    """Two classes that differ along one noisy axis only: the one discriminant is that axis, whitened."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(4000, 5)) * [1, 20, 3, 1, 1]
    labels = np.repeat([0, 1], 2000)
    features[:, 2] += 9 * labels
    features[:, 4] = 7.0  # constant: it must not matter
    vectors = fit_space(features, labels, "learned", 0).embed(features)
    assert vectors.shape == (4000, 1)
    assert abs(vectors[labels == 0].std() - 1) < 0.05
    assert abs(abs(vectors[labels == 1].mean() - vectors[labels == 0].mean()) - 3) < 0.1


@pytest.mark.parametrize("k", [1, 3, 8])
def test_of_many_equal_rows_the_first_are_found(k):
    rows = np.ones((50, 6), dtype=np.float32)
    rows[::5] = 0.0
    assert nearest(rows[:1], rows, k)[0].tolist() == [list(range(0, 5 * k, 5))]


def test_beyond_single_precision_rows_stay_distinct_and_ordered():
    space = fit_space(np.array([[1.0, 5.0], [2.0, 7.0]]), None, "euclidean", 0)
    sizes = np.array([0.0, 1e9, 1e11, 1e13, 1e20, 1e21, 1e60, 1e308])
    rows = space.standardise(np.stack([sizes, -sizes], axis=1))
    assert np.isfinite(np.einsum("ij,ij->i", rows, rows)).all()
    assert (np.diff(rows[:, 0]) > 0).all()
    assert (np.diff(rows[:, 1]) < 0).all()


def test_features_without_a_deviation_are_refused():
    with pytest.raises(ValueError, match=r"features must be below 1e150 in size, got 1e\+200"):
        fit_space(np.array([[1e200], [1.0]]), None, "euclidean", 0)


def test_nothing_to_evaluate():
    with pytest.raises(ValueError, match="no cloud shares its class"):
        leave_one_out(np.eye(3), np.array(["a", "b", "c"]))
