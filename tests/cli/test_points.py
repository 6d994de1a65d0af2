"""``heatfield points``: the results of `train_points` and `predict_points`, and what is said."""

import re

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main


def test_the_verbs_write_what_the_functions_write(tmp_path, capsys):
    clouds, labels = hf.datasets.make_forest(3, n_points=500, random_state=3)
    (tmp_path / "in").mkdir()
    for i, (cloud, own) in enumerate(zip(clouds, labels, strict=True)):
        hf.write_points(tmp_path / "in" / f"{i}.ply", cloud, {"label": own})
    (tmp_path / "in" / "broken.ply").write_bytes(b"ply and nothing more")
    words = ["--lengths", "0.3,1", "--iterations", "3", "--folds", "2", "--blocks", "dimension,height"]
    words += ["--class-weight", "none", "--ignore", "3,4", "--n-jobs", "1", "--out", str(tmp_path / "m")]
    assert main(["points", "train", str(tmp_path / "in"), *words]) == 1
    said = capsys.readouterr()
    assert "3 files, 1,500 points, classes 0, 1, 2\n" in said.out
    assert "lengths √t: s0 0.3, s1 1; 3 features per point" in said.out
    assert re.search(r"mean IoU \d+\.\d %, accuracy \d+\.\d % of [\d,]+ points of files", said.out)
    assert "mean IoU lost where a length is shuffled" in said.out
    assert "1 of 4 files failed" in said.err
    model = hf.train_points(
        tmp_path / "in", tmp_path / "again", lengths=[0.3, 1.0], iterations=3, folds=2, ignore=[3, 4],
        blocks=["dimension", "height"], class_weight=None, n_jobs=1,
    )  # fmt: skip
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()

    words = [str(tmp_path / "m"), str(tmp_path / "in" / "0.ply"), "-o", str(tmp_path / "o"), "--n-jobs", "1"]
    assert main(["points", "predict", *words]) == 0
    assert "1 of 1 files" in capsys.readouterr().out
    (file,) = hf.predict_points(model, tmp_path / "in" / "0.ply", tmp_path / "p", n_jobs=1)
    assert file.read_bytes() == (tmp_path / "o" / "0.ply").read_bytes()
    assert main(["points", "predict", *words, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "a.npy", "-o", "m", "--lengths", "a,b"], "must be comma-separated numbers"),
        (["train", "a.npy", "-o", "m", "--folds", "1"], "folds must be at least 2, or 0"),
        (["train", "a.npy", "-o", "m", "--nodes"], "unrecognized arguments: --nodes"),
        (["predict", "none", "a.npy", "-o", "o"], "none: there is no model"),
        ([], "a verb is required: train, predict"),
    ],
)
def test_wrong_words_are_one_line_and_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(3))
    try:
        code = main(["points", *words])
    except SystemExit as end:  # the parser's own
        code = end.code
    said = capsys.readouterr().err
    assert code == 2
    assert message in said
    assert said.count("\n") == 1
