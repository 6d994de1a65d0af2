"""``heatfield pattern`` from a shell."""

import json
from pathlib import Path

import numpy as np
import pytest

from heatfield.cli import main


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    parents = rng.uniform(0.1, 0.9, size=(12, 2))
    points = (parents[:, None] + 0.03 * rng.normal(size=(12, 8, 2))).reshape(-1, 2)
    tables = {
        "clustered": ("x,y", points),
        "gradient": ("x,y", np.c_[1 - 0.999 * np.sqrt(rng.uniform(size=200)), rng.uniform(size=200)]),
        "square": ("x,y", np.array([[-0.5, -0.5], [1.5, -0.5], [1.5, 1.5], [-0.5, 1.5]])),
        "space": ("x,y,z", rng.uniform(size=(60, 3))),
        "density": (
            "x,y,value",
            np.array([[a, b, 1 - a] for a in np.linspace(0, 1, 21) for b in (0.0, 1.0)]),
        ),
    }
    for name, (head, table) in tables.items():
        np.savetxt(f"{name}.csv", table, delimiter=",", header=head, comments="")


def test_result_and_picture(capsys):
    words = ["pattern", "clustered.csv", "--window", "0,0,1,1", "--simulations", "99", "--jobs", "1"]
    assert main([*words, "-o", "result.json", "--plot", "result.png"]) == 0
    said = capsys.readouterr().out
    assert "clustered, at level 0.05" in said
    assert "a distance is 2√t" in said
    result = json.loads(Path("result.json").read_text())
    assert (result["verdict"], result["p"], result["points"]) == ("clustered", 0.01, 96)
    assert len(result["curves"]["response"]["observed"]) == len(result["distances"]) == 24
    assert Path("result.png").read_bytes().startswith(b"\x89PNG")
    # Both may be replaced by the same command.
    assert main([*words, "-o", "result.json", "--plot", "result.png", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_lengths_and_a_picture_as_svg():
    """Lengths are half the distances, as r = 2 sqrt(t)."""
    words = [
        "pattern",
        "clustered.csv",
        "--window",
        "0,0,1,1",
        "--simulations",
        "39",
        "--jobs",
        "1",
        "--quiet",
    ]
    assert main([*words, "--lengths", "0.05,0.1", "-o", "a.json", "--plot", "a.svg"]) == 0
    assert main([*words, "--distances", "0.1,0.2", "-o", "b.json"]) == 0
    assert json.loads(Path("a.json").read_text()) == json.loads(Path("b.json").read_text())
    drawn = Path("a.svg").read_bytes()
    assert b"<svg" in drawn
    assert main([*words, "--lengths", "0.05,0.1", "--plot", "a.svg"]) == 0
    assert Path("a.svg").read_bytes() == drawn


def test_windows_and_space(capsys):
    some = ["--simulations", "39", "--jobs", "1"]
    assert main(["pattern", "clustered.csv", "--polygon", "square.csv", *some]) == 0
    assert "Polygon of 4 vertices" in capsys.readouterr().out
    assert main(["pattern", "space.csv", "--window", "0,0,0,1,1,1", "--distances", "0.1,0.2,0.4", *some]) == 0
    assert "60 points" in capsys.readouterr().out


def test_an_intensity_from_a_table():
    words = ["pattern", "gradient.csv", "--window", "0,0,1,1", "--simulations", "99", "--jobs", "1"]
    excess = []
    for more in ([], ["--intensity", "density.csv"]):
        assert main([*words, *more, "-o", "result.json"]) == 0
        excess.append(json.loads(Path("result.json").read_text())["excess"][-1])
    # A density of 2 (1 - x) has a third more pairs than a constant one; given it, most of that is expected.
    assert excess[0] > 0.2
    assert abs(excess[1]) < 0.6 * excess[0]


WRONG = [
    ([], "the following arguments are required: FILE"),
    (["nowhere.csv"], "nowhere.csv"),
    (["clustered.csv", "--window", "0,0,1"], "--window must be 4 numbers in the plane or 6 in space, got 3"),
    (["clustered.csv", "--window", "0,0,a,1"], "--window must be numbers with commas"),
    (["clustered.csv", "--window", "1,1,0,0"], "low corner must be below"),
    (["clustered.csv", "--window", "0,0,0.1,0.1"], "points lie outside of the window"),
    (["clustered.csv", "--window", "0,0,0,1,1,1"], "points have 2 coordinates, but the window 3"),
    (["clustered.csv", "--window", "0,0,1,1", "--polygon", "square.csv"], "exclude each other"),
    (["clustered.csv", "--polygon", "none.csv"], "none.csv"),
    (["clustered.csv", "--simulations", "5"], "5 simulations cannot reject at level 0.05"),
    (["clustered.csv", "--simulations", "0"], "--simulations must be an integer of at least 1, got 0"),
    (["clustered.csv", "--simulations", "x"], "invalid int value: 'x'"),
    (["clustered.csv", "--level", "1.5"], "--level must lie between 0 and 1, got 1.5"),
    (["clustered.csv", "--distances", "0.2,0.1"], "distances must increase"),
    (["clustered.csv", "--distances", "near"], "--distances must be numbers with commas"),
    (["clustered.csv", "--lengths", "near"], "--lengths must be numbers with commas"),
    (["clustered.csv", "--lengths", "0.2,0.1"], "--lengths must increase"),
    (["clustered.csv", "--lengths", "1", "--distances", "2"], "give one of the two"),
    (["clustered.csv", "--statistic", "K"], "invalid choice: 'K'"),
    (["clustered.csv", "--intensity", "none.csv"], "none.csv"),
    (["clustered.csv", "--intensity", "square.csv"], "must have the coordinates and one more column"),
    (["clustered.csv", "-o", "result.txt"], "--out must end in .json, got 'result.txt'"),
    (["clustered.csv", "-o", "no/result.json"], "no such folder"),
    (["clustered.csv", "-o", "mine.json"], "it exists and is not a result of this command"),
    (["clustered.csv", "--plot", "a.pdf"], "--plot must end in .png or .svg, got 'a.pdf'"),
    (["clustered.csv", "--plot", "mine.png"], "it exists and is not a picture of this library"),
    (["clustered.csv", "--seed", "-1"], "--seed must be"),
    (["clustered.csv", "--jobs", "0"], "--jobs must be"),
    (["clustered.csv", "--budget", "2"], "at least 3 points, got 2"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_wrong_arguments_are_one_sentence(words, expected, capsys):
    Path("mine.json").write_text('{"mine": 1}')
    Path("mine.png").write_text("my own")
    try:
        code = main(["pattern", *words])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code in (1, 2)
    assert expected in said
    assert said.strip().count("\n") == 0
    assert Path("mine.json").read_text() == '{"mine": 1}'
