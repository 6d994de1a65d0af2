"""Skeletons are sampled by arc length: how densely a branch was traced must not matter."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.options import SKELETON_POINTS


def tracing(kind, seed):
    """Nodes and parents of a small tree: straight branches of a "star", or a winding "path"."""
    rng = np.random.default_rng(seed)
    nodes, parents = [np.zeros(3)], [-1]
    arms = 6 if kind == "star" else 1
    for _ in range(arms):
        last, step = 0, rng.normal(size=3)
        step /= np.linalg.norm(step)
        for _ in range(10 if kind == "star" else 50):
            if kind == "path":
                step = step + 0.7 * rng.normal(size=3)
                step /= np.linalg.norm(step)
            nodes.append(nodes[last] + step)
            parents.append(last)
            last = len(nodes) - 1
    return np.array(nodes), np.array(parents)


def densified(nodes, parents, pieces):
    """Every segment cut into so many."""
    new, above, place = [nodes[0]], [-1], {0: 0}
    for i in range(1, len(nodes)):
        last = place[int(parents[i])]
        for k in range(1, pieces + 1):
            new.append(nodes[parents[i]] + k / pieces * (nodes[i] - nodes[parents[i]]))
            above.append(last)
            last = len(new) - 1
        place[i] = last
    return np.array(new), np.array(above)


def write_swc(path, nodes, parents):
    lines = [
        f"{i + 1} 3 {x:.6f} {y:.6f} {z:.6f} 1 {p + 1 if p >= 0 else -1}"
        for i, ((x, y, z), p) in enumerate(zip(nodes, parents, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Folders of the same tracings: some as they are, all with five times the nodes, and some mixed."""
    root = tmp_path_factory.mktemp("swc")
    for kind in ("star", "path"):
        for seed in range(8):
            nodes, parents = tracing(kind, seed)
            for name, pieces in (("plain", 1), ("dense", 5)):
                (root / name / kind).mkdir(parents=True, exist_ok=True)
                write_swc(root / name / kind / f"{seed}.swc", *densified(nodes, parents, pieces))
    return root


def read(traced, name, **options):
    return [hf.read_points(file, **options) for file in sorted((traced / name).rglob("*.swc"))]


def test_the_density_of_nodes_does_not_matter(traced):
    labels = ["path"] * 8 + ["star"] * 8
    model = hf.HFSClassifier("simple", head="lda", n_scales=4).fit(read(traced, "plain"), labels)
    plain, dense = (model.predict_proba(read(traced, name)) for name in ("plain", "dense"))
    assert (plain.argmax(axis=1) == dense.argmax(axis=1)).all()
    np.testing.assert_allclose(plain, dense, atol=0.05)


@pytest.mark.parametrize(
    ("options", "points"),
    [
        ({}, [SKELETON_POINTS] * 2),
        ({"nodes": True}, [301, 61]),
        ({"nodes": True, "budget": 50}, [50, 50]),
        ({"budget": 70}, [70, 70]),
    ],
)
def test_nodes_on_request(traced, options, points):
    files = [traced / name / "star" / "0.swc" for name in ("dense", "plain")]
    found = hf.describe_files(files, variant="simple", blocks=["dimension"], n_scales=3, **options)
    assert found.points.tolist() == points
    assert found.points_in_file.tolist() == [301, 61]
    assert found.settings["reading"]["nodes"] == options.get("nodes", False)


def test_with_nodes_the_density_does_matter(traced):
    """What the sampling is for: nodes as they are give another descriptor."""
    describe = hf.HFSDescriptor("simple", n_scales=4, blocks=("dimension",))
    nodes, even = (
        describe.fit_transform([read(traced, name, nodes=nodes)[-1] for name in ("plain", "dense")])
        for nodes in (True, False)
    )
    assert np.abs(nodes[0] - nodes[1]).max() > 0.1
    assert np.abs(even[0] - even[1]).max() < 0.05
