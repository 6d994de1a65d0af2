"""Generators: counts, laws that can be checked, and the same clouds for any number of threads."""

import numpy as np
import pytest

from heatfield.datasets import make_disks_annuli, make_processes


@pytest.fixture(scope="module")
def processes():
    return make_processes(n_per_class=60, strauss_steps=12_000)


def same(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_processes_have_the_published_counts(processes):
    clouds, labels = processes
    counts = np.array([len(c) for c in clouds])
    assert labels.tolist() == np.repeat(np.arange(4), 60).tolist()
    assert abs(counts.mean() - 194) < 6
    assert counts.min() > 80
    assert counts.max() < 350
    assert all(((c >= 0) & (c < 1)).all() for c in clouds)


def test_processes_attract_and_repel_as_they_should(processes):
    """Pairs closer than 0.025 beside those of a Poisson process, n(n-1) pi r² / 2 (edges take a little)."""
    clouds, labels = processes
    ratio = np.zeros(4)
    for label in range(4):
        found = expected = 0.0
        for cloud in (c for c, k in zip(clouds, labels, strict=True) if k == label):
            d = np.sqrt(((cloud[:, None] - cloud[None]) ** 2).sum(-1))
            found += ((d < 0.025).sum() - len(cloud)) / 2
            expected += len(cloud) * (len(cloud) - 1) / 2 * np.pi * 0.025**2 * 0.98
        ratio[label] = found / expected
    assert ratio[0] == pytest.approx(1.0, abs=0.12)
    assert ratio[1] > 1.5
    assert ratio[2] == pytest.approx(0.4, abs=0.1)  # gamma
    assert ratio[3] == pytest.approx(1.0, abs=0.25)


def test_baddeley_silverman_cells():
    clouds, labels = make_processes(n_per_class=40, cells=10, strauss_steps=10)
    counts = np.concatenate(
        [
            np.histogram2d(*c.T, bins=10, range=[[0, 1], [0, 1]])[0].ravel()
            for c, k in zip(clouds, labels, strict=True)
            if k == 3
        ]
    )
    assert set(counts) <= {0.0, 1.0, 10.0}
    assert (counts == 0).mean() == pytest.approx(0.1, abs=0.02)
    assert (counts == 10).mean() == pytest.approx(1 / 90, abs=0.006)


@pytest.mark.parametrize("make", [make_processes, make_disks_annuli])
def test_threads_and_numbers_do_not_matter(make):
    options = {"strauss_steps": 500} if make is make_processes else {}
    few, _ = make(n_per_class=3, random_state=5, **options)
    many, labels = make(n_per_class=60, random_state=5, n_jobs=4, **options)
    again, _ = make(n_per_class=60, random_state=5, **options)
    other, _ = make(n_per_class=60, random_state=6, **options)
    assert same(many, again)
    assert same(few, [many[i] for i in np.flatnonzero(np.arange(len(labels)) % 60 < 3)])
    assert not same(many, other)


@pytest.mark.parametrize(
    ("form", "low", "high"), [("annuli", 700, 3000), ("balanced", 700, 2300), ("pairs", 700, 3100)]
)
def test_disks_annuli_counts(form, low, high):
    clouds, labels = make_disks_annuli(n_per_class=40, form=form)
    counts = [len(c) for c in clouds]
    assert labels.tolist() == np.repeat(np.arange(5), 40).tolist()
    assert low < min(counts)
    assert max(counts) < high
    assert all(((c >= 0) & (c <= 1)).all() for c in clouds)


def test_an_annulus_has_a_hole_and_a_disk_has_none():
    """One object in faint noise: the share of points within half the radius of the middle."""
    clouds, labels = make_disks_annuli(
        20, "pairs", radius=(0.2, 0.2), inner=(0.6, 0.6), background=(1.0, 1.0), objects=20_000.0
    )
    for label, expected in ((0, 0.25), (1, 0.0)):
        for cloud in (c for c, k in zip(clouds, labels, strict=True) if k == label):
            middle = np.median(cloud, axis=0)
            share = (np.linalg.norm(cloud - middle, axis=1) < 0.1).mean()
            assert share == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("make", "wrong", "problem"),
    [
        (make_processes, {"n_per_class": 0}, "n_per_class"),
        (make_processes, {"strauss_interaction": 1.5}, "strauss_interaction"),
        (make_processes, {"intensity": -1}, "intensity must be positive, got -1"),
        (make_disks_annuli, {"form": "squares"}, "form must be one of"),
        (make_disks_annuli, {"radius": (0.3, 0.2)}, "radius must be"),
        (make_disks_annuli, {"radius": (0.4, 0.45)}, "do not fit"),
    ],
)
def test_wrong_parameters_are_named(make, wrong, problem):
    with pytest.raises(ValueError, match=problem):
        make(**{"n_per_class": 1, **wrong})
