"""What a run says while it goes on."""

from dataclasses import replace

import pytest

from heatfield.options import Run
from heatfield_bench import DATA_SETS, METHODS
from heatfield_bench._jobs import Context, evaluation
from heatfield_bench._results import Key, Store
from heatfield_bench._run import _Run, run_jobs, title_of
from test_results import FACTS, counted


@pytest.mark.parametrize(("metric", "words"), [("oa", "overall accuracy"), ("macc", "mean class accuracy")])
def test_scores_have_names_and_one_is_singular(tmp_path, metric, words, capsys):
    def run(_, chosen):
        yield from ((k, {"scores": {"none": {metric: 50.0 + k}}, "test": 9}) for k in chosen)

    metadata = FACTS | {"protocol": {"metric": metric, "count": 3}}
    job = replace(counted([], splits=1), run=run, metadata=lambda _: metadata)
    run_jobs(Context(Store(tmp_path)), [job])
    start = f"accuracy / some data / a (paper): {words} 50.00, 1 split; 1 of 1 cell, about "
    assert capsys.readouterr().out.startswith(start)
    run_jobs(Context(Store(tmp_path)), [replace(job, splits=(0, 1, 2))])
    assert f": {words} 51.00 ± 1.00, 3 splits; 2 of 2 cells, about " in capsys.readouterr().out


def test_a_failed_job_is_no_normal_line(tmp_path, capsys):
    context = Context(Store(tmp_path))
    run_jobs(context, [counted([], fails={0}), counted([], name="b")])
    said = capsys.readouterr()
    failed, normal = said.out.splitlines()
    assert failed == "accuracy / some data / a (paper): 3 of 3 splits failed; 0 of 6 cells, 3 failed"
    assert "overall accuracy 51.00 ± 1.00, 3 splits; 3 of 6 cells, 3 failed, about 0 s left" in normal
    assert said.err == "some data / a: ValueError: split 0 cannot be done\n"


def test_records_of_one_table_are_told_apart(tmp_path):
    context = Context(Store(tmp_path))
    titles = [
        title_of(evaluation(context, "accuracy", DATA_SETS["processes"], METHODS["HFS-simple"], **more))
        for more in ({}, {"train_per_class": 2}, {"train_per_class": 5})
    ]
    assert titles == [
        "accuracy / processes / HFS-simple (smoke)",
        "accuracy / processes / HFS-simple (smoke, 2 training clouds per class)",
        "accuracy / processes / HFS-simple (smoke, 5 training clouds per class)",
    ]
    own = Key("dimension", "manifolds", "MLE", {"condition": "noise"}, (None, None), "paper")
    assert title_of(replace(counted([]), key=own)) == "dimension / manifolds / MLE (paper, noise)"


def test_only_what_was_computed_says_how_long_the_rest_takes(capsys):
    run = _Run(Context(Store("none")), False, Run(), total=8, left=8.0)
    run.done = 2
    run.counts["failed"] = 2
    run.say("a")
    run.spent, run.cost, run.left = 7.0, 1.0, 3.0
    run.say("b")
    assert capsys.readouterr().out.splitlines() == [
        "a; 2 of 8 cells, 2 failed", "b; 2 of 8 cells, 2 failed, about 21 s left",
    ]  # fmt: skip
