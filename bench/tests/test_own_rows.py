"""Methods and data sets that users add, and how few clouds they may have.

The registry of baselines.
"""

import inspect
import json
import re
from dataclasses import replace
from inspect import Parameter

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import heatfield as hf
import heatfield_bench as hb
import heatfield_bench._run as api
from benchmarks.lib.results import DOCS
from heatfield_bench import DATA_SETS, METHODS, DataSet, Method, Protocol, _tools, run, show
from heatfield_bench._results import Store
from heatfield_bench._sets import Size, load
from heatfield_bench.baselines import registry
from heatfield_bench.tables import table
from tests.helpers.files import write_two_classes
from tests.helpers.process import run_python

SEEDS: list = []


class Widths:
    """A descriptor without any base class."""

    def __init__(self, power=1):
        self.power = power

    def fit_transform(self, clouds):
        return np.array([np.sort(cloud.std(axis=0)) ** self.power for cloud in clouds])


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier as scikit-learn has them."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, clouds, labels):
        SEEDS.append(self.random_state)
        table = Widths().fit_transform(clouds)
        self.classes_ = np.unique(labels)
        self.means_ = np.array([table[labels == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, clouds):
        gaps = Widths().fit_transform(clouds)[:, None] - self.means_
        return self.classes_[(gaps**2).sum(axis=2).argmin(axis=1)].tolist()


class Flat:
    def fit_transform(self, clouds):
        return np.zeros(len(clouds))


def shapes(count=12):
    """A loader of two classes that takes no notice of the size that is asked for."""
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(40, 3)) * [1, 1, height] for height in (0.2, 1.0) for _ in range(count)]
    return lambda _folder, _size: (clouds, np.repeat(["flat", "round"], count))


def add_shapes(protocol, count=12, name="shapes", **more):
    DATA_SETS[name] = DataSet(name, "The shapes", "made up", shapes(count), protocol, **more)


@pytest.fixture(autouse=True)
def as_before():
    """What a test adds to the registries is gone after it."""
    kept = [(entries, dict(entries)) for entries in (METHODS, DATA_SETS)]
    yield
    for entries, before in kept:
        entries.clear()
        entries.update(before)


def test_the_example_of_the_guide(tmp_path, monkeypatch):
    text = (DOCS / "guide" / "baselines.md").read_text()
    (code,) = re.findall(r"## A row or a column of your own\n.*?```python\n(.*?)```", text, flags=re.S)
    monkeypatch.chdir(tmp_path)
    found: dict = {"__name__": "notebook"}
    exec(code, found)
    table, differences = found["table"], found["differences"]
    assert table.columns == differences.columns == ("Discs",)
    assert [label for label, _ in table.rows] == ["HFS-desc", "widths"]  # those of users come last
    for _, (cell,) in table.rows:
        assert (cell.ours.n, cell.expected, cell.remarks) == (10, 10, ())
        assert cell.ours.mean > 90.0
    assert [label for label, _ in differences.rows] == ["widths"]


def test_a_classifier_of_one_s_own(tmp_path):
    add_shapes(Protocol("splits", 3, 0.25, "macc"))
    METHODS["nearest"] = Method("nearest", "classifier", Nearest)
    SEEDS.clear()
    counts = run("main", methods="nearest", sets="shapes", budget="reduced", results=tmp_path, progress=False)
    assert counts["computed"] == 3
    assert SEEDS == [0, 1, 2]
    (record,) = Store(tmp_path).records()
    assert record.key.recipe["kind"] == f"{__name__}.Nearest"
    assert record.key.budget == "paper"  # nothing had to be reduced
    (grid,) = show("main", results=tmp_path)
    assert grid.rows[0][1][0].ours.mean == 100.0


def test_only_what_users_add_is_a_further_row():
    before = table("main").rows()
    METHODS["mine"] = Method("mine", "descriptor", Widths)
    METHODS["other table"] = Method("other table", "descriptor", Widths, group="curve")
    assert table("main").rows() == [*before, ("mine", "mine")]


def test_a_class_derived_from_a_descriptor_has_its_blocks(tmp_path):
    class Derived(hf.HFSDescriptor):
        pass

    add_shapes(Protocol("splits", 1, 0.25, "oa"))
    METHODS["mine"] = Method("mine", "descriptor", Derived, {"variant": "desc"}, ("density",), "lda")
    METHODS["theirs"] = replace(METHODS["mine"], name="theirs", kind=hf.HFSDescriptor)
    assert (
        run("main", methods=["mine", "theirs"], sets="shapes", results=tmp_path, progress=False)["failed"]
        == 0
    )
    columns = [cell["columns"] for r in Store(tmp_path).records() for cell in r.cells.values()]
    assert len(columns) == 2
    assert len(set(columns)) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Method("m", "tree", Widths), "family must be one of 'descriptor'.*got 'tree'"),
        (lambda: Method("m", "descriptor", Widths, head="knn"), "head must be one of"),
        (lambda: Method("m", "descriptor", Nearest), "'m', a descriptor, must have the method fit_transform"),
        (lambda: Method("m", "classifier", Widths), "must have the method fit and predict"),
        (lambda: Method("m", "classifier", Nearest()), "kind of 'm' must be a class, got Nearest"),
        (lambda: Method("m", "descriptor", Widths, blocks=("a",)), "Widths has no layout"),
        (lambda: Method("m", "descriptor", Widths, {"a": np.ones(2)}), "options of 'm' must be plain values"),
        (lambda: Method("m", "descriptor", Widths, extras="torch"), "extras must be a tuple"),
        (lambda: Method("m", "descriptor", Widths, extras=("a b",)).missing(), "of modules, got 'a b'"),
        (lambda: Protocol("split", 2, 0.5, "oa"), "kind must be one of 'splits', 'folds', got 'split'"),
        (lambda: Protocol("folds", 1, 0.5, "oa"), "count must be an integer of at least 2, got 1"),
        (lambda: Protocol("splits", 2, 0.5, "f1"), "metric must be one of 'oa', 'macc', got 'f1'"),
        (lambda: Protocol("splits", 2, 1.0, "oa"), "share must lie between 0 and 1, got 1.0"),
    ],
)
def test_an_entry_that_cannot_work_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_other_extras_are_modules(tmp_path):
    add_shapes(Protocol("splits", 1, 0.25, "oa"))
    METHODS["mine"] = Method("mine", "descriptor", Widths, extras=("json", "torch", "no_such.module"))
    assert METHODS["mine"].missing() == ["no_such.module"]
    with pytest.raises(ValueError, match=r"is in the table main; .* mine needs no_such.module"):
        run("main", methods="mine", sets="shapes", results=tmp_path)


def test_a_table_of_another_shape_is_named(tmp_path, capsys):
    add_shapes(Protocol("splits", 1, 0.25, "oa"))
    METHODS["mine"] = Method("mine", "descriptor", Flat)
    assert run("main", methods="mine", sets="shapes", results=tmp_path, progress=False)["failed"] == 1
    assert "must give a row for each of 20 clouds, got shape (20,)" in capsys.readouterr().err


def test_an_own_data_set_is_shown_as_given_also_by_another_process(tmp_path):
    add_shapes(Protocol("splits", 1, 0.25, "oa"))
    METHODS["mine"] = Method("mine", "descriptor", Widths, head="lda")
    run(["main", "summary"], sets="shapes", methods="mine", results=tmp_path, progress=False)

    def shown():
        main, summary = show(["main", "summary"], budget="smoke", results=tmp_path)
        ((label, cells),) = summary.rows
        return main.columns, main.rows[0][1][0].expected, label, [c.text for c in cells[:-1]]

    texts = ["made up", "2", "20", "40", "accuracy", "1 splits, 25% tested"]
    assert shown() == (("The shapes",), 1, "The shapes", texts)
    del DATA_SETS["shapes"]
    assert shown() == (("The shapes",), 1, "The shapes", texts)


@pytest.mark.parametrize(
    "name", ["数据", "..", ".a", "manifolds", "My Data", "Mine", "a/b", "-a", "a--b", ""]
)
def test_a_name_that_would_leave_its_folder_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "run_jobs", pytest.fail)  # it would write anywhere
    folder = write_two_classes(tmp_path / "clouds", 2, 20, ".ply")
    before = sorted(tmp_path.rglob("*"))
    asked = {"methods": "HFS-simple", "results": tmp_path / "deep" / "results", "progress": False}
    message = "another use" if name == "manifolds" else r"of a to z, 0 to 9 and _, .* got "
    with pytest.raises(ValueError, match=message):
        run("main", data={name: folder}, **asked)
    add_shapes(Protocol("splits", 1, 0.25, "oa"), name=name)
    with pytest.raises(ValueError, match=message):
        run("main", sets=name, **asked)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_entry_has_the_name_under_which_it_is_registered(tmp_path):
    METHODS["mine"] = Method("other", "descriptor", Widths)
    with pytest.raises(ValueError, match=r"METHODS\['mine'\] must have that name too, got 'other'"):
        run("main", results=tmp_path)


def test_few_clouds_have_fewer_folds_and_it_is_said(tmp_path, capsys):
    folder = write_two_classes(tmp_path / "clouds", 3, 20, ".ply")
    asked = {"methods": "HFS-desc, LDA", "sets": "mine", "data": {"mine": folder}, "budget": "paper"}
    assert run("main", results=tmp_path / "out", **asked)["computed"] == 3
    assert "mine: 3 folds instead of 5, class 'ball' has 3 clouds only" in capsys.readouterr().err
    (record,) = Store(tmp_path / "out").records()
    assert record.metadata["protocol"] == {"kind": "folds", "count": 3, "share": 1 / 3, "metric": "macc"}
    assert all(cell["test"] == 2 for cell in record.cells.values())
    (grid,) = show("main", results=tmp_path / "out")
    assert grid.rows[0][1][0].expected == 3


def test_a_class_of_one_cloud_is_named(tmp_path):
    folder = write_two_classes(tmp_path / "clouds", 2, 20, ".ply")
    (folder / "sphere" / "1.ply").unlink()
    with pytest.raises(ValueError, match="class 'sphere' of mine has one cloud only"):
        run("main", data={"mine": folder}, results=tmp_path / "out")
    (folder / "sphere" / "0.ply").unlink()
    with pytest.raises(ValueError, match=r"mine must hold at least two classes, got \['ball'\]"):
        run("main", data={"mine": folder}, results=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_published_sets_keep_their_splits_however_few_clouds_there_are(tmp_path):
    folder = write_two_classes(tmp_path / "clouds", 3, 20, ".ply")
    data = load(DATA_SETS["neurons4"], folder, Size())
    assert len(data.tests) == data.metadata()["protocol"]["count"] == 5
    assert "title" not in data.metadata()


@pytest.mark.parametrize(
    ("protocol", "count", "message"),
    [
        (Protocol("folds", 5, 0.2, "oa"), 3, "of the 3 clouds of class '(flat|round)' none is tested"),
        (Protocol("splits", 2, 0.1, "oa"), 3, "of the 3 clouds of class 'flat' none is tested in split 0"),
        (Protocol("splits", 2, 0.9, "oa"), 3, "of the 3 clouds of class 'flat' none is left to train on"),
        (Protocol("folds", 2, 0.5, "oa"), 1, "class 'flat' of shapes has one cloud only"),
    ],
)
def test_a_protocol_that_needs_more_clouds_is_refused(protocol, count, message):
    add_shapes(protocol, count)
    with pytest.raises(ValueError, match=message):
        load(DATA_SETS["shapes"], None, Size())


def test_at_the_smallest_budget_there_may_be_fewer_folds():
    add_shapes(Protocol("folds", 12, 1 / 12, "oa"))
    assert len(load(DATA_SETS["shapes"], None, Size()).tests) == 12
    part = load(DATA_SETS["shapes"], None, Size(10, 30))
    assert (len(part.tests), len(part.clouds), len(part.clouds[0])) == (10, 20, 30)


def test_test_sets_of_the_source_must_fit():
    clouds, labels = shapes()(None, None)
    tests = [np.arange(24) % 2 == k for k in range(2)]
    entry = DataSet(
        "mine", "mine", "made", lambda *_: (clouds, labels, tests), Protocol("folds", 2, 0.5, "oa")
    )
    np.testing.assert_array_equal(load(entry, None, Size()).tests, tests)
    with pytest.raises(ValueError, match="mine has 2 test sets, its protocol 3"):
        load(replace(entry, protocol=Protocol("folds", 3, 1 / 3, "oa")), None, Size())
    with pytest.raises(ValueError, match="must be True or False for each of 24 clouds"):
        load(replace(entry, load=lambda *_: (clouds, labels, [[0, 1], [2, 3]])), None, Size())
    with pytest.raises(ValueError, match="y has 23 labels for 24 clouds"):
        load(replace(entry, load=lambda *_: (clouds, labels[:-1])), None, Size())


def test_how_many_splits_a_reduced_budget_has_is_no_matter_of_names():
    entry = DATA_SETS["orbit5k"]
    for name, count in (("HFS-full", 3), ("HFS-full, small", 3), ("HFS+DGCNN", 1), ("DGCNN", 1)):
        assert METHODS[name].plan(entry, "reduced").splits == count
    assert replace(METHODS["HFS-full"], name="another").plan(entry, "reduced").splits == 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"tables": []}, r"tables must be a list of at least one name, or left out for all, got \[\]"),
        ({"tables": 5}, "tables must be a list of names, got 5"),
        ({"sets": []}, "sets must be a list of at least one name"),
        ({"methods": [1]}, "methods must be a list of at least one name"),
        ({"splits": 1.5}, "splits must be an integer of at least 1, got 1.5"),
        ({"tables": ["main", "scales"], "methods": "HFS-simple"}, "data sets is in the table scales$"),
        ({"sets": "neurons4"}, "is in any table; left out, no --data NAME=FOLDER: neurons4"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(asked, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(results=tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()


def test_import_loads_nothing_heavy():
    code = "import heatfield_bench.baselines, json, sys; print(json.dumps(list(sys.modules)))"
    heavy = {"numpy", "scipy", "numba", "sklearn", "torch", "open3d", "multipers", "gudhi", "xgboost"}
    assert heavy.isdisjoint(json.loads(run_python(code)))


def test_every_method_says_its_recipe_or_need():
    words = hb.baselines.available()
    assert list(words) == list(registry.classes())
    assert all(words.values())
    assert set(dir(hb.baselines)) == {"available", *words} == set(hb.baselines.__all__)


@pytest.mark.parametrize("name", registry.classes())
def test_every_parameter_is_explicit_and_documented(name):
    """Shared parts of docstrings are filled in."""
    kind = getattr(hb.baselines, name)
    params = inspect.signature(kind).parameters
    assert {p.kind for p in params.values()} <= {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    assert sorted(kind().get_params(deep=False)) == sorted(params)
    text = inspect.cleandoc(kind.__doc__)
    assert not re.search(r"^ *\{\w+\}$", text, re.MULTILINE)
    section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
    heads = [line.split(" :")[0] for line in section.splitlines() if not line.startswith(" ")]
    documented = [word for head in heads for word in head.split(", ")]
    assert sorted(documented) == sorted(params)
    assert ">>> " in text.split("Examples\n--------\n")[1]
    given = clone(kind().set_params(n_jobs=2) if "n_jobs" in params else kind())
    assert type(given) is kind
    assert given.get_params().keys() == kind().get_params().keys()


def test_networks_say_their_size():
    pytest.importorskip("torch")
    words = hb.baselines.available()
    counts = {"PointNet": "3,480,049", "PointNet2": "1,475,688", "DGCNN": "1,809,576"}
    for name, count in (counts | {"PointTransformer": "2,153,904", "VNDGCNN": "2,899,830"}).items():
        assert words[name].endswith(f"; {count} parameters")
    assert hb.baselines.PointNet2.parameter_count(40, grouping="msg") == 1_747_368
    with pytest.raises(ValueError, match="n_classes must be an integer of at least 2, got 1"):
        hb.baselines.DGCNN.parameter_count(1)


def test_what_is_missing_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setitem(_tools.EXTRAS, "torch", ("torch", "no_such_library"))
    message = "DGCNN needs no_such_library: pip install 'heatfield-bench[torch]'"
    assert hb.baselines.available()["DGCNN"] == message


def test_an_unknown_name_is_said():
    with pytest.raises(AttributeError, match=r"^module 'heatfield_bench\.baselines' has no attribute 'Poi"):
        hb.baselines.PointNet3  # noqa: B018


def test_without_torch_the_error_names_the_command():
    code = """
from importlib.machinery import PathFinder
plain = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == "torch" else plain(name, *rest))
import heatfield_bench as hb
print(hb.baselines.available()["DGCNN"])
try:
    hb.baselines.DGCNN().fit([[[0.0], [1.0]]] * 2, [0, 1])
except ImportError as error:
    print(error)
"""
    assert run_python(code).splitlines() == [
        "DGCNN needs torch: pip install 'heatfield-bench[torch]'",
        "DGCNN needs torch: pip install 'heatfield-bench[torch]'",
    ]
