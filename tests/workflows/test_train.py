"""`train_files`: from labelled files to a cross-validated model, stopped or not."""

import json
import re
import threading

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from heatfield.workflows import train as workflow
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.process import interrupted_at

FAST = {"variant": "desc", "head": "lda", "n_scales": 4}
LEARNED = {"variant": "full", "epochs": 2, "n_scales": 3, "blocks": ("dimension", "hds"), "device": "cpu"}


@pytest.fixture
def folder(tmp_path):
    """Two classes in two folders."""
    clouds, labels = some_clouds(20)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(tmp_path / "in" / label / f"c{i:02d}.ply", points)
    return tmp_path / "in"


@pytest.fixture
def with_bad_files(folder):
    """One file that cannot be read, and one that has another dimension."""
    (folder / "ball" / "bad.csv").write_text("x,y,z\n1,2,three\n")
    hf.write_points(folder / "ring" / "flat.npy", np.eye(2))
    return folder


def written(place):
    """All files below a folder, hidden ones too."""
    return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


def names(place):
    return sorted(file.name for file in place.iterdir())


# --- what comes out ------------------------------------------------------------------


def test_a_cross_validated_model_is_saved(with_bad_files, tmp_path):
    model = hf.train_files(with_bad_files, tmp_path / "m", folds=3, **FAST)
    assert isinstance(model, hf.HFSClassifier)
    assert (model.n_clouds_, model.head_, model.classes_.tolist()) == (20, "lda", ["ball", "ring"])
    assert model.files_ == sorted(map(str, with_bad_files.glob("*/*.ply")))
    problems = {error.file.rpartition("/")[2]: error.problem for error in model.errors_}
    assert problems["flat.npy"] == (
        "its points have 2 coordinates where most files have 3; dims=2 takes it instead"
    )
    assert "three" in problems["bad.csv"]
    assert names(tmp_path) == ["in", "m", "m.confusion.png", "m.errors.csv", "m.report.json"]
    assert (tmp_path / "m.confusion.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "m.errors.csv").read_text().count("\n") == 3
    clouds = [hf.read_points(file) for file in sorted(with_bad_files.glob("*/*.ply"))]
    loaded = hf.HFSClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(clouds), model.predict_proba(clouds))
    direct = hf.HFSClassifier(**FAST).fit(clouds, ["ball"] * 10 + ["ring"] * 10)
    np.testing.assert_array_equal(direct.predict_proba(clouds), model.predict_proba(clouds))
    assert loaded.unlike([1000 * clouds[0]]) == direct.unlike([1000 * clouds[0]]) != {}


def test_the_scores_are_those_of_unseen_clouds(folder, tmp_path):
    model = hf.train_files(folder, tmp_path / "m", folds=3, **FAST)
    found = model.cross_validation_
    assert sorted(found.folds.tolist()) == [0] * 7 + [1] * 7 + [2] * 6
    clouds = [hf.read_points(file) for file in sorted(folder.glob("*/*.ply"))]
    for fold in range(3):
        own = hf.HFSClassifier(**FAST)
        seen = [c for c, k in zip(clouds, found.folds, strict=True) if k != fold]
        own.fit(seen, found.labels[found.folds != fold])
        held = [c for c, k in zip(clouds, found.folds, strict=True) if k == fold]
        assert found.predicted[found.folds == fold].tolist() == own.predict(held).tolist()
    report = json.loads((tmp_path / "m.report.json").read_text())
    figures = report["cross_validation"]
    assert report["clouds"] == 20
    assert report["settings"]["variant"] == "desc"
    assert figures == json.loads(json.dumps(found.report()))
    assert np.sum(figures["confusion"]) == 20
    assert figures["mACC"]["mean"] == pytest.approx(np.mean(figures["mACC"]["by_fold"]))
    assert figures["recall"]["ball"] == figures["confusion"][0][0] / 10


@pytest.mark.parametrize("variant", ["full", "dgcnn"])
def test_a_learned_variant_leaves_nothing_behind(folder, tmp_path, variant):
    pytest.importorskip("torch")
    small = {"k": 4, "widths": (8,), "embedding": 16, "head": (8,)} if variant == "dgcnn" else None
    options = LEARNED | {"variant": variant, "network": small}
    model = hf.train_files(folder, tmp_path / "m", folds=2, train_points=10, **options)
    assert names(tmp_path) == ["in", "m", "m.confusion.png", "m.report.json"]
    again = hf.HFSNetworkClassifier.load(tmp_path / "m", device="cpu")
    clouds = [hf.read_points(file) for file in sorted(folder.glob("*/*.ply"))]
    np.testing.assert_array_equal(again.predict_proba(clouds), model.predict_proba(clouds))
    assert (again.variant, model.checkpoint, len(again.history_)) == (variant, None, 2)
    closed = hf.train_files(folder, folds=2, variant="joint", head="lda").cross_validation_
    assert model.cross_validation_.closed_form == closed.scores["mACC"]["mean"] == 1.0
    worse = model.cross_validation_.scores["mACC"]["mean"] < 1.0
    assert ("the closed form is better with so few clouds" in str(model.cross_validation_)) == worse


def test_older_figures_do_not_stay(with_bad_files, tmp_path):
    hf.train_files(with_bad_files, tmp_path / "m", folds=2, **FAST)
    (with_bad_files / "ball" / "bad.csv").unlink()
    (with_bad_files / "ring" / "flat.npy").unlink()
    hf.train_files(with_bad_files, tmp_path / "m", folds=0, **FAST)
    assert names(tmp_path) == ["in", "m"]


def test_auto_says_what_it_chose(folder):
    model = hf.train_files(folder, n_scales=3, folds=0)
    assert re.match(
        r"read-out .*(lda|svm).*, the best by mean accuracy over classes \(.*lda .*svm",
        model.choice(),
    )


@pytest.mark.parametrize("kind", ["closed", "learned"])
def test_shared_lengths_of_files_are_those_of_their_clouds(folder, kind):
    pytest.importorskip("torch")
    files = sorted(folder.glob("*/*.ply"))
    expected = hf.HFSDescriptor("simple", n_scales=3, lengths="shared").fit(
        [hf.read_points(file) for file in files]
    )
    own = (FAST if kind == "closed" else LEARNED) | {"n_scales": 3, "lengths": "shared"}
    model = hf.train_files(folder, folds=0, **own)
    np.testing.assert_allclose(model.lengths, expected.lengths_, rtol=1e-12)
    table = hf.describe_files(folder, variant="simple", n_scales=3, lengths="shared")
    np.testing.assert_allclose(table.lengths, np.tile(expected.lengths_, (len(files), 1)), rtol=1e-12)


def test_labels_from_a_table_or_a_mapping(folder, tmp_path):
    files = sorted(folder.glob("*/*.ply"))
    table = {str(f.relative_to(folder)): "odd" if int(f.stem[1:]) % 2 else "even" for f in files[:-2]}
    lines = [f"{file},{label}" for file, label in table.items()]
    (tmp_path / "labels.csv").write_text("file,label\n" + "\n".join([*lines, "ring/c19.ply,"]) + "\n")
    by_table = hf.train_files(folder, labels=tmp_path / "labels.csv", folds=2, **FAST)
    by_mapping = hf.train_files(folder, labels=table, folds=2, **FAST)
    assert by_table.classes_.tolist() == by_mapping.classes_.tolist() == ["even", "odd"]
    assert by_table.n_clouds_ == by_mapping.n_clouds_ == 18  # files without a label are left alone


def test_clouds_without_features_cost_themselves_only(folder):
    pytest.importorskip("torch")
    hf.write_points(folder / "ball" / "tiny.npy", 1e-120 * np.random.default_rng(0).normal(size=(30, 3)))
    hf.write_points(folder / "ring" / "spot.ply", np.ones((5, 3)))
    for own in (FAST, LEARNED):
        model = hf.train_files(folder, folds=0, **own)
        assert model.n_clouds_ == len(model.files_) == 20
        tiny, spot = model.errors_
        assert "change the unit" in tiny.problem
        assert spot.problem == "it has fewer than two distinct points"


def test_rare_and_lost_classes_are_said(folder):
    (folder / "solo").mkdir()
    (folder / "lost").mkdir()
    (folder / ".hidden").mkdir()
    for name in ("solo", ".hidden"):
        hf.write_points(folder / name / "a.ply", np.random.default_rng(0).normal(size=(20, 3)))
    (folder / "lost" / "a.csv").write_text("x,y,z\n1,2,three\n")
    with pytest.warns(hf.HeatFieldWarning) as said:
        model = hf.train_files(folder, variant="desc", head="svm", n_scales=3)
    assert [str(w.message) for w in said] == [
        "class 'lost' is left out, no file of it could be used",
        "no cross-validation, class 'solo' has one cloud only",
    ]
    assert {w.filename for w in said} == {__file__}
    assert model.cross_validation_ is None
    assert model.classes_.tolist() == ["ball", "ring", "solo"]
    (folder / "lost" / "a.csv").unlink()
    hf.write_points(folder / "solo" / "b.ply", np.random.default_rng(1).normal(size=(20, 3)))
    with pytest.warns(hf.HeatFieldWarning, match="2 folds instead of 5: class 'solo' has 2 clouds"):
        model = hf.train_files(folder, variant="desc", head="svm", n_scales=3)
    assert model.cross_validation_.folds.max() == 1


# --- groups --------------------------------------------------------------------------


@pytest.fixture
def sites(folder, tmp_path):
    """A table of groups: four sites, each with files of both classes."""
    files = sorted(str(f.relative_to(folder)) for f in folder.glob("*/*.ply"))
    own = {file: f"site{int(file[-6:-4]) % 8 // 2}" for file in files}
    lines = [f"{file},{site}" for file, site in own.items()]
    (tmp_path / "sites.csv").write_text("file,group\n" + "\n".join(lines) + "\n")
    return own, tmp_path / "sites.csv"


def test_no_group_is_on_both_sides_of_a_fold(folder, sites, monkeypatch):
    seen = []
    real = workflow._fit_rows

    def noted(model, features, labels, groups, n_dims, rows):
        seen.append((set(groups[rows]), len(rows)))
        real(model, features, labels, groups, n_dims, rows)

    monkeypatch.setattr(workflow, "_fit_rows", noted)
    own, table = sites
    for groups in (own, table):
        seen.clear()
        with pytest.warns(hf.HeatFieldWarning, match="4 folds instead of 5: groups stay together"):
            model = hf.train_files(folder, groups=groups, n_jobs=1, **FAST)
        found = model.cross_validation_
        site = np.array([own[str(f.relative_to(folder))] for f in sorted(folder.glob("*/*.ply"))])
        for fold in range(4):
            assert len({*site[found.folds == fold]}) == 1
            assert {*site[found.folds == fold]}.isdisjoint(seen[fold][0])
        assert seen[4] == ({*site}, 20)


def test_groups_decide_the_validation_of_a_network(folder, sites):
    pytest.importorskip("torch")
    model = hf.train_files(folder, groups=sites[0], folds=2, validation=0.3, **LEARNED)
    assert "validation_loss" in model.history_[0]


@pytest.mark.parametrize(
    ("of", "options", "message"),
    [
        (lambda f: f.split("/")[0], {"head": "lda"}, "class 'ball' lies in one group: it cannot be learnt"),
        (
            lambda f: f.split("/")[0] + str(int(f[-5]) < 5),
            {"head": "auto"},
            "without fold 1 of 2: head='auto' is chosen by cross-validation: class 'ball' lies in one group",
        ),
        (lambda _: "all", {"head": "lda"}, "class 'ball' lies in one group"),
    ],
)
def test_a_class_in_one_group_is_said_first(folder, sites, of, options, message, monkeypatch):
    monkeypatch.setattr(workflow, "describe_usable", lambda *_: pytest.fail("files were described first"))
    groups = {file: of(file) for file in sites[0]}
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        hf.train_files(folder, groups=groups, variant="simple", **options)


def test_every_labelled_file_needs_a_group(folder, sites):
    own = dict(list(sites[0].items())[1:])
    with pytest.raises(ValueError, match=r"groups names no group of '.*ball/c00.ply'; every file needs one"):
        hf.train_files(folder, groups=own, **FAST)
    labels = {file: file.split("/")[0] for file in own}
    assert hf.train_files(folder, groups=own, labels=labels, folds=2, **FAST).n_clouds_ == 19


# --- wrong input ---------------------------------------------------------------------

WRONG = [
    (("{t}/none", "{t}/m"), {}, "there is no file or folder"),
    (("{t}", "{t}/no/m"), {}, "there is no folder"),
    (("{t}/in/ball", "{t}/m"), {}, "must hold at least two classes, got none; each folder in it is a class"),
    (("{t}/in", "{t}/in"), {}, "it exists and is not a folder with a model only"),
    (("{t}/in", "."), {}, "give the name of a new folder"),
    (("{t}/in", "{t}/m"), {"batch_size": 8}, "batch_size=8 is an option of the learned variants, full and"),
    (("{t}/in", "{t}/m"), {"executor": "nowhere"}, "executor must be 'threads', 'processes'"),
]
WRONG_LEARNED = [
    ({"patience": 3}, "patience=3 needs validation"),
    ({"head": "lda"}, "head='lda' is an option of the closed form, got variant='full'"),
    ({"device": "abacus"}, "device='abacus' cannot be used"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("places", "options", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_input_is_said_before_the_work(tmp_path, places, options, message, monkeypatch):
    if "executor" not in options:
        monkeypatch.setattr(workflow, "describe_usable", lambda *_: pytest.fail("files were described first"))
    with pytest.raises(ValueError, match=re.escape(message)):
        hf.train_files(*(place.format(t=tmp_path) for place in places), **options)
    assert names(tmp_path) == ["in"]


@pytest.mark.parametrize(("options", "message"), WRONG_LEARNED, ids=lambda value: str(value)[:40])
def test_wrong_training_is_said_before_the_work(folder, options, message, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(workflow, "read_usable", lambda *_: pytest.fail("files were read first"))
    with pytest.raises(ValueError, match=re.escape(message)):
        hf.train_files(folder, variant="full", **options)


def test_a_class_too_rare_in_a_fold_is_said_first(folder, monkeypatch):
    """Validation needs two clouds of every class, and one fold has one of them."""
    pytest.importorskip("torch")
    monkeypatch.setattr(workflow, "read_usable", lambda *_: pytest.fail("files were read first"))
    files = sorted(str(f.relative_to(folder)) for f in folder.glob("*/*.ply"))
    labels = {f: f.split("/")[0] for f in files} | {files[0]: "solo", files[1]: "solo"}
    with pytest.raises(ValueError, match=r"without fold 1 of 2: validation=0.3 .* class 'solo' has 1"):
        hf.train_files(folder, labels=labels, folds=2, validation=0.3, **LEARNED)


# --- stopped, resumed, elsewhere -----------------------------------------------------


@pytest.mark.parametrize("where", ["beside", "among"])
def test_a_stopped_training_goes_on(folder, tmp_path, where, monkeypatch):
    """Also with a model among the classes: what it keeps there is no class of its own."""
    hf.train_files(folder, tmp_path / "whole", folds=3, **FAST)
    model = (tmp_path if where == "beside" else folder) / "m"
    with monkeypatch.context() as patch:
        patch.setattr(workflow, "_fit_rows", interrupted_at(2, workflow._fit_rows))
        with pytest.raises(KeyboardInterrupt):
            hf.train_files(folder, model, folds=3, n_jobs=1, **FAST)
    assert not model.exists()
    (model.with_name("m.parts") / "mine.txt").write_text("not of the training")
    described, fitted = [], []
    real = workflow._fit_rows
    monkeypatch.setattr("heatfield.workflows.describe.describe_some", lambda *_: described.append(1))
    monkeypatch.setattr(workflow, "_fit_rows", lambda *given: (fitted.append(1), real(*given)))
    hf.train_files(folder, model, folds=3, n_jobs=2, **FAST)
    assert (len(described), len(fitted)) == (0, 3)  # two folds, and the model
    assert written(model) == written(tmp_path / "whole")
    ours, its = (p.with_name(p.name + ".report.json").read_text() for p in (model, tmp_path / "whole"))
    assert ours == its
    assert names(model.with_name("m.parts")) == ["mine.txt"]  # only what it kept is removed


def test_a_stopped_network_goes_on(folder, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    from heatfield.nn import training

    options = LEARNED | {"epochs": 4, "folds": 2}
    hf.train_files(folder, tmp_path / "whole", **options)
    epochs = []
    monkeypatch.setattr(training, "_one_epoch", interrupted_at(7, training._one_epoch, epochs))
    with pytest.raises(KeyboardInterrupt):
        hf.train_files(folder, tmp_path / "m", **options)
    assert len(list((tmp_path / "m.parts").glob("*.checkpoint"))) == 2
    hf.train_files(folder, tmp_path / "m", n_jobs=1, **options)
    assert len(epochs) == 1 + 12  # two folds and the model, each once
    assert written(tmp_path / "m") == written(tmp_path / "whole")
    assert not (tmp_path / "m.parts").exists()
    torch.set_num_threads(threads)


@pytest.mark.parametrize("executor", ["threads", "processes", "shared_cluster"])
def test_every_executor_gives_the_same_bits(folder, tmp_path, executor, request):
    if executor == "shared_cluster":
        executor = request.getfixturevalue(executor).address
    options = {"folds": 3, "variant": "simple", "n_scales": 3, "head": "svm"}
    hf.train_files(folder, tmp_path / "one", n_jobs=1, **options)
    hf.train_files(folder, tmp_path / "two", n_jobs=2, executor=executor, **options)
    assert written(tmp_path / "one") == written(tmp_path / "two")
    one, two = (json.loads((tmp_path / f"{name}.report.json").read_text()) for name in ("one", "two"))
    assert one == two


def test_linear_algebra_has_one_thread_while_anyone_fits():
    """And as many as before when the last is done, whoever came first."""
    from threadpoolctl import threadpool_info

    from heatfield._base.threads import one_algebra_thread

    def limits():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    before, inside, leave = limits(), threading.Event(), threading.Event()

    def other():
        with one_algebra_thread():
            inside.set()
            leave.wait()

    with one_algebra_thread():
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
    assert limits() == {1}
    leave.set()
    thread.join()
    assert limits() == before


# --- the verb ------------------------------------------------------------------------


def test_the_verb_says_what_matters(folder, tmp_path, capsys):
    (folder / "solo").mkdir()
    hf.write_points(folder / "solo" / "a.ply", np.random.default_rng(0).normal(size=(20, 3)))
    words = ["train", str(folder), "-o", str(tmp_path / "m"), "--head", "svm", "--n-scales", "3"]
    assert main(words) == 0
    out, said = capsys.readouterr()
    assert f"model -> {tmp_path / 'm'}" in out
    assert "heatfield train: no cross-validation, class 'solo' has one cloud only\n" in said
    assert "heatfield train: probabilities of support vectors are not calibrated" in said
    assert main([*words, "--variant", "full"]) == 2
    assert "heatfield train: head='svm' is an option of the closed form" in capsys.readouterr().err
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
