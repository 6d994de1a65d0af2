"""A new signature is one entry of the registry, and then stands everywhere."""

import json
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import heatfield as hf
from heatfield import channels
from heatfield.channels import CHANNELS, Channel, file_columns, fixed
from heatfield.cli import main
from heatfield.view import view_page

WORDS = ("what", "pure number", "high")
EXCESS = Channel(
    "excess",
    "e",
    "excess of dimension",
    WORDS,
    read=lambda s: s.dimension - 1.0,
    needs=("dimension",),
    ends=fixed(-1.0, 2.0),
)
FLUX = Channel(
    "flux", "Φ", "flux", WORDS, read=lambda s: -s.spectrum, needs=("spectrum",), per_axis=True,
    ramp="spectrum",
)  # fmt: skip
HIDDEN = Channel("hidden", "h", "hidden", WORDS, read=lambda s: s.density, in_table=False, drawn=False)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(1).normal(size=(60, 3)) * [3.0, 1.0, 0.2]


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(channels, "CHANNELS", (*CHANNELS, EXCESS, FLUX, HIDDEN))


def plain_table(s):
    """phi(x_i) of the paper: one scale after the other."""
    rows = []
    for i in range(len(s.density)):
        row = []
        for a in range(s.density.shape[1]):
            row += [s.density[i, a], s.dimension[i, a], s.transition[i, a], *s.spectrum[i, a]]
        rows.append(row)
    return np.array(rows)


def test_the_paper_s_table(points):
    s = hf.signatures(points)
    np.testing.assert_array_equal(s.per_point(), plain_table(s))
    assert hf.signatures(points, with_spectrum=False).per_point().shape == (60, 24)
    assert hf.signatures(np.zeros((0, 2)), scales=np.ones((0, 8))).per_point().shape == (0, 40)


def test_columns_of_files(points):
    s = hf.signatures(points, n_scales=2)
    names = ["density", "dimension", "transition", "spectrum1", "spectrum2", "spectrum3"]
    found = file_columns(s)
    assert list(found) == [f"{name}_s{a}" for name in names for a in range(2)]
    np.testing.assert_array_equal(found["spectrum2_s1"], s.spectrum[:, 1, 1])


def header_of(page):
    return json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", page, re.S)[1])


def test_the_viewer_s_menu(points):
    found = header_of(view_page(points))["quantities"]
    assert {name: (entry["label"], entry["kind"]) for name, entry in found.items()} == {
        "dimension": ("heat dimension", "dimension"),
        "type": ("local type", "type"),
        "transition": ("transition (change with scale)", "transition"),
        "density": ("density (heat field)", "density"),
        "spectrum1": ("2tλ₁, largest direction", "spectrum"),
        "spectrum2": ("2tλ₂, second direction", "spectrum"),
        "spectrum3": ("2tλ₃, third direction", "spectrum"),
    }
    assert " ".join(found) == "dimension type transition density spectrum1 spectrum2 spectrum3"


@pytest.mark.usefixtures("registry")
def test_a_new_channel_in_the_table(points):
    s = hf.signatures(points, n_scales=3)
    table = s.per_point().reshape(60, 3, 10)
    np.testing.assert_array_equal(table[:, :, 6], s.dimension - 1.0)
    np.testing.assert_array_equal(table[:, :, 7:], -s.spectrum)
    # What cannot be read without the spectrum is left out without it.
    assert hf.signatures(points, n_scales=3, with_spectrum=False).per_point().shape == (60, 3 * 4)


@pytest.mark.usefixtures("registry")
def test_a_new_channel_in_files(points, tmp_path):
    hf.write_points(tmp_path / "a.csv", points)
    out = str(tmp_path / "t.npz")
    words = ["describe", str(tmp_path / "a.csv"), "-o", out, "--per-point", "csv", "--n-scales", "2"]
    assert main([*words, "--point-dtype", "float64", "--quiet"]) == 0
    _, columns = hf.read_points(tmp_path / "t_points" / "a.csv", columns=True)
    s = hf.signatures(points, n_scales=2)
    assert list(columns)[-8:] == ["excess_s0", "excess_s1"] + [
        f"flux{k}_s{a}" for k in (1, 2, 3) for a in (0, 1)
    ]
    np.testing.assert_array_equal(columns["excess_s1"], s.dimension[:, 1] - 1.0)
    assert not any(name.startswith("hidden") for name in columns)


@pytest.mark.usefixtures("registry")
def test_a_new_channel_in_the_viewer(points):
    found = header_of(view_page(points, n_scales=4))["quantities"]
    assert list(found)[-4:] == ["excess", "flux1", "flux2", "flux3"]
    assert found["excess"]["label"] == "excess of dimension"
    assert (found["excess"]["first"], found["excess"]["last"]) == ([-1.0] * 4, [2.0] * 4)
    assert found["flux2"]["label"] == "Φ₂, second direction"
    assert found["excess"]["kind"] == "column"


@pytest.mark.usefixtures("registry")
def test_a_new_channel_in_the_plots(points):
    axes = hf.plot.local_signatures(points, hf.signatures(points), scales=[0, 2])
    assert axes.shape == (6 + 4, 2)
    labels = [ax.get_ylabel() for ax in axes[0, 0].figure.axes[-10:]]
    assert labels[:4] == ["log density", "dimension", "transition", "$2t\\lambda_1$"]
    assert labels[6:] == ["excess", "$Φ_1$", "$Φ_2$", "$Φ_3$"]
    plt.close("all")


def test_a_new_channel_for_networks():
    """In a fresh process, as a change of the source would be."""
    code = """
import numpy as np
from heatfield import channels
from heatfield.channels import Channel
WORDS = ("what", "pure number", "high")
channels.CHANNELS += (
    Channel("mass", "M", "mass", WORDS, read=lambda s: 2.0 * s.density, log_words=WORDS),
    Channel("flux", "F", "flux", WORDS, read=lambda s: -s.spectrum, needs=("spectrum",), per_axis=True),
)
import heatfield as hf
from heatfield.features.points import POINT_BLOCKS, PointSettings, features_of
print(*POINT_BLOCKS)
recipe = PointSettings(2, blocks=("log_mass", "flux"), n_scales=2)
print(*recipe.point_names)
points = np.random.default_rng(0).random((30, 2))
s = hf.signatures(points, n_scales=2)
rows, _ = features_of(points, recipe)
expected = np.concatenate([np.log(2.0 * s.density)[:, :, None], -s.spectrum], axis=2).reshape(30, -1)
print(np.array_equal(rows, expected))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "density log_density dimension transition spectrum gradient mass log_mass flux neighbourhood",
        "log_mass_s0 flux_1_s0 flux_2_s0 log_mass_s1 flux_1_s1 flux_2_s1",
        "True",
    ], done.stderr


def test_names_are_unique():
    names = [channel.name for channel in CHANNELS]
    assert len({*names}) == len(names)
