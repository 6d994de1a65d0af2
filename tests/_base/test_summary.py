"""What objects say of themselves: short, complete, escaped, and never an error."""

from html.parser import HTMLParser

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.summary import (
    Summarised,
    band,
    chosen_columns,
    duration,
    extent,
    plain,
    quantiles,
    shown,
)
from heatfield.core.planner import Plan, ScalePlan
from heatfield.datasets._dataset import Dataset
from heatfield.features.layout import Layout
from heatfield.io import Cloud

HOSTILE = '</table><script>alert(1)</script><img src=x onerror="alert(2)">&lt;b&gt;\n\x1b[31m\udcff'
VOID = {"line", "circle", "polygon", "polyline"}


class Page(HTMLParser):
    """Tags in order, checked to be closed; the words between them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, _attributes):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, _attributes):
        assert tag in VOID
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def check(thing, lines=14, width=170):
    """Both forms exist, are short and can be printed anywhere; the lines and the page."""
    for text in (str(thing), thing._summary().text()):
        assert len(text.splitlines()) <= lines, text
        assert max(map(len, text.splitlines())) <= width, text
        text.encode()  # no lone surrogates
    page = Page(thing._repr_html_())
    assert {*page.tags} <= {"pre", "svg", "text", *VOID}
    return str(thing).splitlines(), page


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(300, 3)) * [3.0, 1.0, 0.1]


def test_signatures_in_ten_lines(points):
    s = hf.signatures(points)
    lines, page = check(s, lines=10)
    assert lines[0] == "Signatures at 300 points in 3 dimensions, 8 scales"
    cells = {line.split()[0]: line.split()[1:9] for line in lines[1:4]}
    assert cells["scale"] == [str(a) for a in range(8)]
    assert cells["sqrt(t)"] == [f"{v:.3g}" for v in np.sqrt(s.scales)]
    assert cells["dimension"] == [f"{v:.3g}" for v in np.median(s.dimension, axis=0)]
    rest = "\n".join(lines)
    for words in ("(300, 8)  density [length⁻ⁿ], dimension", "(300, 8, 3)  spectrum", "(8,)  energy"):
        assert words in rest
    assert lines[-1].split() == ["chosen", "dense", "at", "every", "scale;", "exact", "to", "rounding"]
    assert page.tags.count("polyline") == 1  # the median, and a mark at each scale
    assert page.tags.count("circle") == 8


@pytest.mark.filterwarnings("ignore::heatfield._base.check.HeatFieldWarning")
@pytest.mark.parametrize(
    "made",
    [
        lambda p: hf.signatures(p[:0]),
        lambda p: hf.signatures(p[:1]),
        lambda p: hf.signatures(p[:5, :2] * 0.0),
        lambda p: hf.signatures(p, hf.adaptive_scales(p, 5)),
        lambda p: hf.signatures(p, [1.0], transition="exact"),
        lambda p: hf.signatures(p, n_scales=200),
        lambda p: hf.signatures(p, with_spectrum=False),
        lambda p: hf.signatures(p, targets=p[:4] + 1e6),
        lambda p: hf.signatures(np.tile(p[:40], 4), hds_centers=np.arange(40.0)),
    ],
)
def test_signatures_of_every_kind(points, made):
    s = made(points)
    lines, _ = check(s, lines=10)
    m, steps = s.dimension.shape
    assert lines[0].startswith(f"Signatures at {m} point{'s' * (m != 1)}")
    check(s.hds)
    if s.plan is not None:
        check(s.plan, lines=1 + steps, width=300)


def test_a_channel_that_was_not_computed_everywhere(points):
    s = hf.signatures(points, n_scales=3)
    s.dimension[5:, 1] = np.nan
    s.dimension[:, 2] = np.inf
    lines, _ = check(s)
    assert lines[3].split()[1:4] == [
        f"{np.median(s.dimension[:, 0]):.3g}", f"{np.median(s.dimension[:5, 1]):.3g}", "nan"
    ]  # fmt: skip


def test_many_points_are_summarised_from_some_of_them():
    table = np.arange(1_000_001.0)[:, None] % 1000
    low, high = quantiles(table, [0.0, 1.0])[:, 0]
    assert (low, high) == (0.0, 998.0)  # of every sixth row: even numbers


def test_a_plan_is_one_line_per_run_of_scales(points):
    s = hf.signatures(points, method="fast", tol=1e-5, n_scales=40)
    plan = s.plan
    runs = 1 + sum(a != b for a, b in zip(plan.methods, plan.methods[1:], strict=False))
    text = repr(plan)
    assert text.splitlines()[0] == "Plan of 40 scales, tol 1e-05"
    assert len(text.splitlines()) == 1 + runs
    assert len(str(plan).splitlines()) == 41  # print(s.plan) shows every scale
    assert str(s).splitlines()[-1].endswith("; tol 1e-05")
    assert repr(Plan(None)) == "Plan of 0 scales, exact to rounding"
    two = Plan(
        1e-3, [ScalePlan(1.0, "boxes", 2, (9, 9), reason="x"), ScalePlan(2.0, "boxes", 1, (5, 5), reason="y")]
    )
    assert "at most 2 transforms of 9 x 9 modes per scale" in repr(two)


def test_clouds_of_every_kind(points, tmp_path):
    hf.write_points(tmp_path / "a.csv", points, {"height": points[:, 2], "class": np.arange(300)})
    lines, _ = check(hf.read_cloud(tmp_path / "a.csv"))
    assert lines[0] == "Cloud of 300 points in 3 dimensions, format table"
    assert "height (float64), class (int64)" in lines[2]
    lines, _ = check(Cloud(np.zeros((3, 2)), {f"column {k}": np.zeros(3) for k in range(4000)}))
    assert " more" in lines[2]
    check(Cloud(np.zeros((0, 3))))
    check(Cloud(np.full((2, 9), np.nan), parents=np.array([-1, 0]), faces=np.zeros((4, 3), int)))
    lines, page = check(Cloud(np.ones((2, 1)), {HOSTILE: np.zeros(2)}, HOSTILE, notes={HOSTILE: 1}))
    assert "\x1b" not in "".join(lines)
    assert any("<script>" in word for word in page.words)  # as words, not as tags


def test_data_sets_of_every_kind():
    clouds = [np.zeros((1000 + k, 3)) for k in range(308)]
    classes = tuple(f"class {k}" for k in range(44))
    data = Dataset(clouds, np.arange(308) % 44, classes, tuple(f"folder/{k}.ply" for k in range(308)))
    assert repr(data).startswith("Dataset of 308 clouds, 1,000 to 1,307 points each, 3 dimensions, classes: ")
    assert len(repr(data)) < 1000
    hostile = Dataset([np.zeros((2, 3))], np.array([0]), (HOSTILE, HOSTILE * 30), (HOSTILE,))
    assert "\x1b" not in repr(hostile)
    assert "Dataset of 0 clouds" in repr(Dataset([], np.array([], int), (), ()))


def test_a_layout():
    layout = hf.HFSDescriptor("joint", n_dims=3).layout()
    lines, _ = check(layout)
    assert lines[0] == f"Layout of {layout.width} columns"
    assert [line.split()[0] for line in lines[1:]] == list(layout.columns)
    assert "columns 0 to 31 (32): " in lines[1]
    check(Layout((), {}))


def test_plain_words():
    assert plain("a\tb\x1b[0m\udc80é") == "a\\tb\\x1b[0m\\udc80é"
    assert shown([]) == ""
    assert shown(["x" * 200]) == "x" * 200
    assert shown(["a"] * 100, width=10) == "a, a, a, a and 96 more"
    assert extent(np.zeros((0, 3))) == "nothing"
    assert (chosen_columns(0), chosen_columns(1)) == ([], [0])
    assert [duration(s) for s in (1e-9, 0.0201, 5.4, 125, 11_400)] == [
        "1 ms", "20 ms", "5 s", "2 min 05 s", "3 h 10 min"
    ]  # fmt: skip


def test_a_band_shows_its_numbers():
    x = np.array([0.1, 1.0, 10.0])
    drawing = band(x, np.zeros(3), np.ones(3), 2 * np.ones(3), top=3.0, title="a < b", below="x & y")
    assert "a &lt; b" in drawing
    assert "x &amp; y" in drawing
    words = Page(drawing).words
    assert [word for word in words if word in "0123"] == ["0", "1", "2", "3"]
    assert {"0.1", "10"} <= {*words}
    one, nothing = np.ones(1), np.full(3, np.nan)
    assert band(one, one, one, one, top=3.0, title="", below="") == ""
    assert band(x, nothing, nothing, nothing, top=3.0, title="", below="") == ""


def test_a_summary_must_be_made():
    with pytest.raises(NotImplementedError):
        repr(Summarised())
