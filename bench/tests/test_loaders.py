"""Loaders on made-up copies in the exact layout of the sources."""

import gzip

import numpy as np
import pytest

import heatfield as hf
from heatfield_bench import datasets

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
