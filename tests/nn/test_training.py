"""The training loop: schedule, loss, batches, checkpoints, its line of progress, and memory."""

import json
import os
import sys

import numpy as np
import pytest

import heatfield as hf
from heatfield.features.points import PointSettings, packed, point_table
from tests.helpers.estimator_checks import classifier, some_clouds
from tests.helpers.process import Terminal

torch = pytest.importorskip("torch")
from safetensors import safe_open  # noqa: E402
from safetensors.torch import save  # noqa: E402

from heatfield.nn.learner import RECIPES, Packed, Scaling, _drawn  # noqa: E402
from heatfield.nn.training import Training, _Line  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "change",
    [
        lambda parts, _: parts["network.points.0.weight"].fill_(float("nan")),
        lambda parts, _: parts.update({"optimizer.0.exp_avg": torch.zeros(3)}),
        lambda parts, _: parts.update({"optimizer.99999.step": torch.zeros(())}),
        lambda _, facts: facts["progress"].update(epoch=float("nan")),
        lambda _, facts: facts["progress"].update(epoch=10**30),
        lambda _, facts: facts["progress"].update(history=[{"loss": float("nan")}] * 2),
        lambda _, facts: facts["progress"].update(best=[0]),
        lambda _, facts: facts["numpy"]["state"].update(state=-(10**50)),
        lambda _, facts: facts.update(progress=[]),
    ],
)
def test_forged_checkpoints_are_refused(forgeable, change, tmp_path):
    clouds, labels, parts, facts, fixed = forgeable
    parts, facts = {k: v.clone() for k, v in parts.items()}, json.loads(facts)
    change(parts, facts)
    place = tmp_path / "forged.ckpt"
    place.write_bytes(save(parts, {**fixed, "facts": json.dumps(facts)}))
    with pytest.raises(ValueError, match=r"cannot be read .* delete it to start anew, or give another path"):
        classifier(checkpoint=place, epochs=2).fit(clouds, labels)


def test_nested_and_piped_checkpoints_are_refused(forgeable, tmp_path):
    clouds, labels, parts, _, fixed = forgeable
    (tmp_path / "deep").write_bytes(save(parts, {**fixed, "facts": 100_000 * "["}))
    os.mkfifo(tmp_path / "pipe")
    for name in ("deep", "pipe"):
        with pytest.raises(ValueError, match=r"cannot be read .* delete it to start anew"):
            classifier(checkpoint=tmp_path / name, epochs=2).fit(clouds, labels)


@pytest.fixture(scope="module")
def forgeable(tmp_path_factory):
    """Clouds, labels, and the tensors and facts of a finished training on them."""
    clouds, labels = some_clouds(12)
    place = tmp_path_factory.mktemp("checkpoint") / "run.ckpt"
    classifier(checkpoint=place, epochs=2).fit(clouds, labels)
    with safe_open(place, framework="pt") as file:
        parts, metadata = {k: file.get_tensor(k) for k in file.keys()}, file.metadata()  # noqa: SIM118
    return clouds, labels, parts, metadata["facts"], {"format": metadata["format"]}


def test_the_time_left_is_that_of_all_trainings(monkeypatch):
    from heatfield._base import progress
    from heatfield.nn import training as loop

    clouds, labels = some_clouds(12)
    left = []
    monkeypatch.setattr(loop._Line, "show", lambda self, epoch, entry, seconds: left.append(seconds))  # noqa: ARG005
    classifier(epochs=2).fit(clouds, labels)
    token = progress.remaining_fits.set(3)
    classifier(epochs=2).fit(clouds, labels)
    progress.remaining_fits.reset(token)
    assert left[0] > 0
    assert left[1] == 0
    assert left[3] > 0  # six more epochs


def test_smoothing_enters_the_loss():
    logits = torch.randn(6, 3)
    target = torch.tensor([0, 1, 2, 2, 1, 0])
    shares = torch.full((6, 3), 0.1)
    shares[torch.arange(6), target] = 0.8  # the two wrong classes share 0.2
    expected = -(shares * logits.log_softmax(dim=1)).sum(dim=1).mean()
    found = Training(label_smoothing=0.2).loss(3, torch.device("cpu"))(logits, target)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_line_of_progress_fits_the_terminal(columns, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    line = _Line(Training(epochs=250))
    entry = {"loss": 0.0123, "accuracy": 1.0, "validation_accuracy": 1.0, "seconds": 12.34}
    line.show(250, entry, 3085.0)
    shown = screen.getvalue().rpartition("\r")[2].rstrip()
    assert len(shown) < columns
    if columns >= 80:
        assert "validation 100.0 %" in shown
        assert shown.endswith("51:25 left" if columns == 80 else "12.34 s per epoch, 51 min 25 s left")


def test_cosine_schedule():
    options = Training(epochs=10, learning_rate=1.0, final_rate=0.1)
    rates = [options.rate(epoch) for epoch in range(11)]
    assert rates[0] == 1.0
    assert rates[5] == pytest.approx(0.55)
    assert rates[10] == pytest.approx(0.1)
    assert (np.diff(rates) < 0).all()


def test_the_papers_recipes_are_the_defaults():
    full, dgcnn = RECIPES["full"], RECIPES["dgcnn"]
    assert (full.epochs, full.batch_size, full.learning_rate, full.optimizer) == (250, 32, 1e-3, "adam")
    assert (full.final_rate, full.label_smoothing, full.train_points) == (0.0, 0.0, None)
    found = (dgcnn.optimizer, dgcnn.learning_rate, dgcnn.weight_decay, dgcnn.label_smoothing)
    assert found == ("sgd", 0.1, 1e-4, 0.2)
    assert " ".join(PointSettings(3).blocks) == "global hds density dimension transition spectrum"


# --- tables and batches ------------------------------------------------------------


def test_cache_gives_the_same_and_survives_damage(tmp_path):
    clouds, _ = some_clouds(6)
    recipe = PointSettings(3, n_scales=3)
    first = point_table(clouds, recipe, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    stamp = file.stat().st_mtime_ns
    second = point_table(clouds, recipe, cache=tmp_path)
    assert file.stat().st_mtime_ns == stamp
    for name in ("rows", "starts", "whole", "coordinates", "shift", "unit"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    file.write_bytes(b"PK\x03\x04 broken")
    np.testing.assert_array_equal(point_table(clouds, recipe, cache=tmp_path).rows, first.rows)
    point_table(clouds[:5], recipe, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_table_holds_the_signatures_in_its_unit():
    clouds, _ = some_clouds(6)
    table = point_table(clouds, PointSettings(3, n_scales=3))
    for i, cloud in enumerate(clouds):
        s = hf.signatures(cloud, n_scales=3)
        rows = table.rows[table.starts[i] : table.starts[i + 1]] * table.unit + table.shift
        np.testing.assert_allclose(rows, s.per_point(), rtol=1e-5, atol=1e-5 * np.abs(table.unit).max())
        ball = table.coordinates[table.starts[i] : table.starts[i + 1]]
        assert np.linalg.norm(ball, axis=1).max() == pytest.approx(1.0, abs=1e-6)
    assert table.take([3, 1]).sizes().tolist() == [len(clouds[3]), len(clouds[1])]


def test_batches_are_standardised_and_packed():
    clouds, _ = some_clouds(8)
    table = point_table(clouds, PointSettings(3, n_scales=3))
    data = Packed(table, Scaling.of_points(table, 1e-9), Scaling.of_whole(table, 1e-9), torch.device("cpu"))
    rows, whole, coordinates, starts = data.batch(np.arange(8))
    assert starts.tolist() == table.starts.tolist()
    np.testing.assert_allclose(rows.mean(dim=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(rows.std(dim=0, correction=0), 1.0, atol=1e-4)
    np.testing.assert_allclose(whole.mean(dim=0), 0.0, atol=1e-5)
    some, _, near, begins = data.batch(np.array([5, 2]))
    assert torch.equal(some[: begins[1]], rows[starts[5] : starts[6]])
    assert torch.equal(near[begins[1] :], coordinates[starts[2] : starts[3]])
    assert next(p.tolist() for p in data.pieces(most=60)) == [0, 1]
    assert np.concatenate(list(data.pieces(most=1))).tolist() == list(range(8))


def test_drawn_points_are_distinct_and_of_their_cloud():
    starts = np.array([0, 5, 105, 110, 160])
    clouds = np.array([3, 0, 1])
    at, begins = _drawn(starts, clouds, 20, np.random.default_rng(0))
    assert np.diff(begins).tolist() == [20, 5, 20]
    for cloud, piece in zip(clouds, np.split(at, begins[1:-1]), strict=True):
        assert len(set(piece.tolist())) == len(piece)
        assert starts[cloud] <= piece.min() <= piece.max() < starts[cloud + 1]
    whole = _drawn(starts, clouds, 1000, np.random.default_rng(0))
    np.testing.assert_array_equal(whole[0], packed(starts, clouds)[0])


def test_constant_features_are_set_to_zero():
    lattice = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    table = point_table([lattice] * 4, PointSettings(3, n_scales=3))
    assert Scaling.of_whole(table, 1e-9).constant.all()


def test_gap_in_any_row_is_set_to_zero():
    clouds, _ = some_clouds(8)
    table = point_table(clouds, PointSettings(3, n_scales=3))
    points, whole = Scaling.of_points(table, 1e-9), Scaling.of_whole(table, 1e-9)
    for value in (np.nan, np.inf, -np.inf):
        table.rows[table.starts[3] + 2, 1] = value  # not the first row of its cloud
        rows, *_ = Packed(table, points, whole, torch.device("cpu")).batch(np.arange(8))
        assert torch.isfinite(rows).all()
