"""The command line: help, errors and the demo."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from heatfield.cli import VERBS, main
from heatfield.workflows.files import is_ours
from tests.helpers.process import environment, run_python


def heatfield(*words):
    return subprocess.run(
        [sys.executable, "-m", "heatfield", *words],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_loads_nothing_heavy():
    code = (
        "import sys, heatfield.cli as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'numba', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    shown = run_python(code)
    assert shown.strip().endswith("[]")
    for verb in VERBS:
        assert verb in shown


def test_no_verb_or_a_wrong_one_explains_itself():
    done = heatfield()
    assert done.returncode == 0
    assert "demo" in done.stdout
    done = heatfield("describ")
    assert done.returncode == 2
    assert "no such verb: 'describ' (did you mean describe?)" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_bench_its_verb_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr("heatfield.cli.find_spec", lambda _: None)
    assert main(["bench", "main"]) == 2
    assert capsys.readouterr().err == "heatfield bench: not installed; pip install heatfield-bench\n"


def test_demo_writes_and_prints_results(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "here"), "--clouds", "10", "--n-jobs", "1"]) == 0
    shown = capsys.readouterr().out
    result = json.loads((tmp_path / "here" / "results.json").read_text())
    assert result["orbit5k"]["clouds"] == 50
    assert f"accuracy {100 * result['orbit5k']['accuracy']:.1f} %" in shown
    medians = result["mixed_shape"]["median_dimension_at_scale_3"]
    assert medians["filament"] < 1.3 < 1.6 < medians["sheet"] < 2.1 < medians["ball"]
    for name in ("dimension_over_scales.png", "spectra_by_class.png"):
        assert (tmp_path / "here" / name).read_bytes().startswith(b"\x89PNG")
        assert name in shown
    assert all(is_ours(file) for file in (tmp_path / "here").iterdir())  # the next demo may replace them
    (tmp_path / "here" / name).write_text("my own")
    assert main(["demo", "--out", str(tmp_path / "here"), "--clouds", "10"]) == 2
    assert "was not written by heatfield" in capsys.readouterr().err


WRONG = [
    (["view"], "the following arguments are required: FILE; see 'heatfield view --help'"),
    (["view", "a.xyz", "--n-scales", "many"], "argument --n-scales: invalid int value: 'many'"),
    (
        ["view", "a.xyz", "--lengths", "1,far"],
        "must be comma-separated numbers, got 'far' in '1,far'",
    ),
    (["view", "a.xyz", "--theme", "pink"], "invalid choice: 'pink'"),
    (
        ["view", "a.xyz", "--scales", "3"],
        "--scales 3 (did you mean --n-scales?); see 'heatfield view --help'",
    ),
    (["report", "in", "--jobs=2"], "--jobs=2 (did you mean --n-jobs?); see 'heatfield report --help'"),
    (["report", "absent"], "there is no folder 'absent'; check the spelling"),
    (["search"], "a verb is required: build, query, add, remove; see 'heatfield search --help'"),
    (["search", "find"], "no such verb: 'find' (choose from build, query, add, remove)"),
    (["pattern", "a.xyz", "--window", "0,0,1,1", "--polygon", "b.csv"], "not allowed with argument --window"),
    (["info", "absent.ply"], "absent.ply: no such file"),
    (["demo", "--clouds", "3"], "heatfield demo: clouds must be an integer of at least 10, got 3"),
    (["docs", "--site", "absent"], "'absent' holds no index.html"),
    (["points"], "a verb is required: train, predict"),
    (["points", "train", "a.xyz", "-o", "m", "--nodes"], "unrecognized arguments: --nodes"),
    (["points", "predict", "none", "a.xyz", "-o", "o"], "none: no such folder"),
]


@pytest.mark.parametrize(
    ("words", "expected"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_wrong_arguments_are_one_line_with_the_way_out(words, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xyz").write_text("1 2 3\n4 5 6\n7 8 10\n")
    (tmp_path / "in").mkdir()
    try:
        code = main(words)
    except SystemExit as stop:
        code = stop.code
    shown = capsys.readouterr()
    assert code == (1 if words == ["info", "absent.ply"] else 2)
    assert expected in shown.err
    assert shown.err.startswith("heatfield ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.xyz", "in"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb, capsys):
    if verb == "bench":
        pytest.importorskip("heatfield_bench")
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert "usage: heatfield " + verb in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes")
def test_names_that_are_not_utf8_are_shown_with_marks(tmp_path):
    """In a process of its own, whose output is strict UTF-8."""
    name = os.fsencode(tmp_path) + b"/b\xff\xe9.xyz"
    with open(name, "wb") as file:
        np.savetxt(file, np.random.default_rng(3).normal(size=(40, 3)))
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict", "PYTHONUTF8": "1"}
    for words in ([b"info", name], [b"view", name, b"-o", os.fsencode(tmp_path / "page.html")]):
        done = subprocess.run(
            [sys.executable, "-m", "heatfield", *words], capture_output=True, env=strict, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert "b\ufffd\ufffd.xyz" in done.stdout.decode()
    assert r"b\ufffd\ufffd.xyz" in (tmp_path / "page.html").read_text(encoding="utf-8")
