"""Registries, recipes, tables and pages: every table at the smallest budget."""

import os
import re
from importlib.util import find_spec

import numpy as np
import pytest

import heatfield as hf
from heatfield.experiments import DATA_SETS, METHODS, TABLES
from heatfield.experiments._changes import (
    NONE,
    ROBUSTNESS,
    ROTATION,
    Change,
    alignment,
    changed,
    haar_rotation,
)
from heatfield.experiments._evaluate import evaluate, train_rows
from heatfield.experiments._features import features_of, layout_of
from heatfield.experiments._findings import findings
from heatfield.experiments._grid import Cell, Grid, found_key
from heatfield.experiments._jobs import Context, evaluation
from heatfield.experiments._methods import TRAINERS
from heatfield.experiments._page import latex, markdown, page, write_pages
from heatfield.experiments._published import PUBLISHED
from heatfield.experiments._run import run_jobs
from heatfield.experiments._sets import Size, load
from heatfield.experiments._statistics import Mean
from heatfield.experiments._store import Store
from heatfield.experiments.tables.scales import _rows as scale_rows

SMALL = [
    "HFS-simple", "HFS-desc", "HFS-full", "MP-HSM-C", "only density", "without local", "2 scales",
    "heat dimension",
]  # fmt: skip


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All tables, on two sets and by a few methods."""
    folder = tmp_path_factory.mktemp("results")
    methods = [name for name in SMALL if name in METHODS and not METHODS[name].missing()]
    context = Context(Store(folder), "smoke", {}, ["four_shapes", "processes"], [*methods, "heat dimension"])
    from heatfield.experiments._api import jobs_of

    counts = run_jobs(context, jobs_of(context, list(TABLES)), quiet=True)
    assert counts["failed"] == 0
    assert counts["computed"] > 40
    return folder, context


def test_every_table_is_filled_and_every_figure_links_to_its_record(smoke):
    folder, context = smoke
    shown = {grid.name for grid in hf.experiments.show(budget="smoke", results=folder)}
    wanted = {"main", "ablation", "scales", "rotation_four_shapes", "boundary", "summary",
              "runtime_four_shapes", "curve_processes", "robustness_four_shapes"}  # fmt: skip
    if not METHODS["MP-HSM-C"].missing():
        wanted |= {"persistence"}
    if find_spec("skdim"):
        wanted |= {"dimension_clean", "dimension_noise", "dimension_density"}
    assert wanted <= shown
    places = write_pages(folder, budget="smoke")
    links = set(re.findall(r"\]\(([^)]*\.json)\)", places["markdown"].read_text()))
    assert len(links) > 20
    assert all((folder / link).is_file() for link in links)
    assert "Content-Security-Policy" in places["html"].read_text()
    # Tables share cells: the run of one more is nothing new.
    assert run_jobs(context, [j for n in TABLES for j in _jobs(n, context)], quiet=True)["computed"] == 0


def _jobs(name, context):
    from heatfield.experiments.tables import table

    return table(name).jobs(context)


def test_smoke_cells_say_so_and_are_never_shown_as_the_paper_s(smoke):
    folder, _ = smoke
    assert hf.experiments.show(["main"], budget="paper", results=folder) == []
    grid, *_ = hf.experiments.show(["main"], budget="smoke", results=folder)
    done = [cell for _, cells in grid.rows for cell in cells if cell.ours is not None]
    assert {cell.budget for cell in done} == {"smoke"}
    assert findings(folder, budget="smoke") == []


def test_no_prediction_changes_under_rotation(smoke):
    _, context = smoke
    for name in ("HFS-simple", "HFS-desc"):
        job = evaluation(
            context, "rotation", DATA_SETS["four_shapes"], METHODS[name], changes=(NONE, ROTATION)
        )
        cells = context.store.cells(job.key)
        assert len(cells) == 2
        for cell in cells.values():
            assert cell["changed"]["rotation"] == 0
            assert cell["deviation"]["rotation"] < 1e-10


def test_the_paper_s_ablation_has_thirteen_rows_and_its_widths():
    rows = [m for m in METHODS.values() if m.group == "ablation"]
    assert len(rows) == 13
    widths = {m.name: layout_of(m, 3).width for m in rows}
    assert widths["only global"] == 32
    assert widths["only log-Hessian"] == 120
    assert widths["without log-Hessian"] == 216
    assert widths["without local"] == 96
    assert set(PUBLISHED["ablation"]) == {"HFS-desc", *widths}


def test_records_are_shown_where_the_other_implementation_trains(tmp_path, monkeypatch):
    context, entry = Context(Store(tmp_path), "paper"), DATA_SETS["neurons4"]
    job = evaluation(context, "accuracy", entry, METHODS["HFS-desc"])
    cell = {"scores": {"none": {"macc": 90.0}}, "test": 60}
    context.store.add(job.key, 0, cell, {"protocol": entry.protocol.facts()}, job.code)
    for trainer in TRAINERS:
        monkeypatch.setattr("heatfield.experiments._methods.trainer", lambda name=trainer: name)
        found = found_key(context, "accuracy", entry, METHODS["HFS-desc"])
        assert found is not None, trainer
        assert found[0].name == job.key.name


def test_planar_rows_have_the_centres_of_space():
    rows = {m.name: m for m in METHODS.values() if m.group == "planar"}
    assert layout_of(rows["only HDS, centres 0 to 3"], 2).width == layout_of(METHODS["only HDS"], 3).width
    for name, method in rows.items():
        plain = METHODS[name.removesuffix(", centres 0 to 3")]
        more = layout_of(method, 2).width - layout_of(plain, 2).width
        assert more == 2 * 8  # one centre more, two statistics of it, at eight scales


def test_every_published_row_is_a_method_or_its_label():
    labels = {label for label, _ in scale_rows()}
    for name, rows in PUBLISHED.items():
        assert set(rows) <= (labels if name == "scales" else set(METHODS)), name


def test_blocks_are_the_columns_of_the_descriptor_with_those_blocks(tmp_path):
    data = load(DATA_SETS["four_shapes"], None, Size(2, 40))
    method = METHODS["without HDS"]
    table, _ = features_of(method, data, NONE, tmp_path)
    direct = hf.HFSDescriptor("desc", blocks=method.blocks).fit_transform(data.clouds)
    np.testing.assert_array_equal(table, direct)
    assert (
        layout_of(method, 3).names == hf.HFSDescriptor("desc", blocks=method.blocks, n_dims=3).layout().names
    )
    kept = list((tmp_path / "features").glob("*.npy"))
    features_of(METHODS["only global"], data, NONE, tmp_path)  # the same table serves all rows
    assert list((tmp_path / "features").glob("*.npy")) == kept
    features_of(METHODS["only global"], data, ROTATION, tmp_path)
    assert len(list((tmp_path / "features").glob("*.npy"))) == 2


def test_descriptors_are_not_reduced_and_networks_say_what_they_had():
    entry = DATA_SETS["orbit5k"]
    assert METHODS["HFS-desc"].plan(entry, "reduced") == METHODS["HFS-desc"].plan(entry, "paper")
    paper, reduced = (METHODS["DGCNN"].plan(entry, b) for b in ("paper", "reduced"))
    assert (paper.label, reduced.label) == ("paper", "reduced")
    assert "epochs" not in paper.recipe["options"]  # those of its authors
    assert paper.splits == 20
    assert reduced.recipe["options"]["epochs"] == 15
    with pytest.raises(ValueError, match=r"budget must be one of .*'large'"):
        METHODS["DGCNN"].plan(entry, "large")


def test_fewer_training_clouds_are_among_more():
    data = load(DATA_SETS["four_shapes"], None, Size(10, 20))
    few, more = (train_rows(data, 1, {"train_per_class": k}) for k in (2, 5))
    assert np.bincount(data.labels[few]).tolist() == [2] * 4
    assert (more | ~few).all()
    assert not (more & data.tests[1]).any()


def test_scores_of_the_evaluation_are_those_of_the_classifier():
    """With discriminants, which have no random numbers, the way around is exact."""
    data = load(DATA_SETS["processes"], None, Size(12, 60))
    method = METHODS["HFS-desc, LDA"]
    recipe = method.plan(data.entry, "paper").recipe
    ((split, cell),) = evaluate(method, recipe, data, [3], (NONE,), None)
    test = data.tests[3]
    train, held_out = ([data.clouds[i] for i in np.flatnonzero(mask)] for mask in (~test, test))
    model = hf.HFSClassifier("desc", head="lda").fit(train, data.labels[~test])
    right = (model.predict(held_out) == data.labels[test]).mean()
    assert split == 3
    assert cell["scores"]["none"]["oa"] == pytest.approx(100 * right, abs=1e-3)


def test_changes_depend_on_the_cloud_s_number_alone():
    clouds = [np.random.default_rng(k).normal(size=(30, 3)) for k in range(3)]
    for change in (ROTATION, *ROBUSTNESS):
        whole, part = changed(clouds, change), changed(clouds[:2], change)
        for a, b in zip(part, whole, strict=False):
            np.testing.assert_array_equal(a, b)
    assert changed(clouds, NONE) is clouds
    noisy = changed([np.random.default_rng(0).normal(size=(5000, 3))], Change("noise", 0.1))[0]
    gap = noisy - np.random.default_rng(0).normal(size=(5000, 3))
    assert gap.std() == pytest.approx(0.1 * np.sqrt(3), rel=0.05)


def test_rotations_are_proper_and_even():
    rng = np.random.default_rng(0)
    turns = np.array([haar_rotation(3, rng) for _ in range(2000)])
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)
    assert np.abs(turns.mean(axis=0)).max() < 0.05
    assert (turns**2).mean(axis=0) == pytest.approx(np.full((3, 3), 1 / 3), abs=0.03)


def test_alignment_is_one_for_poles_and_low_for_any_direction():
    rng = np.random.default_rng(0)
    pole = rng.normal(size=(50, 3)) * [0.1, 0.1, 1.0]
    assert alignment([pole] * 4) == pytest.approx(1.0)
    turned = [pole @ haar_rotation(3, rng).T for _ in range(300)]
    assert alignment(turned) < 0.6  # axes in half the sphere: their mean is not 0


def test_pages_show_paper_difference_budget_and_stale():
    cells = [
        Cell(Mean(93.51, 0.52, 20), 93.2, True, "paper", "a/b.json", False, 20),
        Cell(Mean(60.0, 1.0, 3), 58.0, False, "reduced", "a/c.json", True, 5),
        Cell(None, 10.0),
    ]
    text = markdown([Grid("t", "Title_1", ("A", "B", "C"), [("row", cells)])], ["a finding"])
    assert "[93.5 ± 0.5](a/b.json) (93.2, +0.3) |" in text
    assert "[60.0 ± 1.0](a/c.json) (other data 58.0) reduced, 3 of 5, stale" in text
    assert "* a finding" in text
    tex = latex([Grid("t", "Title_1", ("A", "B", "C"), [("row", cells)])])
    assert r"Title\_1" in tex
    assert r"93.5 $\pm$ 0.5 (93.2, +0.3)" in tex
    assert "<script" not in page(
        [Grid("t", "<script>", ("<script>",), [("<script>", cells[:1])])], ["<script>"]
    )


@pytest.mark.parametrize(
    "forge",
    [
        lambda place: place.write_bytes(place.read_bytes()[:-9]),
        lambda place: np.save(place, np.load(place)[:-1]),
        lambda place: np.save(place, np.array([{"a": 1}], dtype=object)),
        lambda place: place.with_suffix(".json").write_text(100_000 * "["),
        lambda place: place.with_suffix(".json").write_text('{"seconds": NaN}'),
        lambda place: (place.unlink(), os.mkfifo(place)),
    ],
    ids=["cut", "another shape", "objects", "nested", "no number", "a pipe"],
)
def test_a_forged_table_of_features_is_computed_again(tmp_path, forge):
    method, data = METHODS["HFS-desc"], load(DATA_SETS["four_shapes"], None, Size(2, 40))
    expected, _ = features_of(method, data, NONE, tmp_path)
    (place,) = (tmp_path / "features").glob("*.npy")
    forge(place)
    found, seconds = features_of(method, data, NONE, tmp_path)
    np.testing.assert_array_equal(found, expected)
    assert 0.0 < seconds < np.inf
    assert place.is_file()
