"""A file of points as a pattern: windows, lengths, an intensity, and what is written."""

import json
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf

QUICK = {"simulations": 39, "n_jobs": 1}


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


def test_result_and_picture_are_written_and_replaced():
    words = {"simulations": 99, "n_jobs": 1, "out": "result.json", "plot": "result.png"}
    result = hf.pattern_test("clustered.csv", [0, 0, 1, 1], **words)
    assert (result.verdict, result.p, result.count) == ("clustered", 0.01, 96)
    written = json.loads(Path("result.json").read_text())
    assert written == {"heatfield": hf.__version__, "unit": "", **result.as_dict()}
    assert Path("result.png").read_bytes().startswith(b"\x89PNG")
    hf.pattern_test("clustered.csv", [0, 0, 1, 1], **words)


def test_a_file_is_tested_as_its_points():
    points = hf.read_points("clustered.csv")
    one, two = (hf.pattern_test(given, [0, 0, 1, 1], **QUICK) for given in ("clustered.csv", points))
    three = hf.patterns.envelope_test(points, hf.patterns.Box([0, 0], [1, 1]), **QUICK)
    assert one.as_dict() == two.as_dict() == three.as_dict()


def test_lengths_are_half_the_distances():
    square = [0, 0, 1, 1]
    one = hf.pattern_test("clustered.csv", square, lengths=[0.05, 0.1], plot="a.svg", **QUICK)
    two = hf.pattern_test("clustered.csv", square, distances=[0.1, 0.2], **QUICK)
    assert one.as_dict() == two.as_dict()
    drawn = Path("a.svg").read_bytes()
    assert b"<svg" in drawn
    hf.pattern_test("clustered.csv", square, lengths=[0.05, 0.1], plot="a.svg", **QUICK)
    assert Path("a.svg").read_bytes() == drawn


def test_windows_from_a_file_and_in_space():
    assert "Polygon of 4 vertices" in str(hf.pattern_test("clustered.csv", "square.csv", **QUICK))
    found = hf.pattern_test("space.csv", [0, 0, 0, 1, 1, 1], distances=[0.1, 0.2, 0.4], **QUICK)
    assert found.count == 60


def test_an_intensity_from_a_table():
    excess = [
        hf.pattern_test("gradient.csv", [0, 0, 1, 1], intensity=given, simulations=99).excess[-1]
        for given in (None, "density.csv")
    ]
    # A density of 2 (1 - x) has a third more pairs than a constant one; given it, most of that is expected.
    assert excess[0] > 0.2
    assert abs(excess[1]) < 0.6 * excess[0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"window": [0, 0, 1]}, "window must be 4 numbers in the plane or 6 in space"),
        ({"window": "none.csv"}, "none.csv"),
        ({"simulations": 0}, "simulations must be an integer of at least 1, got 0"),
        ({"lengths": [1], "distances": [2]}, "give one of the two"),
        ({"intensity": "none.csv"}, "none.csv"),
        ({"intensity": "square.csv"}, "must have the coordinates and one more column"),
        ({"out": "result.txt"}, "out must end in .json, got 'result.txt'"),
        ({"out": "no/result.json"}, "no such folder"),
        ({"out": "mine.json"}, "was not written by heatfield"),
        ({"plot": "a.pdf"}, "plot must end in .png, .svg, got 'a.pdf'"),
        ({"plot": "mine.png"}, "was not written by heatfield"),
    ],
)
def test_wrong_options_are_said(options, expected):
    Path("mine.json").write_text('{"mine": 1}')
    Path("mine.png").write_text("my own")
    with pytest.raises((ValueError, OSError), match=expected):
        hf.pattern_test("clustered.csv", **options)
    assert Path("mine.json").read_text() == '{"mine": 1}'
