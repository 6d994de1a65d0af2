"""Records: written whole, gone on with, shared by processes, and marked where the code is another."""

import subprocess
import sys

import pytest

import heatfield as hf
from heatfield.experiments import METHODS
from heatfield.experiments._code import closure, code_digest
from heatfield.experiments._jobs import Context, Job
from heatfield.experiments._run import open_cells, run_jobs
from heatfield.experiments._store import Key, Store, read_record
from tests.helpers.process import environment

FACTS = {"content": "c", "splits": "s", "protocol": {"metric": "oa"}}


def key(method="a", **recipe):
    return Key("accuracy", "some data", method, recipe, (None, None), "paper")


def counted(seen, *, fails=(), name="a", splits=3, code="1", together=True):
    def run(_, chosen):
        for k in chosen:
            if k in fails:
                raise ValueError(f"split {k} cannot be done")
            seen.append(k)
            yield k, {"scores": {"none": {"oa": 50.0 + k}}}

    return Job(key(name), tuple(range(splits)), code, 1.0, run, lambda _: FACTS, together)


def test_cells_are_written_as_they_are_finished_and_not_computed_again(tmp_path, capsys):
    context, seen = Context(Store(tmp_path)), []
    counts = run_jobs(context, [counted(seen, fails={2})])
    assert counts == {"computed": 2, "before": 0, "elsewhere": 0, "failed": 1}
    assert "split 2 cannot be done" in capsys.readouterr().err
    assert sorted(context.store.cells(key())) == [0, 1]
    counts = run_jobs(context, [counted(seen)])
    assert counts == {"computed": 1, "before": 2, "elsewhere": 0, "failed": 0}
    assert seen == [0, 1, 2]
    assert not list((tmp_path / "cache" / "claims").iterdir())


def test_a_network_trained_for_two_records_is_trained_once(tmp_path):
    def run(_, chosen):
        for k in chosen:
            yield (
                k,
                {
                    "scores": {"none": {"oa": 60.0 + k}, "turned": {"oa": 1.0}},
                    "changed": {"turned": 9},
                    "seed": k,
                },
            )

    seen, context = [], Context(Store(tmp_path))
    turned = Key("rotation", "some data", "a", {}, (None, None), "paper")
    both = Job(turned, (0,), "1", 1.0, run, lambda _: FACTS, False, also=key())
    counts = run_jobs(context, [counted(seen), both], quiet=True)
    assert counts == {"computed": 3, "before": 1, "elsewhere": 0, "failed": 0}
    assert seen == [1, 2]
    cells = context.store.cells(key())
    assert cells[0]["scores"] == {"none": {"oa": 60.0}}
    assert cells[0]["seed"] == 0
    assert "changed" not in cells[0]
    assert context.store.cells(turned)[0]["changed"] == {"turned": 9}
    newer = [counted(seen, code="2"), Job(turned, (0,), "2", 1.0, run, lambda _: FACTS, False, also=key())]
    run_jobs(context, newer, again=True, quiet=True)
    assert seen == [1, 2, 1, 2]
    assert {cell["code"] for cell in context.store.cells(key()).values()} == {"2"}


def test_a_record_says_where_and_by_which_code(tmp_path):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([])], quiet=True)
    record = context.store.read(key())
    cell = record["splits"]["1"]
    assert cell["code"] == "1"
    assert "numpy" in record["machines"][cell["machine"]]["versions"]
    assert record["recipe"] == {}
    assert (tmp_path / "some-data").is_dir()


def test_other_recipes_have_other_files():
    assert key(epochs=1).name != key(epochs=2).name
    assert key(epochs=1).name == key(epochs=1).name


def test_other_data_under_the_same_name_start_again(tmp_path):
    store = Store(tmp_path)
    store.add(key(), 0, {}, FACTS, "1")
    store.add(key(), 1, {}, FACTS | {"content": "other"}, "1")
    assert sorted(store.cells(key())) == [1]
    store.add(key(), 2, {}, FACTS | {"content": "other", "splits": "others"}, "1")
    assert sorted(store.cells(key())) == [2]


def test_what_else_is_known_of_the_data_is_brought_up_to_date(tmp_path):
    store, more = Store(tmp_path), FACTS | {"protocol": {"metric": "macc"}}
    store.add(key(), 0, {}, FACTS, "1")
    store.add(key(), 1, {}, more, "1")
    assert sorted(store.cells(key())) == [0, 1]  # the same clouds and the same splits
    assert store.read(key())["facts"] == more


def test_stale_cells_are_computed_again_only_if_asked(tmp_path):
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen)], quiet=True)
    newer = counted(seen, code="2")
    assert open_cells(context, newer) == []
    assert open_cells(context, newer, again=True) == [0, 1, 2]
    run_jobs(context, [newer], again=True, quiet=True)
    assert seen == [0, 1, 2] * 2
    assert {c["code"] for c in context.store.cells(key()).values()} == {"2"}


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError])
def test_a_run_that_ends_early_keeps_the_stale_cells_that_it_did_not_replace(tmp_path, end, capsys):
    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen), counted(seen, name="b")], quiet=True)
    old = context.store.cells(key())

    def broken(_, chosen):
        yield chosen[0], {"scores": {"none": {"oa": 1.0}}}
        raise end("in the middle")

    first = Job(key(), (0, 1, 2), "2", 1.0, broken, lambda _: FACTS, True)
    try:
        counts = run_jobs(context, [first], again=True)
    except KeyboardInterrupt:
        assert end is KeyboardInterrupt
    else:
        assert counts == {"computed": 1, "before": 0, "elsewhere": 0, "failed": 2}
        assert "2 of 3 splits failed; 1 of 3 cells, 2 failed" in capsys.readouterr().out
    cells = context.store.cells(key())
    assert (cells[0]["code"], cells[0]["scores"]) == ("2", {"none": {"oa": 1.0}})
    assert {k: cells[k] for k in (1, 2)} == {k: old[k] for k in (1, 2)}
    assert open_cells(context, first, again=True) == [1, 2]
    assert sorted(context.store.cells(key("b"))) == [0, 1, 2]
    assert not list((tmp_path / "cache" / "claims").iterdir())


def test_a_cluster_that_dies_keeps_the_stale_cells(tmp_path):
    class Dead:
        def map(self, work, tasks):
            yield 0, work(tasks[0], 1)
            raise ConnectionError("the scheduler is gone")

    context, seen = Context(Store(tmp_path)), []
    run_jobs(context, [counted(seen, together=False)], quiet=True)
    with pytest.raises(ConnectionError):
        run_jobs(context, [counted(seen, code="2", together=False)], again=True, quiet=True, executor=Dead())
    assert [cell["code"] for cell in context.store.cells(key()).values()] == ["2", "1", "1"]


_TWO = """
import sys, time
from pathlib import Path
from heatfield.experiments._jobs import Context, Job
from heatfield.experiments._run import run_jobs
from heatfield.experiments._store import Key, Store

def job(number):
    def run(_, chosen):
        for k in chosen:
            time.sleep(0.05)
            print(f"{number}/{k}", flush=True)
            yield k, {"value": k}
    key = Key("test", "set", f"m{number}", {}, (None, None), "paper")
    return Job(key, (0, 1, 2), "1", 1.0, run, lambda _: {}, False)

folder, ready, own, again = sys.argv[1:]
Path(ready, own).touch()
while len(list(Path(ready).iterdir())) < 2:  # whoever has started first waits for the other
    time.sleep(0.001)
run_jobs(Context(Store(folder)), [job(n) for n in range(6)], again=again == "again", quiet=True)
"""


@pytest.mark.parametrize("again", ["new", "again"])
def test_two_processes_share_the_work_and_do_no_cell_twice(tmp_path, again):
    folder, ready = tmp_path / "results", tmp_path / "ready"
    ready.mkdir()
    for n, k in [(n, k) for n in range(6) for k in range(3)] if again == "again" else []:
        Store(folder).add(Key("test", "set", f"m{n}", {}, (None, None), "paper"), k, {"value": k}, {}, "0")
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _TWO, str(folder), str(ready), own, again],
            stdout=subprocess.PIPE, text=True, env=environment(),
        )
        for own in ("one", "two")
    ]  # fmt: skip
    done = [p.communicate(timeout=60)[0].split() for p in both]
    assert all(done)
    assert sorted(done[0] + done[1]) == sorted(f"{n}/{k}" for n in range(6) for k in range(3))
    records = list(Store(folder).records())
    assert len(records) == 6
    assert all(sorted(record["splits"]) == ["0", "1", "2"] for _, record in records)
    assert {cell["code"] for _, record in records for cell in record["splits"].values()} == {"1"}


def test_what_is_no_record_is_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"x\.json is no record"):
        read_record(path)


def test_the_digest_follows_imports_and_ignores_comments(tmp_path, monkeypatch):
    import heatfield.experiments._code as code

    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "__init__.py").write_text("")
    one, two, three = (tmp_path / "a" / f"{n}.py" for n in ("one", "two", "three"))
    one.write_text('"""Doc."""\nfrom .two import f\n')
    two.write_text("def f():\n    return 1\n")
    three.write_text("x = 1\n")
    monkeypatch.setattr(code, "ROOT", tmp_path)

    def digest():
        for cached in (code._tree, code._shape, code._imports):
            cached.cache_clear()
        return code.code_digest(["a.one"])

    before = digest()
    three.write_text("x = 2\n")
    two.write_text('def f():\n    """New."""\n    return 1  # a remark\n')
    assert digest() == before
    two.write_text("def f():\n    return 2\n")
    assert digest() != before
    for cached in (code._tree, code._shape, code._imports):
        cached.cache_clear()


def test_the_code_of_a_descriptor_reaches_the_sums_and_not_the_viewer():
    found = closure(["_features.descriptor"])
    assert "_sums.dense" in found
    assert not any(name.startswith(("view", "cli", "nn")) for name in found)
    assert not {"_base.progress", "_base.summary"} & found  # what is shown is no part of the result
    assert "nn._mlps" in closure(METHODS["HFS-desc"].modules())
    assert code_digest(["_features.descriptor"]) != code_digest(["baselines._hks"])


def test_a_network_of_the_baselines_is_not_marked_by_a_change_of_the_heat_field(monkeypatch):
    import heatfield.experiments._methods as methods

    seen = {}
    monkeypatch.setattr(methods, "code_digest", lambda modules, without: seen.update(at=(modules, without)))
    for name in ("DGCNN", "GC"):
        METHODS[name].code()
        found = closure(*seen["at"])
        assert "nn._training" in found
        assert not any(module.startswith(("_sums", "_signatures", "_cloud")) for module in found)
    METHODS["HFS-full"].code()
    assert "_sums.dense" in closure(*seen["at"])


def test_only_the_first_splits_are_computed_where_that_is_asked(tmp_path):
    asked = {"sets": ["four_shapes"], "methods": ["HFS-simple"], "results": tmp_path, "quiet": True}
    assert hf.experiments.run(["main"], splits=1, **asked)["computed"] == 1
    counts = hf.experiments.run(["main"], **asked)
    assert (counts["before"], counts["computed"]) == (1, 1)
    with pytest.raises(ValueError, match="splits must be at least 1, got 0"):
        hf.experiments.run(["main"], splits=0, **asked)
