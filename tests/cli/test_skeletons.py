"""Skeletons are sampled by arc length: how densely a branch was traced must not matter."""

import json

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.cli._reading import SKELETON_POINTS, skeleton_words


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


def test_the_density_of_nodes_does_not_matter(traced, tmp_path, capsys):
    model = tmp_path / "m"
    words = ["train", str(traced / "plain"), "-o", str(model), "--variant", "simple", "--head", "lda"]
    assert main([*words, "--folds", "0", "--scales", "4", "--jobs", "1"]) == 0
    assert f"skeletons: {SKELETON_POINTS} points each, even by arc length (--nodes" in capsys.readouterr().out
    loaded = hf.HFSClassifier.load(model)
    assert loaded.notes_["reading"]["skeleton"] == SKELETON_POINTS
    files = {name: sorted(map(str, (traced / name).rglob("*.swc"))) for name in ("plain", "dense")}
    shares = {
        name: loaded.predict_proba([hf.read_points(f, **loaded.notes_["reading"]) for f in own])
        for name, own in files.items()
    }
    assert (shares["plain"].argmax(axis=1) == shares["dense"].argmax(axis=1)).all()
    np.testing.assert_allclose(shares["plain"], shares["dense"], atol=0.05)


def test_nodes_on_request_are_recorded(traced, tmp_path):
    files = [str(traced / name / "star" / "0.swc") for name in ("plain", "dense")]
    for words, points, kind in (
        ([], [SKELETON_POINTS] * 2, SKELETON_POINTS),
        (["--nodes"], [61, 301], "nodes"),
        (["--nodes", "--budget", "50"], [50, 50], "nodes"),
        (["--budget", "70"], [70, 70], SKELETON_POINTS),
    ):
        out = tmp_path / "t.npz"
        base = ["describe", *files, "-o", str(out), "--variant", "simple", "--blocks", "dimension"]
        assert main([*base, "--scales", "3", "--jobs", "1", "--quiet", *words]) == 0
        with np.load(out) as table:
            order = np.argsort([name != files[0] for name in table["files"]])
            assert table["points"][order].tolist() == points
            assert table["points_in_file"][order].tolist() == [61, 301]
            assert json.loads(str(table["metadata"]))["reading"]["skeleton"] == kind


def test_with_nodes_the_density_does_matter(traced):
    """What the sampling is for: nodes as they are give another descriptor."""
    plain, dense = (traced / name / "star" / "0.swc" for name in ("plain", "dense"))
    describe = hf.HFSDescriptor("simple", n_scales=4, blocks=("dimension",))
    nodes = describe.fit_transform([hf.read_points(f) for f in (plain, dense)])
    even = describe.fit_transform([hf.read_points(f, skeleton=SKELETON_POINTS) for f in (plain, dense)])
    assert np.abs(nodes[0] - nodes[1]).max() > 0.1
    assert np.abs(even[0] - even[1]).max() < 0.05


def test_words():
    reading = {"skeleton": SKELETON_POINTS, "budget": None, "sampling": "auto"}
    assert skeleton_words(["a.ply"], reading) == ""
    assert "1024 points each" in skeleton_words(["a.ply", "B.SWC.GZ"], reading)
    assert "nodes as they are" in skeleton_words(["a.swc"], {**reading, "skeleton": "nodes"})
    assert "at most 9 of their nodes" in skeleton_words(
        ["a.swc"], {**reading, "budget": 9, "sampling": "voxel"}
    )


def test_wrong_numbers(traced):
    for wrong in (0, "node", 1.5):
        with pytest.raises(ValueError, match=f"skeleton must be an integer of at least 1, got {wrong!r}"):
            hf.read_points(traced / "plain" / "star" / "0.swc", skeleton=wrong)
