"""``--check``: the mark is taken off only where something was compared and is the same."""

import pytest

import heatfield as hf
from heatfield.experiments._jobs import Context, Job
from heatfield.experiments._recheck import recheck
from heatfield.experiments._run import run_jobs
from heatfield.experiments._store import Key, Store
from tests.experiments.test_store import FACTS, counted, key

NONE = {"same": 0, "differ": 0, "unchecked": 0, "failed": 0}


def test_stale_cells_that_are_the_same_are_noted_after_one_was_computed_again(tmp_path, capsys):
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen)], quiet=True)
    assert recheck(context, [counted(seen, code="2")]) == NONE | {"same": 1}
    assert seen == [0, 1, 2, 0]
    assert {c["code"] for c in context.store.cells(key()).values()} == {"2"}
    assert recheck(context, [counted(seen, code="2")]) == NONE

    def other(_, chosen):
        yield from ((k, {"scores": {"none": {"oa": 0.0}}}) for k in chosen)

    changed = Job(key(), (0, 1, 2), "3", 1.0, other, lambda _: FACTS, True)
    assert recheck(context, [changed]) == NONE | {"differ": 1}
    assert {c["code"] for c in context.store.cells(key()).values()} == {"2"}
    assert "split 0: DIFFERENT" in capsys.readouterr().out


def checked(folder, before, again, *, task="accuracy", facts=FACTS, name="a"):
    """What becomes of a cell of the code 1 that is found otherwise by the code 2, and its code then."""
    store = Store(folder)
    own = Key(task, "some data", name, {}, (None, None), "paper")
    store.add(own, 0, before, FACTS, "1")
    job = Job(own, (0,), "2", 1.0, lambda _, chosen: ((k, again) for k in chosen), lambda _: facts)
    counts = recheck(Context(store), [job], quiet=True)
    assert sum(counts.values()) == 1
    return next(word for word, count in counts.items() if count), store.cells(own)[0]["code"]


SUMMARY = {"classes": 3, "points": [5, 6, 7], "alignment": 0.25}
TURNED = {"scores": {"none": {"oa": 50.0}}, "deviation": {"rotation": 0.01}, "train": 8, "seed": 0}


@pytest.mark.parametrize(
    ("before", "again", "verdict"),
    [
        (SUMMARY, SUMMARY, "same"),
        (SUMMARY, SUMMARY | {"alignment": 0.26}, "differ"),
        (SUMMARY, SUMMARY | {"points": [5, 6, 8]}, "differ"),
        (SUMMARY, SUMMARY | {"points": [5, 6]}, "differ"),
        (SUMMARY, {"classes": 3}, "differ"),
        (SUMMARY, SUMMARY | {"what was not kept": 1}, "same"),
        (TURNED, TURNED | {"deviation": {"rotation": 0.01 + 1e-12}}, "same"),
        (TURNED, TURNED | {"deviation": {"rotation": 0.011}}, "differ"),
        (TURNED, TURNED | {"train": 7}, "differ"),
        (TURNED, TURNED | {"scores": {"none": {"oa": 50.001}}}, "differ"),
        (TURNED, TURNED | {"seconds": {"train": 1.0}, "seed": 1}, "same"),
        ({"deviation": {"x": float("nan")}}, {"deviation": {"x": float("nan")}}, "same"),
        ({"deviation": {"x": float("nan")}}, {"deviation": {"x": 0.0}}, "differ"),
        ({"seconds": {"train": 1.0}, "seed": 0}, {"seconds": {"train": 1.0}, "seed": 0}, "differ"),
        ({}, {}, "differ"),
    ],
)
def test_all_that_a_cell_holds_is_compared_but_how_it_was_made(tmp_path, before, again, verdict):
    assert checked(tmp_path, before, again) == (verdict, "2" if verdict == "same" else "1")


def test_seconds_are_not_checked(tmp_path, capsys):
    def never(*_):
        raise AssertionError("computed")

    store, own = Store(tmp_path), Key("runtime", "some data", "a", {}, (None, None), "paper")
    store.add(own, 0, TURNED | {"seconds": {"train": 1.0}}, FACTS, "1")
    job = Job(own, (0,), "2", 1.0, never, never)
    assert recheck(Context(store), [job]) == NONE | {"unchecked": 1}
    assert store.cells(own)[0]["code"] == "1"
    assert "seconds cannot be checked, use --again" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["content", "splits"])
def test_cells_of_other_data_are_not_the_same(tmp_path, name):
    assert checked(tmp_path, TURNED, TURNED, facts=FACTS | {name: "another"}) == ("differ", "1")


def test_an_error_of_one_record_leaves_the_others_to_be_checked(tmp_path, capsys):
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen), counted(seen, name="b")], quiet=True)
    jobs = [counted(seen, code="2", fails={0}), counted(seen, code="2", name="b")]
    assert recheck(context, jobs, quiet=True) == NONE | {"same": 1, "failed": 1}
    assert "accuracy / some data / a (paper): ValueError: split 0 cannot be done" in capsys.readouterr().err
    assert {c["code"] for c in context.store.cells(key()).values()} == {"1"}
    assert {c["code"] for c in context.store.cells(key("b")).values()} == {"2"}


def test_of_cells_of_several_codes_one_of_each_is_compared(tmp_path):
    store, seen = Store(tmp_path), []
    for split, (code, score) in enumerate([("0", 50.0), ("0", 51.0), ("1", 99.0), ("2", 53.0)]):
        store.add(key(), split, {"scores": {"none": {"oa": score}}}, FACTS, code)
    assert recheck(Context(store), [counted(seen, splits=4, code="2")], quiet=True) == NONE | {"differ": 1}
    assert seen == [0, 2]
    assert [c["code"] for c in store.cells(key()).values()] == ["0", "0", "1", "2"]


def test_a_cell_that_was_replaced_meanwhile_is_not_noted(tmp_path):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([])], quiet=True)

    def run(own, chosen):
        own.store.add(key(), 1, {"scores": {"none": {"oa": 0.0}}}, FACTS, "3")  # by another process
        yield from ((k, {"scores": {"none": {"oa": 50.0 + k}}}) for k in chosen)

    recheck(context, [Job(key(), (0, 1, 2), "2", 1.0, run, lambda _: FACTS, True)], quiet=True)
    assert [c["code"] for c in context.store.cells(key()).values()] == ["2", "3", "2"]


def test_the_summary_and_the_runtime_of_a_set(tmp_path):
    asked = {"sets": ["four_shapes"], "methods": ["HFS-simple"], "results": tmp_path, "quiet": True}
    hf.experiments.run(["summary", "runtime"], **asked)
    store = Store(tmp_path)
    paths = {}
    for path, record in store.records():
        paths[record["task"]] = path
        path.write_text(path.read_text().replace(record["splits"]["0"]["code"], "older"))
    assert hf.experiments.run(["summary", "runtime"], check=True, **asked) == NONE | {
        "same": 1,
        "unchecked": 1,
    }
    assert "older" not in paths["summary"].read_text()
    assert "older" in paths["runtime"].read_text()
    text = paths["summary"].read_text().replace('"dimensions": 3', '"dimensions": 4')
    paths["summary"].write_text(text.replace('"code": "', '"code": "other'))
    assert hf.experiments.run(["summary"], check=True, **asked) == NONE | {"differ": 1}
