"""The command line: help, errors and the demo."""

import json
import subprocess
import sys

import pytest

from heatfield.cli import VERBS, main
from heatfield.cli._ours import is_demo, is_picture
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


def test_without_a_verb_it_explains_itself():
    done = heatfield()
    assert done.returncode == 0
    assert "demo" in done.stdout


def test_wrong_verb():
    done = heatfield("describ")
    assert done.returncode == 2
    assert "invalid choice: 'describ'" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_bench_its_verb_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr("heatfield.cli.find_spec", lambda _: None)
    assert main(["bench", "main"]) == 2
    assert capsys.readouterr().err == "heatfield bench: not installed; pip install heatfield-bench\n"


def test_wrong_value_is_one_sentence():
    done = heatfield("demo", "--clouds", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "heatfield demo: --clouds must be at least 10, got 3\n"


def test_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "here"), "--clouds", "10", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    result = json.loads((tmp_path / "here" / "results.json").read_text())
    assert is_demo(tmp_path / "here" / "results.json")
    assert result["orbit5k"]["clouds"] == 50
    assert f"accuracy {100 * result['orbit5k']['accuracy']:.1f} %" in shown
    medians = result["mixed_shape"]["median_dimension_at_scale_3"]
    assert medians["filament"] < 1.3 < 1.6 < medians["sheet"] < 2.1 < medians["ball"]
    for name in ("dimension_over_scales.png", "spectra_by_class.png"):
        assert (tmp_path / "here" / name).read_bytes().startswith(b"\x89PNG")
        assert is_picture(tmp_path / "here" / name)  # the next demo may replace it
        assert name in shown


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb, capsys):
    if verb == "bench":
        pytest.importorskip("heatfield_bench")
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert "usage: heatfield " + verb in capsys.readouterr().out
