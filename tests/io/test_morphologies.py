"""Neurons: HDF5, Neurolucida, NML, extended SWC, and subtrees without their parent."""

import numpy as np
import pytest

import heatfield as hf
from tests.defects import defect

# Three sections: a trunk of three points, and two branches of two more points each.
POINTS = np.array(
    [[0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 0, 3], [0, 1, 4], [0, 2, 5], [0, 0, 3], [0, -1, 4], [0, -2, 5]],
    float,
)
PLACES = {tuple(place) for place in POINTS.tolist()}


def write_hdf5(path):
    """As the Blue Brain Project's format: a cell body, then the sections, with their starts and parents."""
    h5py = pytest.importorskip("h5py")
    soma = np.array([[-1, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    with h5py.File(path, "w") as file:
        file["points"] = np.column_stack([np.vstack([soma, POINTS]), np.ones(12)]).astype(np.float32)
        file["structure"] = np.array([[0, 1, -1], [3, 3, 0], [6, 3, 1], [9, 3, 1]], np.int32)
    return path


def test_the_file_is_a_morphology(tmp_path):
    morphio = pytest.importorskip("morphio")
    found = morphio.Morphology(str(write_hdf5(tmp_path / "neuron.h5")))
    np.testing.assert_array_equal(found.points, POINTS)


def test_an_hdf5_morphology_is_no_cloud_in_four_dimensions(tmp_path):
    """It is a skeleton, or is refused by its name."""
    try:
        cloud, said = hf.read_cloud(write_hdf5(tmp_path / "neuron.h5"), nodes=True), ""
    except hf.ReadError as error:
        cloud, said = None, str(error).lower()
    if cloud is None:
        assert "morpholog" in said
    else:
        assert cloud.points.shape[1] == 3
        assert cloud.parents is not None


def is_the_neuron(path, *names):
    """Read as a skeleton through these points; refused only where a named package is missing."""
    try:
        cloud = hf.read_cloud(path, nodes=True)
    except hf.ReadError as error:
        said = str(error).lower()
        return "pip install" in said and all(name.lower() in said for name in names)
    return cloud.parents is not None and {tuple(place) for place in cloud.points.tolist()} >= PLACES


def test_hdf5(tmp_path):
    assert is_the_neuron(write_hdf5(tmp_path / "neuron.h5"), "morphology", "morphio")


ASC = """; V3 text file written for MicroBrightField products.
("CellBody" (Color Red) (CellBody) (-1 0 0 2) (1 0 0 2) (0 1 0 2))
((Dendrite) (0 0 1 1) (0 0 2 1) (0 0 3 1) ((0 1 4 1) (0 2 5 1) | (0 -1 4 1) (0 -2 5 1)))
"""


@defect("Neurolucida files are not read")
def test_neurolucida(tmp_path):
    (tmp_path / "neuron.asc").write_text(ASC)
    assert is_the_neuron(tmp_path / "neuron.asc", "neurolucida", "morphio")


@defect("taken for a table")
def test_nml(tmp_path):
    places = sorted(PLACES)
    nodes = "".join(
        f'<node id="{i}" radius="1" x="{x}" y="{y}" z="{z}"/>' for i, (x, y, z) in enumerate(places)
    )
    edges = "".join(f'<edge source="{i}" target="{i + 1}"/>' for i in range(len(places) - 1))
    (tmp_path / "neuron.nml").write_text(
        '<?xml version="1.0"?>\n<things><parameters><scale x="1" y="1" z="1"/></parameters>'
        f'<thing id="1" name="t"><nodes>{nodes}</nodes><edges>{edges}</edges></thing></things>\n'
    )
    assert is_the_neuron(tmp_path / "neuron.nml", "nml")


SWC = "".join(f"{i + 1} {1 if i == 0 else 3} {i} 0 {i * i} 1 {i or -1}\n" for i in range(6))


def test_extended_swc(read):
    lines = "".join(f"{line} 0 1 0 0 -1\n" for line in SWC.splitlines())
    cloud = read(
        "neuron.eswc",
        "#n,type,x,y,z,radius,parent,seg_id,level,mode,timestamp,teraflyindex\n" + lines,
        nodes=True,
    )
    assert cloud.parents is not None
    assert cloud.parents.tolist() == [-1, 0, 1, 2, 3, 4]


def test_a_subtree_whose_parent_is_missing_becomes_a_root(read):
    cloud = read("neuron.swc", SWC.replace("5 3 4 0 16 1 4", "5 3 4 0 16 1 77"), orphans="root", nodes=True)
    assert cloud.parents.tolist() == [-1, 0, 1, 2, -1, 4]
