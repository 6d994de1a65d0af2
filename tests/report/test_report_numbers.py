"""The numbers behind a report: neighbours, outliers, accuracy and what it rests on."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.models.index import sketch
from heatfield.report._collection import Collection, make_map, separate
from heatfield.report._page import report_page


def circles_and_blobs(count=12, seed=0):
    """Two classes that differ in dimension."""
    rng = np.random.default_rng(seed)
    clouds, labels = [], []
    for k in range(count):
        angle = rng.uniform(0, 2 * np.pi, 120)
        circle = np.c_[np.cos(angle), np.sin(angle)] + 0.01 * rng.normal(size=(120, 2))
        clouds.append(circle if k % 2 else rng.normal(size=(120, 2)))
        labels.append("circle" if k % 2 else "blob")
    return clouds, labels


def collection(clouds, labels, **more):
    descriptor = hf.HFSDescriptor("desc", n_dims=clouds[0].shape[1])
    return Collection(
        name="test",
        files=[f"{i:02d}.npy" for i in range(len(clouds))],
        points=np.array([len(c) for c in clouds]),
        features=hf.HFSDescriptor("desc").fit_transform(clouds),
        descriptor=descriptor,
        dims=clouds[0].shape[1],
        labels=labels,
        sketches=[sketch(c) for c in clouds],
        **more,
    )


def test_composition_is_the_spectrum_of_the_signatures():
    clouds, labels = circles_and_blobs(4)
    shares = collection(clouds, labels).composition()
    for cloud, found in zip(clouds, shares, strict=True):
        np.testing.assert_allclose(found, hf.signatures(cloud).hds.composition, atol=1e-12)


def test_neighbours_are_of_the_same_kind_and_never_oneself():
    clouds, labels = circles_and_blobs(16)
    one = collection(clouds, labels)
    found = make_map(one.features, one.descriptor, "pca", 0)
    assert found.neighbours.shape == (16, 5)
    for i, near in enumerate(found.neighbours):
        assert i not in near
        assert all(labels[j] == labels[i] for j in near)
    assert found.places.shape == (16, 2)
    assert "% of the variance" in found.words


def test_copies_are_each_others_neighbours():
    clouds, labels = circles_and_blobs(10)
    one = collection([*clouds, clouds[0], clouds[0]], [*labels, labels[0], labels[0]])
    found = make_map(one.features, one.descriptor, "pca", 0)
    assert set(found.neighbours[0][:2]) == {10, 11}
    assert set(found.neighbours[11][:2]) == {0, 10}


def test_a_stranger_is_an_outlier():
    clouds, labels = circles_and_blobs(30)
    lattice = np.stack(np.meshgrid(np.arange(11.0), np.arange(11.0)), axis=-1).reshape(-1, 2)
    one = collection([*clouds, lattice], [*labels, "blob"])
    outliers = make_map(one.features, one.descriptor, "pca", 0).outliers
    assert outliers[0][0] == 30
    assert outliers[0][1] > 3.5


def test_separation_finds_what_the_classes_differ_in():
    clouds, labels = circles_and_blobs(24)
    ticks = []
    found = separate(collection(clouds, labels), folds=4, head="lda", tick=lambda *tick: ticks.append(tick))
    assert ticks == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(found.folds) == 4
    assert found.accuracy == 1.0
    assert found.matrix.tolist() == [[12, 0], [0, 12]]
    assert {name for name, _, _ in found.blocks} == {
        "global", "hds", "density", "dimension", "transition", "spectrum"
    }  # fmt: skip
    assert len(found.scales) == 8
    assert all(loss >= 0 for _, loss, _ in found.blocks)


def test_importance_sees_the_only_block_that_tells():
    """Labels that depend on one block alone; all other columns are noise."""
    clouds, labels = circles_and_blobs(40)
    one = collection(clouds, labels)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=one.features.shape)
    place = one.descriptor.layout().columns["dimension"]
    noise[:, place] += 3.0 * (np.array(labels) == "circle")[:, None]
    rigged = Collection(**{**vars(one), "features": noise})
    losses = {name: loss for name, loss, _ in separate(rigged, folds=4, head="lda").blocks}
    assert losses["dimension"] > 0.3
    assert all(abs(loss) < 0.1 for name, loss in losses.items() if name != "dimension")


def test_shuffled_labels_are_told_apart_no_better_than_chance():
    clouds, _ = circles_and_blobs(60)
    labels = np.random.default_rng(0).permutation(["a", "b"] * 30).tolist()
    found = separate(collection(clouds, labels), head="lda")
    assert 0.25 < np.mean(found.folds) < 0.75


@pytest.mark.parametrize(
    ("labels", "reason"),
    [(None, "carry no labels"), (["a"] * 10 + ["b"] * 2, "two classes of three clouds")],
)
def test_where_nothing_can_be_separated(labels, reason):
    clouds, _ = circles_and_blobs(12)
    one = collection(clouds, labels)
    found = separate(one, head="lda")
    assert reason in found.reason
    assert reason in report_page(one, found, embedding="pca")


def test_groups_that_carry_the_label_are_not_learned():
    """Labels that only the group tells: seen in training they are found, held out with their group not."""
    clouds, _ = circles_and_blobs(40)
    one = collection(clouds, ["a", "b"] * 20)
    groups = np.arange(40) // 8 * 2 + np.arange(40) % 2  # of one class each
    features = np.random.default_rng(0).normal(size=(groups.max() + 1, one.features.shape[1]))[groups]
    one = Collection(**{**vars(one), "features": features})
    by_group = Collection(**{**vars(one), "groups": [f"g{g}" for g in groups]})
    alone, grouped = (separate(each, head="lda") for each in (one, by_group))
    assert alone.accuracy > 0.9
    assert not alone.grouped
    assert grouped.grouped
    assert grouped.accuracy < 0.8
    assert "No group is split" in report_page(by_group, grouped, embedding="pca")


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        (["one"] * 6 + ["two"] * 6, "each in at least two groups"),
        (["one", "two"] * 3 + ["big"] * 5 + ["two"], "where some are held out"),
    ],
)
def test_too_few_groups_are_said(groups, reason):
    clouds, _ = circles_and_blobs(12)
    one = collection(clouds, ["a"] * 6 + ["b"] * 6)
    assert reason in separate(Collection(**{**vars(one), "groups": groups})).reason


def test_sketches_fit_their_frame():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5):
        drawn = sketch(rng.normal(size=(500, n)))
        assert drawn.shape == (160, 2)
        assert np.abs(drawn).max() <= 1.0
