"""`HFSIndex`: what it finds, adds, removes, keeps and refuses."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.files import forged


@pytest.fixture(scope="module")
def data():
    """Balls, sheets and filaments of 60 points."""
    rng = np.random.default_rng(0)
    shapes = {"ball": [1, 1, 1], "sheet": [1, 1, 0.02], "filament": [1, 0.02, 0.02]}
    clouds = [rng.normal(size=(60, 3)) * shape for shape in shapes.values() for _ in range(12)]
    labels = [name for name in shapes for _ in range(12)]
    names = [f"{label}/{i}.ply" for i, label in enumerate(labels)]
    return clouds, labels, names


@pytest.fixture(scope="module")
def table(data):
    return hf.HFSDescriptor("desc").fit_transform(data[0])


def built(data, **options):
    clouds, labels, names = data
    return hf.HFSIndex("desc", **options).build(clouds, labels=labels, names=names)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "learned"])
def test_a_cloud_finds_itself_then_its_class(data, metric):
    index = built(data, metric=metric)
    hits = index.query(data[0][::7], k=4)
    assert [row[0] for row in hits.names] == data[2][::7]
    assert np.abs(hits.distances[:, 0]).max() <= (1e-5 if metric == "learned" else 0.0)
    assert (np.diff(hits.distances, axis=1) >= 0).all()
    assert [row[1] for row in hits.labels] == data[1][::7]
    assert (hits.differences[:, 0] == 0).all()


def test_distances_are_those_of_standardised_descriptors(table):
    from sklearn.preprocessing import StandardScaler

    rows = StandardScaler().fit_transform(table)
    index = hf.HFSIndex("desc").build_features(table, n_dims=3)
    varies = ~index.space_.scaling.constant
    expected = np.linalg.norm((rows[0] - rows)[:, varies], axis=1)
    hits = index.query_features(table[:1], k=len(table))
    np.testing.assert_allclose(hits.distances[0], expected[hits.rows[0]], rtol=1e-5)
    angles = rows[:, varies] / np.linalg.norm(rows[:, varies], axis=1, keepdims=True)
    hits = hf.HFSIndex("desc", metric="cosine").build_features(table, n_dims=3).query_features(table[:1], 36)
    np.testing.assert_allclose(hits.distances[0], 1 - (angles @ angles[0])[hits.rows[0]], atol=1e-6)


def test_the_blocks_that_made_them_alike(table):
    """A hit that equals the query in one block and differs in another says so."""
    index = hf.HFSIndex("desc").build_features(table, n_dims=3)
    layout = hf.HFSDescriptor("desc", n_dims=3).layout()
    changed = table[:1].copy()
    changed[:, layout.columns["spectrum"]] = table[30, layout.columns["spectrum"]]
    hits = index.query_features(changed, k=36)
    rank = int(np.flatnonzero(hits.rows[0] == 0)[0])
    assert dict(hits.most_alike(0, rank, 9))["density"] == 0.0
    assert hits.most_alike(0, rank, 9)[-1][0] == "spectrum"
    rows = hits.table(["query.ply"])
    assert (rows[0]["query"], rows[0]["rank"], rows[0]["name"]) == ("query.ply", 1, hits.names[0][0])
    with pytest.raises(ValueError, match="queries has 2 names for 1 queries"):
        hits.table(["a", "b"])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "learned"])
def test_add_and_remove_are_as_if_built_so(data, metric):
    clouds, labels, names = data
    index = built(data, metric=metric)
    whole = index.query(clouds, k=5)
    index.remove(names[3:20])
    assert len(index) == 19
    assert names[3] not in index.names
    assert not {*names[3:20]} & {name for row in index.query(clouds, k=19).names for name in row}
    index.add(clouds[3:20], labels=labels[3:20], names=names[3:20])
    again = index.query(clouds, k=5)
    np.testing.assert_allclose(again.distances, whole.distances, rtol=1e-6, atol=1e-7)
    assert [row[0] for row in again.names] == names


@pytest.mark.parametrize("metric", ["euclidean", "learned"])
def test_saved_and_loaded(data, metric, tmp_path):
    index = built(data, metric=metric)
    index.save(tmp_path / "index", notes={"reading": {"budget": 60}})
    assert sorted(f.name for f in (tmp_path / "index").iterdir()) == ["model.json", "model.safetensors"]
    other = hf.HFSIndex.load(tmp_path / "index")
    one, two = index.query(data[0][:5]), other.query(data[0][:5])
    assert one.names == two.names
    assert one.labels == two.labels
    assert np.array_equal(one.distances, two.distances)
    assert np.array_equal(index.sketch_of(4), other.sketch_of(4))
    assert other.notes_ == {"reading": {"budget": 60}}
    assert other.metric == metric
    other.add(data[0][:2], labels=["ball", "ball"], names=["x", "y"]).remove(["x"])
    assert len(other) == 37
    other.save(tmp_path / "index")
    assert hf.HFSIndex.load(tmp_path / "index").notes_ == {"reading": {"budget": 60}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _, t: t.update(rows=t["rows"][:, :-1]), "'rows' must be float32"),
        (lambda _, t: t["rows"].__setitem__((0, 0), np.nan), "'rows' holds non-finite"),
        (lambda _, t: t.update(rows=t["rows"].ravel()), "'rows' must be float32"),
        (lambda _, t: t["scale"].__setitem__(0, 0.0), "not above 0"),
        (lambda _, t: t.update(sketches=t["sketches"][1:]), "'sketches' must be uint8"),
        (lambda f, _: f.update(names=f["names"][1:]), "names must have one entry"),
        (lambda f, _: f.update(labels="x" * 36), "labels are not a list"),
        (lambda f, _: f["params"].update(metric="taxi"), "metric must be one of"),
        (lambda f, _: f["params"].update(metric="learned"), "'directions' is missing"),
        (lambda f, _: f["descriptor"].update(n_scales=10**9), "is more than"),
        (lambda _, t: t.update(more=np.zeros(2)), "a tensor 'more'"),
        (lambda _, t: t.pop("mean"), "'mean' is missing"),
    ],
)
def test_a_forged_index_is_a_clear_error(data, tmp_path, change, words):
    built(data).save(tmp_path / "index")
    with pytest.raises(hf.ReadError, match=words):
        hf.HFSIndex.load(forged(tmp_path / "index", change))


def test_evaluate(data):
    scores = built(data).evaluate()
    assert scores.nearest == 1.0
    assert scores.queries == 36
    assert built(data).evaluate(most=10).queries == 10
    learned = built(data, metric="learned").evaluate(folds=3)
    assert learned.nearest == 1.0
    with pytest.raises(ValueError, match="without labels"):
        hf.HFSIndex("desc").build(data[0]).evaluate()


def test_what_an_index_says_of_itself(data):
    assert str(hf.HFSIndex()) == "HFSIndex, not built yet"
    text = str(built(data, metric="cosine"))
    assert "36 clouds" in text
    assert "3 classes: ball, filament, sheet" in text
    assert "query 0" in str(built(data).query(data[0][:10], k=2))


WRONG = [
    (lambda d: hf.HFSIndex("des").build(d[0]), "variant must be one of"),
    (lambda d: hf.HFSIndex(3).build(d[0]), "descriptor must be the name"),
    (lambda d: hf.HFSIndex(metric="taxi").build(d[0]), "metric must be one of .* got 'taxi'"),
    (lambda d: hf.HFSIndex(metric="learned").build(d[0]), "needs labels"),
    (lambda d: hf.HFSIndex(metric="learned").build(d[0], labels=["a"] * 36), "at least two classes"),
    (lambda d: hf.HFSIndex().build(d[0], labels=["a"]), "labels must have one entry for each of 36"),
    (lambda d: hf.HFSIndex().build(d[0], names="abc"), "names must have one entry"),
    (lambda d: hf.HFSIndex().build(d[0], names=["a"] * 36), "names must be distinct, got 'a' twice"),
    (lambda d: hf.HFSIndex().build(d[0], names=[1] * 36), "names must be words, got 1"),
    (lambda d: hf.HFSIndex().build(d[0], labels=["a", 1] * 18), "all words or all numbers"),
    (lambda d: hf.HFSIndex().build(d[0], labels=[float("nan")] * 36), "must not be NaN"),
    (lambda d: hf.HFSIndex().build(d[0][:1]), "at least two that differ"),
    (lambda d: hf.HFSIndex().query(d[0]), "call build\\(\\) first"),
    (lambda d: built(d).query(d[0], k=0), "k must be an integer of at least 1, got 0"),
    (lambda d: built(d).query([np.eye(2)]), "has 2 coordinates per point, but the index was fitted on 3"),
    (lambda d: built(d).query_features(np.ones((2, 5))), r"shape \(N, 336\)"),
    (lambda d: built(d).query_features(np.full((2, 336), np.nan)), "features\\[0\\] holds no finite number"),
    (lambda d: built(d).add(d[0][:1], names=["ball/0.ply"]), "'ball/0.ply' is in the index already"),
    (lambda d: built(d).add(d[0][:1], labels=[3], names=["x"]), "all words or all numbers"),
    (lambda d: built(d).remove(["nobody"]), "'nobody' is not in the index"),
    (lambda d: built(d).remove("nobody"), "must be a list of names"),
    (lambda d: built(d).remove(d[2]), "nothing would be left"),
]


@pytest.mark.parametrize(("act", "words"), WRONG)
def test_what_is_wrong_is_said(data, act, words):
    with pytest.raises(ValueError, match=words):
        act(data)


def test_a_refused_addition_changes_nothing(data):
    index = built(data)
    with pytest.raises(ValueError, match="already"):
        index.add(data[0][:2], names=["new", data[2][0]])
    assert len(index) == len(index.names) == 36


def test_more_numbered_names(data):
    index = hf.HFSIndex("desc").build(data[0][:20]).remove(["3"]).add(data[0][20:22])
    assert index.names[-2:] == ["20", "21"]


def test_paths_are_read_and_are_the_names(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(4):
        hf.write_points(f"{i}.ply", data[0][i])
    index = hf.HFSIndex("desc").build((f"./{i}.ply" for i in range(3)), labels=["a", "b", "c"])
    assert index.names == ["0.ply", "1.ply", "2.ply"]
    index.add([tmp_path / "3.ply"])
    assert index.names[3] == str(tmp_path / "3.ply")
    for given in ("1.ply", [hf.read_cloud("1.ply")], [data[0][1].astype(np.float32)]):
        assert index.query(given, k=1).names == [["1.ply"]]
    with pytest.raises(hf.io.ReadError, match="nowhere"):
        index.query("nowhere.ply")


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "learned"])
def test_clouds_in_other_units_find_themselves(data, metric, tmp_path):
    clouds, labels, names = data
    index = built(data, metric=metric)
    for unit in (1e-6, 1e-8, 1e6):
        index.add(
            [unit * cloud for cloud in clouds], labels=labels, names=[f"{unit} {name}" for name in names]
        )
    index.save(tmp_path / "index")
    index = hf.HFSIndex.load(tmp_path / "index")
    assert len(index) == 4 * len(names)
    for unit in (1.0, 1e-6, 1e-8, 1e6):
        hits = index.query([unit * cloud for cloud in clouds], k=1)
        assert [row[0] for row in hits.names] == [f"{unit} {name}".removeprefix("1.0 ") for name in names]
