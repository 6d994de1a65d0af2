"""Registries, recipes, tables and pages: every table at the smallest budget."""

import re
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
import heatfield_bench as hb
from heatfield.options import Run
from heatfield_bench import DATA_SETS, METHODS, TABLES
from heatfield_bench._evaluate import (
    NONE,
    ROBUSTNESS,
    ROTATION,
    Change,
    Kept,
    alignment,
    changed,
    evaluate,
    features_of,
    haar_rotation,
    layout_of,
    train_rows,
)  # fmt: skip
from heatfield_bench._findings import findings
from heatfield_bench._grid import Cell, Grid, Mean
from heatfield_bench._jobs import Context, evaluation
from heatfield_bench._methods import SETS, epochs_within
from heatfield_bench._page import WIDEST, markdown, write_page
from heatfield_bench._results import Store
from heatfield_bench._run import run_jobs
from heatfield_bench._sets import Size, load
from heatfield_bench.tables import table
from heatfield_bench.tables.dimension import (
    CONDITIONS,
    ENOUGH,
    ESTIMATORS,
    SCALES,
    estimate,
    heat_dimension,
    manifold,
)

QUIET = Run(progress=False)
RESULTS = Path(__file__).parents[1] / "results"
SMALL = [
    "HFS-simple", "HFS-desc", "HFS-full", "MP-HSM-C", "only density", "without local", "2 scales",
    "heat dimension", "desc, lda", "joint, lda",
]  # fmt: skip


def jobs_of(context, tables):
    return [job for name in tables for job in table(name).jobs(context)]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All tables, on two sets and by a few methods."""
    folder = tmp_path_factory.mktemp("results")
    methods = [name for name in SMALL if name in METHODS and not METHODS[name].missing()]
    context = Context(Store(folder), "smoke", {}, ["four_shapes", "processes"], [*methods, "heat dimension"])
    counts = run_jobs(context, jobs_of(context, list(TABLES)), options=QUIET)
    assert counts["failed"] == 0
    assert counts["computed"] > 40
    return folder, context


def test_every_table_is_filled_and_links_to_its_results(smoke):
    folder, context = smoke
    shown = {grid.name for grid in hb.show(budget="smoke", results=folder)}
    wanted = {"main", "ablation", "scales", "rotation_four_shapes", "boundary", "summary",
              "runtime_four_shapes", "curve_processes", "robustness_four_shapes", "descriptors"}  # fmt: skip
    if not METHODS["MP-HSM-C"].missing():
        wanted |= {"persistence"}
    if find_spec("skdim"):
        wanted |= {"dimension_clean", "dimension_noise", "dimension_density"}
    assert wanted <= shown
    text = write_page(folder, budget="smoke").read_text()
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert len(links) == len(re.findall("^## ", text, flags=re.M))  # one per table; there are no findings
    assert all((folder / link).is_file() for link in links)
    assert max(map(len, text.splitlines())) <= WIDEST
    # Tables share cells: the run of one more is nothing new.
    assert run_jobs(context, jobs_of(context, list(TABLES)), options=QUIET)["computed"] == 0


def test_smoke_cells_say_so_and_are_never_shown_as_the_paper_s(smoke):
    folder, _ = smoke
    assert hb.show(["main"], budget="paper", results=folder) == []
    grid, *_ = hb.show(["main"], budget="smoke", results=folder)
    done = [cell for _, cells in grid.rows for cell in cells if cell.ours is not None]
    assert all("smoke" in cell.remarks for cell in done)
    assert findings(folder, budget="smoke") == []


def test_no_prediction_changes_under_rotation(smoke):
    _, context = smoke
    for name in ("HFS-simple", "HFS-desc"):
        job = evaluation(
            context, "rotation", DATA_SETS["four_shapes"], METHODS[name], changes=(NONE, ROTATION)
        )
        cells = context.store.read(job.key).cells
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
    published = {m.name for m in METHODS.values() if "ablation" in m.published and m.group != "planar"}
    assert published == {"HFS-desc", *widths}


def test_one_entry_makes_a_row_of_every_table():
    """What `baseline` declares on the class: the row, its figures, and where it stands."""
    dgcnn = METHODS["DGCNN"]
    assert dgcnn.published["main"]["SCOP"] == 35.1
    assert dgcnn.published["speed_up"] == {"median": 1.0}
    assert all(tuple(figures) == SETS[name] for name, figures in dgcnn.published.items())
    rows = {name: [label for label, _ in table(name).rows()] for name in ("main", "runtime", "curve")}
    assert rows["main"][:4] == ["FPFH", "HKS", "WKS", "LocalCovariance"]
    assert rows["main"][-2:] == ["HFS-full", "HFS+DGCNN"]
    assert "DGCNN" in rows["runtime"]
    assert rows["curve"] == [
        "FPFH", "HKS", "LocalCovariance", "HFS-simple", "HFS-desc", "HFS-joint", "HFS-joint, LDA",
    ]  # fmt: skip


def test_planar_rows_have_the_centres_of_space():
    rows = {m.name: m for m in METHODS.values() if m.group == "planar"}
    assert layout_of(rows["only HDS, centres 0 to 3"], 2).width == layout_of(METHODS["only HDS"], 3).width
    for name, method in rows.items():
        plain = METHODS[name.removesuffix(", centres 0 to 3")]
        more = layout_of(method, 2).width - layout_of(plain, 2).width
        assert more == 2 * 8  # one centre more, two statistics of it, at eight scales


def test_blocks_are_the_columns_of_the_descriptor_with_those_blocks():
    data, kept = load(DATA_SETS["four_shapes"], None, Size(2, 40)), Kept()
    method = METHODS["without HDS"]
    table, _ = features_of(method, data, NONE, kept)
    direct = hf.HFSDescriptor("desc", blocks=method.blocks).fit_transform(data.clouds)
    np.testing.assert_array_equal(table, direct)
    layout = hf.HFSDescriptor("desc", blocks=method.blocks, n_dims=3).layout()
    assert layout_of(method, 3).names == layout.names
    (whole,) = kept.values()
    features_of(METHODS["only global"], data, NONE, kept)  # the same table serves all rows
    assert list(kept.values()) == [whole]
    features_of(METHODS["only global"], data, ROTATION, kept)
    features_of(METHODS["HFS-simple"], data, NONE, kept)
    other = replace(data, content="other")
    features_of(METHODS["HFS-simple"], other, NONE, kept)
    assert len(kept) == 4


def test_descriptors_are_not_reduced_and_networks_say_what_they_had():
    entry = DATA_SETS["orbit5k"]
    assert METHODS["HFS-desc"].plan(entry, "reduced") == METHODS["HFS-desc"].plan(entry, "paper")
    paper, reduced = (METHODS["DGCNN"].plan(entry, b) for b in ("paper", "reduced"))
    assert (paper.label, reduced.label) == ("paper", "reduced")
    assert "epochs" not in paper.recipe["options"]  # those of its authors
    assert paper.splits == 20
    assert reduced.recipe["steps"] == 2000
    assert "epochs" not in reduced.recipe["options"]  # these follow from the number of training clouds
    with pytest.raises(ValueError, match=r"budget must be one of .*'large'"):
        METHODS["DGCNN"].plan(entry, "large")


def test_a_reduced_budget_is_a_number_of_steps():
    """A small set is seen more often; never more often than in the paper."""
    assert [epochs_within(2000, clouds) for clouds in (246, 1164, 3200, 100_000)] == [250, 54, 20, 1]
    data = load(DATA_SETS["four_shapes"], None, Size(10, 40))
    method = replace(METHODS["PointNet"], reduced={"steps": 3, "n_points": 32})
    recipe = method.plan(data.entry, "reduced").recipe
    ((_, cell),) = evaluate(method, recipe, data, [0], (NONE,))
    assert cell["train"] == 32
    assert cell["epochs"] == 3
    assert 0.0 <= cell["train_accuracy"] <= 100.0


def test_the_row_on_the_clouds_of_persistence_has_their_clouds(tmp_path):
    entry, desc, other = DATA_SETS["disks_annuli"], METHODS["HFS-desc"], METHODS["GRIL"]
    own, like = table("persistence").same_clouds(desc, entry, "reduced"), other.plan(entry, "reduced")
    assert (own.size, own.splits, own.label) == (like.size, like.splits, "reduced")
    context = Context(Store(tmp_path), "reduced", sets=["disks_annuli"], methods=["HFS-desc"])
    whole, same = jobs_of(context, ["persistence"])
    metadata = {"protocol": asdict(entry.protocol), "content": "a"}
    for job, score in ((whole, 97.0), (same, 82.5)):
        context.store.add(job.key, 0, {"scores": {"none": {"oa": score}}, "test": 40}, metadata)
    (grid,) = hb.show(["persistence"], results=tmp_path)
    assert {label: cells[0].ours.mean for label, cells in grid.rows} == {
        "HFS-desc, same clouds": 82.5, "HFS-desc": 97.0,
    }  # fmt: skip


def test_fewer_training_clouds_are_among_more():
    data = load(DATA_SETS["four_shapes"], None, Size(10, 20))
    few, more = (train_rows(data, 1, {"train_per_class": k}) for k in (2, 5))
    assert np.bincount(data.labels[few]).tolist() == [2] * 4
    assert (more | ~few).all()
    assert not (more & data.tests[1]).any()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("HFS-desc, LDA", {"head": "lda"}),
        ("desc, rank lda", {"head": "lda", "normalise": "rank"}),
        ("desc, auto", {"head": "auto"}),
    ],
)
def test_scores_of_the_evaluation_are_those_of_the_classifier(name, options):
    """Where there are no random numbers, the way around is exact."""
    data = load(DATA_SETS["processes"], None, Size(12, 60))
    method = METHODS[name]
    recipe = method.plan(data.entry, "paper").recipe
    ((split, cell),) = evaluate(method, recipe, data, [3], (NONE,))
    test = data.tests[3]
    train, held_out = ([data.clouds[i] for i in np.flatnonzero(mask)] for mask in (~test, test))
    model = hf.HFSClassifier("desc", **options).fit(train, data.labels[~test])
    right = (model.predict(held_out) == data.labels[test]).mean()
    assert split == 3
    assert cell["scores"]["none"]["oa"] == pytest.approx(100 * right, abs=1e-3)
    assert cell.get("chosen", "") in ("", *model.head_scores_)


def test_folds_are_drawn_ten_times_and_the_first_time_as_everywhere():
    entry = DATA_SETS["four_shapes"]
    (again,) = table("descriptors").sets([entry])
    assert table("descriptors").sets([again]) == [again]
    data, plain = (load(one, None, Size(10, 20)) for one in (again, entry))
    draws = np.array(data.tests).reshape(10, 5, -1)
    assert (draws.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(draws[0], plain.tests)
    assert len({draw.tobytes() for draw in draws}) == 10
    assert all(np.bincount(data.labels[test]).tolist() == [2] * 4 for test in data.tests)


def test_the_table_of_descriptors_has_differences_means_and_costs(tmp_path):
    asked = {"sets": "four_shapes", "methods": ["joint, lda", "joint, rank lda"], "results": tmp_path}
    counts = hb.run("descriptors", progress=False, features=tmp_path / "features", **asked)
    assert counts == {"computed": 4, "before": 0, "failed": 0}
    scores, gaps, costs = hb.show("descriptors", budget="smoke", results=tmp_path)
    assert scores.columns == ("four shapes", "mean of the real sets")
    assert [label for label, _ in scores.rows] == ["joint, lda", "joint, rank lda"]
    ((label, (cell, mean)),) = gaps.rows
    assert label == "joint, rank lda"
    assert re.fullmatch(r"[+-]\d+\.\d ± \d+\.\d( \(p = .*\))?", cell.text)
    assert mean.text == ""  # these clouds are made
    assert all(cell.text.startswith("744, ") for _, (cell,) in costs.rows)


def test_features_are_taken_from_the_folder_that_this_code_wrote(tmp_path, monkeypatch):
    data, method = load(DATA_SETS["four_shapes"], None, Size(2, 40)), METHODS["HFS-simple"]
    table, seconds = features_of(method, data, NONE, Kept(tmp_path))
    (file,) = tmp_path.iterdir()
    before = file.stat().st_mtime_ns
    again, told = features_of(method, data, NONE, Kept(tmp_path))
    np.testing.assert_array_equal(table, again)
    assert told == seconds
    assert file.stat().st_mtime_ns == before
    monkeypatch.setattr("heatfield_bench._evaluate.source_hash", lambda: "of other code")
    features_of(method, data, NONE, Kept(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


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


def test_pages_show_paper_difference_and_remarks():
    cells = [
        Cell(Mean(93.51, 0.52, 20), 93.2, expected=20),
        Cell(Mean(60.0, 1.0, 3), None, ("15 epochs", "underfit"), expected=5),
        Cell(None, 10.0),
    ]
    grid = Grid("t", "Title_1", ("A", "B", "C"), [("row", cells)], source="main.jsonl")
    text = markdown([grid], ["a finding"], folder="../results/")
    assert "| row | 93.5 ± 0.5 (93.2, +0.3) | 60.0 ± 1.0 15 epochs, underfit, 3 of 5 | (10.0) |" in text
    assert "* Results: [main.jsonl](../results/main.jsonl)" in text
    assert "* a finding" in text


def test_a_wide_table_is_split_into_lines_that_fit():
    cells = [Cell(text=20 * str(k % 10)) for k in range(25)]
    text = markdown([Grid("t", "Wide", tuple(f"column {k}" for k in range(25)), [("row", cells)])], [])
    assert max(map(len, text.splitlines())) <= WIDEST
    assert all(f"column {k} |" in text for k in range(25))
    assert text.count("| row |") == 4


def test_the_paper_s_figure_never_stands_beside_other_data(tmp_path):
    """neurons4 is another task than NeuroMorpho, whatever the two have in common."""
    store = Store(tmp_path)
    for name in ("neurons4", "processes"):
        entry = DATA_SETS[name]
        job = evaluation(Context(store, "paper"), "accuracy", entry, METHODS["HFS-desc"])
        cell = {"scores": {"none": {entry.protocol.metric: 90.0}}, "test": 60}
        store.add(job.key, 0, cell, {"protocol": asdict(entry.protocol)})
    (grid,) = hb.show(["main"], results=tmp_path)
    papers = {column: cell.paper for column, cell in zip(grid.columns, grid.rows[0][1], strict=True)}
    assert papers == {"Processes": 98.3, "neurons4": None}
    assert any(note.startswith("neurons4: ") for note in grid.notes)


def test_kept_results_are_whole():
    """The results of the repository: every line can be read, and every file is of a table."""
    store = Store(RESULTS)
    assert store.problems() == []
    assert {path.stem for path in RESULTS.glob("*.jsonl")} <= set(TABLES)
    lines = sum(len(path.read_text().splitlines()) for path in RESULTS.glob("*.jsonl"))
    assert sum(len(record.cells) for record in store.records()) > 0.9 * lines


def test_the_heat_dimension_is_that_of_the_signatures_without_the_point_s_own_term():
    points = hf.datasets.sample_manifold("torus", 400, random_state=0).points
    s = hf.signatures(points, n_scales=SCALES)
    weight = s.density * (4 * np.pi * s.scales) ** 1.5
    others = weight - 1.0
    enough = np.median(others, axis=0) >= ENOUGH
    assert 0 < enough.sum() < SCALES
    corrected = s.dimension[:, enough] * weight[:, enough] / others[:, enough]
    expected = np.median(corrected, axis=0).max()
    assert heat_dimension(points) == pytest.approx(expected, rel=1e-9)


def test_a_point_far_from_all_others_changes_nothing_but_the_scales():
    plane = np.random.default_rng(0).uniform(size=(500, 2))
    assert heat_dimension(np.r_[plane, [[40.0, 0.0]]]) == pytest.approx(2.0, abs=0.3)


def test_points_without_any_neighbourhood_have_no_dimension():
    assert np.isnan(heat_dimension(np.array([[0.0, 0.0], [1.0, 0.0]])))


def test_every_estimator_knows_a_plane():
    pytest.importorskip("skdim")
    plane = np.zeros((400, 4))
    plane[:, :2] = np.random.default_rng(0).uniform(size=(400, 2))
    found = {name: estimate(name, plane) for name in ESTIMATORS}
    assert all(abs(value - 2.0) < 0.4 for value in found.values()), found


def test_conditions_keep_the_number_of_points_and_change_them():
    pytest.importorskip("skdim")
    clouds = {c: manifold("M7_Roll", 120, c, 3) for c in CONDITIONS}
    assert all(points.shape == (120, 3) and truth == 2 for points, truth in clouds.values())
    assert len({points.tobytes() for points, _ in clouds.values()}) == 3
    np.testing.assert_array_equal(manifold("M7_Roll", 120, "density", 3)[0], clouds["density"][0])
    # Uneven: one half along the longest axis holds most of the points.
    drawn = manifold("M2_Affine_3to5", 300, "density", 0)[0]
    even = manifold("M2_Affine_3to5", 300, "clean", 0)[0]

    def lopsided(points):
        centre = (points.max(axis=0) + points.min(axis=0)) / 2
        axis = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][0]
        return abs(np.mean((points - centre) @ axis > 0) - 0.5)

    assert lopsided(drawn) > lopsided(even)
