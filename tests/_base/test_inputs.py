"""Input as people hold it: data frames, masked arrays, paths, tensors, tables on their side."""

import re
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.check import as_clouds, as_points

POINTS = np.arange(24.0).reshape(8, 3)


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(
        {
            "id": range(8),
            "Y": POINTS[:, 1],
            "X": POINTS[:, 0],
            "intensity": 1,
            "Z": POINTS[:, 2],
            "species": list("abcdefgh"),
        }
    )


def test_a_data_frame_is_read_by_its_names():
    table = frame()
    np.testing.assert_array_equal(as_points(table), POINTS)
    np.testing.assert_array_equal(as_points(table[["X", "Y", "Z", "intensity"]]), POINTS)
    np.testing.assert_array_equal(as_points(table[["X", "Y", "id"]]), POINTS[:, :2])
    np.testing.assert_array_equal(as_points(table[["Z", "Y", "X"]]), POINTS)
    np.testing.assert_array_equal(hf.signatures(table).dimension, hf.signatures(POINTS).dimension)
    other = table[["id", "intensity"]].rename(columns={"id": "a", "intensity": "b"})
    assert as_points(other).shape == (8, 2)  # no names tell: all columns
    numbered = table[["id", "X", "Y"]].rename(columns={"id": "x0", "X": "x1", "Y": "label"})
    assert as_points(numbered).shape == (8, 2)


def test_a_data_frame_with_words_for_numbers():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"must be an .* array of numbers"):
        as_points(pandas.DataFrame({"x": list("ab"), "y": [1, 2]}))
    with pytest.raises(ValueError, match=r"must be an .* array of numbers"):
        as_points(pandas.DataFrame({"a": list("ab"), "b": [1, 2]}))


def test_masked_rows_are_not_taken_for_points():
    masked = np.ma.masked_array(POINTS, mask=np.zeros_like(POINTS, bool))
    np.testing.assert_array_equal(as_points(masked), POINTS)
    masked[2, 1] = np.ma.masked
    masked[5] = np.ma.masked
    with pytest.raises(ValueError, match="points has masked values in 2 of 8 rows, the first in row 2"):
        hf.signatures(masked)
    with pytest.raises(ValueError, match=r"clouds\[1\] has masked values"):
        hf.HFSDescriptor().fit_transform([POINTS, masked])


@pytest.mark.parametrize("shape", [(3, 1000), (3, 100_000), (16, 17), (1, 64), (60, 4096)])
def test_a_table_on_its_side(shape):
    message = rf"has shape \({shape[0]}, {shape[1]}\).*more than 16 dimensions.*pass its transpose"
    with pytest.raises(ValueError, match=message):
        hf.signatures(np.ones(shape))
    with pytest.raises(ValueError, match=message):
        hf.HFSDescriptor().fit_transform([np.ones(shape)])
    assert as_points(np.eye(17)).shape == (17, 17)
    assert as_points(np.eye(16)[:5]).shape == (5, 16)
    assert as_points(np.empty((0, 20))).shape == (0, 20)


def test_a_table_on_its_side_for_the_network():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"has shape \(3, 1000\).*pass its transpose"):
        hf.nn.HeatFeatures()(torch.ones(2, 3, 1000))


@pytest.mark.parametrize("path", ["cloud.ply", Path("cloud.ply"), b"cloud.ply"])
def test_a_path_is_told_to_the_reader(path):
    with pytest.raises(ValueError, match=r"heatfield\.read_points\(path\)"):
        hf.signatures(path)
    with pytest.raises(ValueError, match=r"heatfield\.read_points\(path\)"):
        hf.HFSDescriptor().fit_transform(path)
    with pytest.raises(ValueError, match=r"clouds\[0\] is .*heatfield\.read_points\(path\)"):
        as_clouds([path, path])


def test_a_tensor_that_requires_a_gradient():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(POINTS, requires_grad=True)
    with pytest.raises(ValueError, match=r"heatfield\.nn\.HeatFeatures"):
        hf.signatures(tensor)
    np.testing.assert_array_equal(as_points(tensor.detach()), POINTS)


def test_a_single_cloud_in_other_clothes():
    torch = pytest.importorskip("torch")
    for cloud in (frame(), torch.tensor(POINTS), POINTS):
        with pytest.raises(ValueError, match=re.escape("for a single cloud pass [points]")):
            hf.HFSDescriptor().fit_transform(cloud)


class Holder:
    """An object of another library, by the names of its attributes."""

    def __init__(self, **held):
        self.__dict__.update(held)


def test_objects_of_other_libraries():
    known = [
        Holder(points=POINTS),  # open3d, Cloud
        Holder(points=frame()),  # pyntcloud
        Holder(vertices=POINTS, faces=[]),  # trimesh
        Holder(xyz=POINTS, header=None),  # laspy
        hf.Cloud(POINTS),
    ]
    for thing in known:
        np.testing.assert_array_equal(as_points(thing), POINTS)
        with pytest.raises(ValueError, match="must be a list of clouds, got one"):
            as_clouds(thing)
    with pytest.raises(ValueError, match=r"must be an \(m, n\) array of numbers, got Holder"):
        as_points(Holder(colour="red"))


def test_real_objects_of_other_libraries():
    trimesh, laspy = pytest.importorskip("trimesh"), pytest.importorskip("laspy")
    mesh = trimesh.creation.box()
    found = as_points(mesh)  # on its surface, as from a file
    assert found.shape == (1024, 3)
    np.testing.assert_allclose(np.abs(found).max(axis=1), 0.5)
    np.testing.assert_array_equal(as_points(mesh.vertices), mesh.vertices)
    las = laspy.create()
    las.x, las.y, las.z = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(as_points(las), np.arange(9.0).reshape(3, 3).T)


def test_many_clouds_in_other_forms():
    rng = np.random.default_rng(0)
    block = rng.random((3, 7, 2))
    for clouds in (block, iter(block), (cloud for cloud in block), [*block], tuple(block)):
        found = as_clouds(clouds)
        assert [cloud.shape for cloud in found] == [(7, 2)] * 3
        np.testing.assert_array_equal(found[2], block[2])
    with pytest.raises(ValueError, match="clouds is empty"):
        as_clouds(iter([]))
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(as_clouds(torch.tensor(block))[1], block[1])


def test_a_cloud_too_wide_for_its_spectrum():
    """7 GiB at eight scales: refused before anything is allocated."""
    wide = 0.03 * np.random.default_rng(0).normal(size=(620, 620))  # densities that double precision can hold
    message = r"620 points in 620 dimensions at 8 scales takes 7\.\d GiB"
    with pytest.raises(ValueError, match=message):
        hf.signatures(wide)
    with pytest.raises(ValueError, match=message):
        hf.HFSDescriptor().fit_transform([wide])
