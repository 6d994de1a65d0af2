"""Ragged batches: a cloud has the same bits alone, in any batch and with any number of threads."""

import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.features import describe
from heatfield.features.describe import describe_clouds
from heatfield.features.layout import VARIANT_BLOCKS, DescriptorSettings
from tests.helpers import reference
from tests.helpers.agreement import assert_agree

VARIANTS = tuple(VARIANT_BLOCKS)


def adversarial(n):
    """Clouds that are easy to get wrong: few points, copies, lines, clusters, far away, sizes of blocks."""
    rng = np.random.default_rng(n)
    sizes = (2, 3, 5, 15, 16, 17, 31, 33, 100, 257, 530)
    clouds = [rng.normal(size=(m, n)) for m in sizes]
    clouds.append(np.repeat(rng.normal(size=(9, n)), 7, axis=0))  # copies
    clouds.append(np.linspace(0, 1, 60)[:, None] * rng.normal(size=n))  # a line
    clouds.append(np.r_[rng.normal(size=(40, n)), 1e-7 * rng.normal(size=(40, n)) + 3])  # two densities
    clouds.append(np.r_[rng.normal(size=(50, n)), np.full((1, n), 1e6)])  # an isolated point
    clouds.append(rng.random((64, n)) + 5e6)  # map coordinates
    clouds.append(rng.integers(0, 3, (80, n)).astype(float))  # a lattice with copies
    return clouds


def one_by_one(clouds, variant, **options):
    options = {"transition": None, **options}  # the variant's own, as of the estimator
    settings = DescriptorSettings(clouds[0].shape[1], variant=variant, **options)
    extents = np.empty((len(clouds), 3))
    rows = [describe_clouds([points], settings, extents[i : i + 1]) for i, points in enumerate(clouds)]
    return np.concatenate(rows), extents


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_same_bits_as_one_by_one(n, variant, dtype):
    clouds = adversarial(n)
    for transition in ("difference", "exact"):
        options = {"dtype": dtype, "transition": transition}
        expected, spans = one_by_one(clouds, variant, **options)
        extents = np.empty((len(clouds), 3))
        descriptor = hf.HFSDescriptor(variant, **options)
        found = descriptor._fit_dims(n)._compute(clouds, extents=extents)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(extents, spans)


@pytest.mark.parametrize(
    "options",
    [
        {"n_scales": 2},
        {"n_scales": 11, "c_min": 0.3, "c_max": 2.0},
        {"lengths": (0.05, 0.4, 3.0)},
        {"hds_centers": (0.5, 1.0, 2.5, 3.0, 4.0), "hds_sigma": 0.2},
        {"blocks": ("hds", "transition")},
        {"blocks": ("spectrum",)},
    ],
    ids=str,
)
def test_same_bits_with_other_options(options):
    clouds = adversarial(3)[:10]
    np.testing.assert_array_equal(
        hf.HFSDescriptor("desc", **options).fit_transform(clouds), one_by_one(clouds, "desc", **options)[0]
    )


@pytest.mark.parametrize(
    "block", ["gradient", "correlation", "coupling", "neighbourhood", "orientation", "density"]
)
def test_same_bits_of_single_blocks(block):
    clouds = adversarial(2)[4:9]
    np.testing.assert_array_equal(
        hf.HFSDescriptor("oriented", blocks=[block]).fit_transform(clouds),
        one_by_one(clouds, "oriented", blocks=[block])[0],
    )


@pytest.mark.parametrize("variant", ["simple", "desc"])
def test_agrees_with_the_reference(variant):
    rng = np.random.default_rng(5)
    clouds = [rng.normal(size=(m, 3)) for m in (16, 40, 130)]
    found = hf.HFSDescriptor(variant).fit_transform(clouds)
    for row, points in zip(found, clouds, strict=True):
        assert_agree(row, reference.descriptor(points, variant), 1e-12, floor=1e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_neither_threads_nor_batches_change_a_bit(variant, monkeypatch):
    clouds = adversarial(3) * 2
    whole = hf.HFSDescriptor(variant).fit_transform(clouds)
    np.testing.assert_array_equal(hf.HFSDescriptor(variant, n_jobs=3).fit_transform(clouds), whole)
    order = np.random.default_rng(0).permutation(len(clouds))
    shuffled = hf.HFSDescriptor(variant).fit_transform([clouds[i] for i in order])
    np.testing.assert_array_equal(shuffled, whole[order])
    monkeypatch.setattr(describe, "_BATCH", 1)  # every cloud alone
    np.testing.assert_array_equal(hf.HFSDescriptor(variant).fit_transform(clouds), whole)


def test_clouds_without_two_places_between_others():
    rng = np.random.default_rng(1)
    full = [rng.normal(size=(20, 3)) for _ in range(2)]
    clouds = [np.empty((0, 3)), full[0], np.ones((1, 3)), np.ones((7, 3)), full[1]]
    with pytest.warns(hf.HeatFieldWarning, match="clouds 0, 2, 3"):
        rows = hf.HFSDescriptor("oriented").fit_transform(clouds)
    assert np.isnan(rows[[0, 2, 3]]).all()
    np.testing.assert_array_equal(rows[[1, 4]], hf.HFSDescriptor("oriented").fit_transform(full))
    with pytest.warns(hf.HeatFieldWarning, match="clouds 0, 2, 3"):
        rows = hf.HFSDescriptor("simple", lengths=(0.1, 1.0)).fit_transform(clouds)
    assert np.isnan(rows[[0, 2, 3]]).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_times_out_of_range_name_the_cloud(n_jobs):
    rng = np.random.default_rng(2)
    clouds = [rng.normal(size=(20, 3)) for _ in range(40)]
    clouds[23] = 1e-100 * clouds[23]
    with pytest.raises(ValueError, match=re.escape("clouds[23]: diffusion times from ")) as caught:
        hf.HFSDescriptor(n_jobs=n_jobs).fit_transform(clouds)
    settings = DescriptorSettings(3)
    with pytest.raises(ValueError, match="diffusion times") as alone:
        describe_clouds([clouds[23]], settings)
    assert str(caught.value) == str(alone.value).replace("clouds[0]", "clouds[23]")


def test_which_clouds_go_in_batches(monkeypatch):
    """Where the dense path is certain; the others are described one by one."""
    rng = np.random.default_rng(3)
    alone = []
    real = describe._describe_one
    monkeypatch.setattr(describe, "_describe_one", lambda *a: (alone.append(a[0].shape), real(*a))[1])
    hf.HFSDescriptor("simple", n_scales=2).fit_transform([rng.normal(size=(30, 3))])
    hf.HFSDescriptor("simple", n_scales=2).fit_transform([rng.normal(size=(30, 4))])
    assert alone == []
    hf.HFSDescriptor("simple", n_scales=2, method="fast").fit_transform([rng.normal(size=(30, 2))])
    clouds = [rng.normal(size=(30, 2)), rng.normal(size=(3700, 2)), rng.normal(size=(40, 2))]
    hf.HFSDescriptor("simple", n_scales=2).fit_transform(clouds)
    assert alone == [(30, 2), (3700, 2)]
