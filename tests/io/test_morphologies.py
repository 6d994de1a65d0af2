"""Neurons: HDF5 and Neurolucida beside MorphIO, NML, extended SWC, and subtrees without their parent."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers import raw

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


def length(cloud):
    """All stretches from a node to its parent."""
    child = np.flatnonzero(cloud.parents >= 0)
    return float(np.linalg.norm(cloud.points[child] - cloud.points[cloud.parents[child]], axis=1).sum())


def is_the_neuron(cloud):
    """The same points as MorphIO has, one node for the cell body, and the same length of branches."""
    assert {tuple(place) for place in cloud.points.tolist()} == PLACES | {(0, 1 / 3, 0)}
    assert cloud.columns["type"].tolist() == [1, *[3] * (len(cloud.points) - 1)]
    assert (cloud.parents == -1).sum() == 1
    trunk = np.linalg.norm(POINTS[0] - [0, 1 / 3, 0])
    assert length(cloud) == pytest.approx(trunk + 2 + 4 * np.sqrt(2))
    return True


def test_hdf5(tmp_path):
    morphio = pytest.importorskip("morphio")
    path = write_hdf5(tmp_path / "neuron.h5")
    np.testing.assert_array_equal(morphio.Morphology(str(path)).points, POINTS)
    assert is_the_neuron(raw.read_cloud(path))


ASC = """; V3 text file written for MicroBrightField products.
("CellBody" (Color Red) (CellBody) (-1 0 0 2) (1 0 0 2) (0 1 0 2))
((Dendrite) (0 0 1 1) (0 0 2 1) (0 0 3 1) ((0 1 4 1) (0 2 5 1) | (0 -1 4 1) (0 -2 5 1)))
"""


def test_neurolucida(tmp_path):
    morphio = pytest.importorskip("morphio")
    path = tmp_path / "neuron.asc"
    path.write_text(ASC)
    np.testing.assert_array_equal(morphio.Morphology(str(path)).points, POINTS)
    assert is_the_neuron(raw.read_cloud(path))
    without = raw.read_cloud(path, soma="drop")
    assert length(without) == pytest.approx(2 + 4 * np.sqrt(2))
    path.write_text("\n".join(ASC.splitlines()[2:]))
    cloud = raw.read_cloud(path)  # without the line of the program, and without a cell body
    assert {tuple(place) for place in cloud.points.tolist()} == PLACES


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (ASC[: ASC.index("(0 0 3 1)")], "MorphIO cannot read it"),
        (ASC.replace("(0 0 2 1)", "(0 0 two 1)"), "MorphIO cannot read it"),
        (
            ASC.splitlines()[0] + "\n((Dendr) (0 0 1 1))\n",
            "holds no points: neither a cell body nor a branch",
        ),
        ("((Dendrite)" + "(" * 100_000, "nests more than 1000 brackets"),
        ("; V3 text file written for MicroBrightField products.\n(ImageCoords)\n", "holds no points"),
    ],
)
def test_damaged_neurolucida(read, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        read("neuron.asc", content)


def nml(nodes, edges, scale=(1, 1, 1)):
    nodes = "".join(f'<node id="{i}" radius="1" x="{x}" y="{y}" z="{z}"/>' for i, (x, y, z) in nodes.items())
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in edges)
    scale = '<scale x="{}" y="{}" z="{}"/>'.format(*scale)
    tree = f'<thing id="4" name="t"><nodes>{nodes}</nodes><edges>{edges}</edges></thing>'
    return f'<?xml version="1.0"?>\n<things><parameters>{scale}</parameters>{tree}</things>\n'


def test_nml(read):
    """Edges run either way, ids have gaps; voxels are 11 by 11 by 25."""
    places = [tuple(place) for place in POINTS[:5].tolist()]
    nodes = dict(zip([9, 2, 5, 7, 30], places, strict=True))
    cloud = read("neuron.nml", nml(nodes, [(2, 9), (2, 5), (30, 7)], (11, 11, 25)), nodes=True)
    np.testing.assert_array_equal(cloud.points, np.array(places) * [11, 11, 25])
    assert cloud.parents.tolist() == [-1, 0, 1, -1, 3]
    assert cloud.columns["id"].tolist() == [9, 2, 5, 7, 30]
    assert cloud.columns["tree"].tolist() == 5 * [4]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (nml({1: (0, 0, 0), 2: (1, 0, 0)}, [(1, 2), (2, 1)]), "1 edges close a loop"),
        (nml({1: (0, 0, 0)}, [(1, 7)]), "edge 0: an edge ends at node 7"),
        (nml({}, []), "no points"),
        (nml({"x": (0, 0, 0)}, []), "an attribute is missing or wrong"),
        (nml({1: (0, 0, 0)}, [])[:-9], "not sound XML"),
        (nml({1: (0, 0, 0)}, []).replace("<things>", "<!DOCTYPE a><things>"), "document type"),
    ],
)
def test_damaged_nml(read, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        read("neuron.nml", content)


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
