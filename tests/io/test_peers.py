# ruff: noqa: ARG001  (every reader takes the path and the content)
"""Every dialect: the numbers that went in, and the same as the readers of others find."""

import io

import numpy as np
import pytest

from tests.helpers import raw
from tests.helpers.dialects import DIALECTS

BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_numbers_that_went_in(tmp_path, name):
    dialect = BY_NAME[name]
    path = tmp_path / name
    path.write_bytes(dialect.content)
    cloud = raw.read_cloud(path, **dialect.options)
    np.testing.assert_array_equal(cloud.points, dialect.points)
    assert (cloud.faces is None) == (dialect.faces is None)
    if dialect.faces is not None:
        assert cloud.faces.tolist() == dialect.faces


def plyfile_(path, content):
    data = pytest.importorskip("plyfile").PlyData.read(io.BytesIO(content))
    polygons = data["face"]["vertex_indices"]
    faces = [[p[0], p[i], p[i + 1]] for p in polygons for i in range(1, len(p) - 1)]
    return np.stack([data["vertex"][a] for a in "xyz"], axis=1), faces


def trimesh_(path, content):
    mesh = pytest.importorskip("trimesh").load(path, process=False, force="mesh")
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def meshio_(path, content):
    mesh = pytest.importorskip("meshio").read(path)
    return np.asarray(mesh.points), np.concatenate([c.data for c in mesh.cells if c.type == "triangle"])


def laspy_(path, content):
    las = pytest.importorskip("laspy").read(io.BytesIO(content))
    return np.stack([las.x, las.y, las.z], axis=1), None


def gemmi_(path, content):
    gemmi = pytest.importorskip("gemmi")
    model = gemmi.read_structure(str(path))[0]
    atoms = [a for c in model for r in c for a in r if a.name == "CA" and a.element == gemmi.Element("C")]
    return np.array([a.pos.tolist() for a in atoms]), None


def morphio_(path, content):
    morphio = pytest.importorskip("morphio")
    morphio.set_maximum_warnings(0)
    neuron = morphio.Morphology(str(path), options=morphio.Option.allow_unifurcated_section_change)
    return np.concatenate([neuron.soma.points, neuron.points]), None


READERS = {
    "plyfile": plyfile_,
    "trimesh": trimesh_,
    "meshio": meshio_,
    "laspy": laspy_,
    "gemmi": gemmi_,
    "morphio": morphio_,
}
PAIRS = [(dialect.name, peer) for dialect in DIALECTS for peer in dialect.peers]


@pytest.mark.parametrize(("name", "peer"), PAIRS)
@pytest.mark.filterwarnings("ignore")  # those of the others
def test_as_others_read_it(tmp_path, name, peer):
    dialect = BY_NAME[name]
    path = tmp_path / name
    path.write_bytes(dialect.content)
    theirs, faces = READERS[peer](path, dialect.content)
    cloud = raw.read_cloud(path, **dialect.options)
    single = theirs.dtype == np.float32 or peer in ("morphio", "trimesh")  # some keep single precision
    if peer == "morphio":  # sections repeat the points at which they part
        near = np.abs(theirs[:, None] - cloud.points[None]).max(axis=2)
        assert near.min(axis=0).max() < 1e-5
        assert near.min(axis=1).max() < 1e-5
    elif dialect.name.endswith(".stl"):  # they keep, or merge, corners in an order of their own
        corners = theirs[np.asarray(faces)]
        np.testing.assert_allclose(cloud.points[cloud.faces], corners, rtol=1e-6)
        return
    else:
        np.testing.assert_allclose(
            cloud.points, theirs, rtol=1e-6 if single else 1e-12, atol=1e-9 if peer == "gemmi" else 0
        )
    if faces is not None:
        np.testing.assert_array_equal(cloud.faces, faces)
