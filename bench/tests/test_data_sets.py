"""Data sets: splits and scores, folds that split no group, and the loaders of published files."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

import heatfield as hf
import heatfield_bench as hb
from heatfield.cli import main
from heatfield_bench import Protocol, datasets
from heatfield_bench._evaluate import scores
from heatfield_bench._grid import difference, mean_of
from heatfield_bench._results import Store
from heatfield_bench._run import asked_jobs, new_context
from heatfield_bench._sets import ORBITS, REAL, Size, splits_digest

rng = np.random.default_rng(0)
CLOUDS = [rng.normal(size=(5, 2)) for _ in range(60)]
LABELS = np.repeat([0, 1, 2], 20)


def test_splits_are_stratified_and_the_same_for_the_same_content():
    first, again = ORBITS.tests(CLOUDS, LABELS), ORBITS.tests(CLOUDS, LABELS)
    assert len(first) == 20
    assert all(np.bincount(LABELS[t]).tolist() == [6, 6, 6] for t in first)
    assert splits_digest(first) == splits_digest(again)
    moved = [CLOUDS[0] + 1e-9, *CLOUDS[1:]]
    assert splits_digest(ORBITS.tests(moved, LABELS)) != splits_digest(first)


def test_folds_test_every_cloud_once():
    tests = REAL.tests(CLOUDS, LABELS)
    assert len(tests) == 5
    assert (np.sum(tests, axis=0) == 1).all()


def test_scores_by_hand():
    truth = np.array(["a", "a", "a", "b", "b", "c"])
    said = np.array(["a", "a", "b", "b", "a", "a"])
    found = scores(truth, said)
    assert found["oa"] == 50.0
    assert found["macc"] == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3, abs=1e-3)
    assert found["f1"] == pytest.approx(100 * (4 / 7 + 1 / 2 + 0) / 3, abs=1e-3)


def test_a_class_that_is_only_predicted_does_not_count():
    assert scores(np.array([0, 0]), np.array([0, 9]))["macc"] == 50.0


def test_the_difference_is_student_s_but_for_the_correction():
    a = {k: 90.0 + v for k, v in enumerate([1.0, 2.0, 0.5, 1.5, 3.0])}
    b = {k: 90.0 + v for k, v in enumerate([0.5, 0.5, 1.0, 1.0, 1.0])} | {9: 50.0}  # split 9 is not common
    gaps = np.array([a[k] - b[k] for k in range(5)])
    plain = ttest_rel([a[k] for k in range(5)], [b[k] for k in range(5)])
    folds = Protocol("folds", 5, 0.2, "macc")
    found = difference(a, b, folds)
    assert found.n == 5
    assert found.mean == pytest.approx(gaps.mean())
    uncorrected = gaps.std(ddof=1) / np.sqrt(5)
    assert found.mean / uncorrected == pytest.approx(plain.statistic)
    # 1/5 + 0.2/0.8 in place of 1/5.
    assert found.error == pytest.approx(uncorrected * np.sqrt((0.2 + 0.25) / 0.2))
    assert found.p > plain.pvalue


def test_one_common_split_has_no_error():
    found = difference({0: 2.0}, {0: 1.0, 1: 3.0}, REAL)
    assert found.mean == 1.0
    assert np.isnan(found.error)


def test_the_mean_of_one_split_has_no_spread():
    assert np.isnan(mean_of({0: 1.0}).sd)
    assert mean_of({}).n == 0


KEPT = Path(__file__).parents[1] / "results"


@pytest.fixture
def folder(tmp_path):
    """Two classes of twelve clouds, the first of each laboratory first by name."""
    rng = np.random.default_rng(0)
    rows = ["file,laboratory,group"]
    for name, flat in (("flat", 0.05), ("round", 1.0)):
        (tmp_path / "clouds" / name).mkdir(parents=True)
        for k in range(12):
            hf.write_points(
                tmp_path / "clouds" / name / f"{k:02}.ply", rng.normal(size=(30, 3)) * [1, 1, flat]
            )
            rows.append(f"{name}/{k:02}.ply,x,lab {k // 3}")
    (tmp_path / "labs.csv").write_text("\n".join(rows))
    return tmp_path


def loaded(folder, size, **groups):
    context = new_context("smoke", {"mine": folder / "clouds"}, folder / "out", ["mine"], None, groups)
    (entry,) = context.available()
    return entry, context.load(entry, size)


@pytest.mark.parametrize("size", [Size(), Size(clouds=4), Size(clouds=5, points=8)], ids=str)
def test_no_fold_splits_a_group(folder, size):
    entry, data = loaded(folder, size, mine=folder / "labs.csv")
    assert entry.name == "mine.grouped"
    assert entry.protocol.count == len(data.tests) == 4
    count = 12 if size.clouds is None else size.clouds
    assert len(data.labels) == 2 * count
    if size.clouds is None:
        lab = np.tile(np.arange(12) // 3, 2)
        assert all({*lab[test]}.isdisjoint(lab[~test]) for test in data.tests)
    assert (np.sum(data.tests, axis=0) == 1).all()


def test_a_mapping_is_a_table(folder):
    rows = [line.split(",") for line in (folder / "labs.csv").read_text().splitlines()[1:]]
    read = loaded(folder, Size(), mine=folder / "labs.csv")[1].metadata()
    assert loaded(folder, Size(), mine={file: group for file, _, group in rows})[1].metadata() == read


def test_keys_without_groups_are_the_same_with_the_option(folder):
    def keys(**groups):
        data = {"mine": folder / "clouds", "other": folder / "clouds"}
        context = new_context("paper", data, folder / "out", ["other"], ["HFS-desc"], groups)
        found = asked_jobs(context, ["main"])
        return [(job.key.name, job.metadata(context)) for job in found]

    plain = keys()
    assert keys(mine=folder / "labs.csv") == plain
    assert [name.split("/")[0] for name, _ in plain] == ["other"]
    (job,) = asked_jobs(new_context("paper", None, folder / "out", ["orbit5k"], ["HFS-desc"]), ["main"])
    assert job.key.name in {record.key.name for record in Store(KEPT).records()}


def test_the_page_shows_groups_as_a_column(folder, capsys):
    words = ["bench", "main", "--methods", "HFS-simple", "--sets", "mine", "--results", str(folder / "out")]
    words += ["--data", f"mine={folder / 'clouds'}"]
    assert main(words) == 0
    assert main([*words, "--groups", f"mine={folder / 'labs.csv'}"]) == 0
    assert "2 cells computed, 0 were there" in capsys.readouterr().out
    page = (folder / "out" / "tables-smoke.md").read_text()
    assert "| mine | mine, whole groups |" in page
    assert "mine, whole groups: 4 folds of whole groups, of which there are 4." in page


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"other": "labs.csv"}, "groups of 'other', which has no folder"),
        ({"mine": {"flat/00.ply": "a"}}, "name no group of '.*flat/01.ply'; every file needs one"),
        ({"mine": "one.csv"}, "mine: class 'flat' lies in one group"),
        ({"mine": "none.csv"}, "names none of the 24 files"),
    ],
)
def test_wrong_groups_are_said_before_the_work(folder, groups, message):
    lines = (folder / "labs.csv").read_text().splitlines()
    one = [line.rpartition(",")[0] + ",a" if line.startswith("flat") else line for line in lines]
    (folder / "one.csv").write_text("\n".join(one))
    (folder / "none.csv").write_text("file,group\nx.ply,a\n")
    given = {name: table if isinstance(table, dict) else folder / table for name, table in groups.items()}
    with pytest.raises(ValueError, match=message):
        hb.run("main", data={"mine": folder / "clouds"}, groups=given, results=folder / "out", progress=False)


def test_a_made_data_set_takes_no_groups(folder):
    with pytest.raises(ValueError, match="groups of 'orbit5k', which has no folder"):
        hb.run("main", groups={"orbit5k": {}}, results=folder / "out", progress=False)


RNG = np.random.default_rng(0)
SWC = b"# made up\n1 1 0 0 0 1 -1\n2 3 10 0 0 1 1\n3 3 10 5 0 1 2\n"


def test_neuromorpho(tmp_path):
    for name in datasets.NEUROMORPHO_CLASSES:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}-1.CNG.swc").write_bytes(SWC)
        (tmp_path / name / f"{name}-2.CNG.swc.gz").write_bytes(gzip.compress(SWC))
    dataset = datasets.load("neuromorpho", tmp_path)
    clouds, labels = dataset
    assert len(dataset) == 18
    assert np.bincount(labels).tolist() == [2] * 9
    assert {c.shape for c in clouds} == {(1024, 3)}
    assert len(datasets.load("neuromorpho", tmp_path, per_class=1, budget=10)) == 9


def test_allen(tmp_path):
    lines = ["pointcloud_path,CellId,structure_name,cell_stage,split"]
    number = 100
    for structure in (*datasets.ALLEN_STRUCTURES, "TUBA1B"):
        for stage in ("M0", "M0", "M1M2"):
            number += 1
            lines.append(f"/somewhere/{number}.ply,{number},{structure},{stage},train")
            columns = {"s": np.arange(30.0)}
            hf.write_points(tmp_path / f"{number}.ply", RNG.normal(size=(30, 3)), columns)
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    dataset = datasets.load("allen", tmp_path, budget=20)
    assert np.bincount(dataset.labels).tolist() == [2] * 7
    assert dataset.classes == datasets.ALLEN_STRUCTURES
    assert {c.shape for c in dataset.clouds} == {(20, 3)}
    assert len(datasets.load("allen", tmp_path, per_class=1)) == 7


def test_for_species20k(tmp_path):
    (tmp_path / "train").mkdir()
    lines = ["treeID,species,genus,dataset,data_type,tree_H,filename"]
    tree = 70
    for species in (*datasets.FOR_SPECIES, "Larix_decidua"):
        for kind in ("TLS", "TLS", "ULS"):
            tree += 1
            lines.append(f"{tree},{species},{species.split('_')[0]},made,{kind},20.1,/train/{tree:05d}.las")
            hf.write_points(tmp_path / "train" / f"{tree:05d}.las", RNG.normal(size=(25, 3)).round(3))
    (tmp_path / "tree_metadata_dev.csv").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    dataset = datasets.load("for_species20k", tmp_path, budget=16)
    assert np.bincount(dataset.labels).tolist() == [2] * 15
    assert {c.shape for c in dataset.clouds} == {(16, 3)}


def test_scop(tmp_path):
    fastavro = pytest.importorskip("fastavro")
    numbers = {"type": "array", "items": "float"}
    parts = {
        "protein": [{"name": "ID", "type": "string"}, {"name": "SCOP-CF", "type": ["null", "string"]}],
        "residue": [{"name": axis, "type": numbers} for axis in "xyz"],
    }
    fields = [{"name": k, "type": {"type": "record", "name": k + "_", "fields": v}} for k, v in parts.items()]
    schema = {"type": "record", "name": "entry", "fields": fields}
    sizes = {"a.1": 5, "b.2": 4, "c.3": 1}
    entries = []
    for fold, count in sizes.items():
        for i in range(count):
            m = 40 if i else 9
            entries.append(
                {
                    "protein": {"ID": f"{fold}-{i}", "SCOP-CF": fold},
                    "residue": {axis: RNG.normal(size=m).tolist() for axis in "xyz"},
                }
            )
    with gzip.open(tmp_path / "SCOPDataset.residue.avro.gz", "wb") as file:
        fastavro.writer(file, schema, entries)
    dataset = datasets.load("scop", tmp_path, per_class=4, budget=20)
    assert dataset.classes == ("a.1", "b.2", "c.3")
    assert [len(c) for c in dataset.clouds] == [*[9, 20, 20, 20] * 2, 9]
    (tmp_path / "SCOPDataset.residue.avro.gz").write_bytes(gzip.compress(b"Obj\x01damaged"))
    with pytest.raises(hf.ReadError, match="damaged"):
        datasets.load("scop", tmp_path)


def test_intra(tmp_path):
    names = {
        "generated/vessel/ad": ["v1.ad", "v2.ad", "v3.ad"],
        "generated/aneurysm/ad": ["a1.ad", "a2.ad"],
        "annotated/ad": ["AN1-_norm.ad", "AN1.ad"],
    }
    for folder, files in names.items():
        (tmp_path / folder).mkdir(parents=True)
        for file in files:
            np.savetxt(tmp_path / folder / file, np.c_[RNG.normal(size=(12, 6)), np.ones(12)])
    (tmp_path / "fileSplit/cls").mkdir(parents=True)
    for k in range(5):
        (tmp_path / f"fileSplit/cls/ann_clsSplit_{k}.txt").write_text(
            f"generated/aneurysm/ad/a{k % 2 + 1}.ad\n"
        )
        (tmp_path / f"fileSplit/cls/negSplit_{k}.txt").write_text(f"generated/vessel/ad/v{k % 3 + 1}.ad\n")
    dataset = datasets.load("intra", tmp_path)
    assert dataset.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert {c.shape for c in dataset.clouds} == {(12, 3)}
    assert [f.tolist() for f in dataset.folds[:2]] == [[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]


def test_atlas1(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        hf.write_points(tmp_path / name / "1.ply", np.eye(3))
    assert datasets.load("atlas1", tmp_path).classes == ("a", "b")


@pytest.mark.parametrize("name", ["neuromorpho", "allen", "for_species20k", "scop", "intra", "atlas1"])
def test_what_to_do_is_reported_where_there_is_nothing(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=r"root=") as caught:
        datasets.load(name, tmp_path / "nothing")
    assert "nothing" in str(caught.value)
