"""Claims: kept while their process lives, void after it, and named where they are in the way."""

import json
import os
import subprocess
import sys
import time

import pytest

from heatfield.experiments import _claims
from heatfield.experiments._claims import Claims, alive, started
from heatfield.experiments._jobs import Context
from heatfield.experiments._run import run_jobs
from heatfield.experiments._store import Store
from tests.experiments.test_store import FACTS, counted, key


def test_claims_of_a_living_process_are_kept_and_those_of_a_dead_one_taken_over(tmp_path):
    store = Store(tmp_path)
    claims = Claims(store)
    assert claims.take(key(), [0, 1]) == [0, 1]
    other = Claims(store)  # as another process would see it: it holds nothing
    assert other.take(key(), [0, 1, 2]) == [2]
    claims.release(key(), 0)
    assert other.take(key(), [0, 1]) == [0]
    place = next(p for p in claims.held)
    holder = json.loads(place.read_text())
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    place.write_text(json.dumps(holder | {"pid": dead.pid}))
    assert not alive(place)
    assert other.take(key(), [1]) == [1]


def test_a_process_number_that_was_given_again_is_no_claim(tmp_path):
    if started(os.getpid()) is None:
        pytest.skip("this system does not tell when a process was started")
    claims = Claims(Store(tmp_path))
    claims.take(key(), [0])
    (place,) = claims.held
    place.write_text(json.dumps(json.loads(place.read_text()) | {"started": "1"}))
    assert not alive(place)


def claim_of_another_host(folder, split=0, age=0.0, **more):
    """The file of a claim as a process of another computer has left it so many seconds ago."""
    place = Claims(Store(folder))._place(key(), split)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"host": "another", "pid": 4711, "started": "1"} | more))
    os.utime(place, (time.time() - age,) * 2)
    return place


def test_claims_of_another_host_are_void_soon_after_they_were_touched_last(tmp_path):
    assert alive(claim_of_another_host(tmp_path, age=600.0, touched=60.0))
    assert not alive(claim_of_another_host(tmp_path, age=1000.0, touched=60.0))
    # Earlier versions wrote no "touched", and touched nothing.
    assert alive(claim_of_another_host(tmp_path, age=1000.0))
    assert not alive(claim_of_another_host(tmp_path, age=13 * 3600.0))


def test_a_claim_is_touched_while_its_process_works(tmp_path, monkeypatch):
    monkeypatch.setattr(_claims, "TOUCH_SECONDS", 0.01)
    claims = Claims(Store(tmp_path))
    claims.take(key(), [0])
    (place,) = claims.held
    assert json.loads(place.read_text())["touched"] == 0.01
    long_ago = time.time() - 10_000.0
    os.utime(place, (long_ago, long_ago))
    end = time.monotonic() + 20.0
    while place.stat().st_mtime < long_ago + 5_000.0:
        assert time.monotonic() < end
        time.sleep(0.01)
    claims.release_all()
    assert not place.exists()


def test_a_claim_that_another_has_taken_over_is_neither_touched_nor_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(_claims, "TOUCH_SECONDS", 0.01)
    claims = Claims(Store(tmp_path))
    claims.take(key(), [0])
    (place,) = claims.held
    place.write_text(json.dumps({"host": "another", "pid": 4711, "started": "1", "touched": 60.0}))
    os.utime(place, (0.0, 0.0))
    time.sleep(0.1)
    claims.release(key(), 0)
    claims.release_all()
    assert place.stat().st_mtime == 0.0


def test_cells_of_other_code_or_of_other_data_are_claimed_where_they_are_not_wanted(tmp_path):
    store = Store(tmp_path)
    store.add(key(), 0, {}, FACTS, "1")
    store.add(key(), 1, {}, FACTS, "2")
    claims = Claims(store)
    assert claims.take(key(), [0, 1, 2]) == [2]
    assert claims.take(key(), [0, 1], code="2") == [0]
    assert claims.take(key(), [0, 1], facts=FACTS) == []
    assert claims.take(key(), [0, 1], facts=FACTS | {"splits": "others"}) == [0, 1]
    claims.release_all()


def test_who_holds_what_is_left_is_said_and_progress_ends_with_the_cells_of_this_process(tmp_path, capsys):
    place = claim_of_another_host(tmp_path, split=2, touched=60.0)
    counts = run_jobs(Context(Store(tmp_path)), [counted([], together=False)])
    assert counts == {"computed": 2, "before": 0, "elsewhere": 1, "failed": 0}
    said = capsys.readouterr()
    assert said.err == f"1 cell left to process 4711 on another: claim {place}\n"
    assert said.out.splitlines()[-1].startswith(
        "accuracy / some data / a (paper): 1 split left to another process; 2 of 2 cells"
    )
    assert place.exists()
