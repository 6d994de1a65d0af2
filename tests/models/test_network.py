"""HFSNetworkClassifier: it learns, and gives the same bits when it is killed and resumed."""

import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield.models.network import held_out, training_recipe
from tests.helpers.estimator_checks import (
    any_sequence_of_clouds_will_do,
    broken_cloud_is_named,
    classifier,
    clone_and_params_round_trip,
    constructor_does_not_validate,
    constructor_only_stores,
    fit_returns_self_and_keeps_params_and_data,
    fitting_again_forgets,
    not_fitted_is_said,
    pickle_keeps_the_output,
    some_clouds,
    threads_change_no_bit,
    wrong_input_is_refused,
)
from tests.helpers.process import environment

torch = pytest.importorskip("torch")
from safetensors import safe_open  # noqa: E402
from safetensors.torch import save  # noqa: E402

from heatfield.nn.learner import RECIPES  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "check",
    [
        any_sequence_of_clouds_will_do, broken_cloud_is_named, clone_and_params_round_trip,
        constructor_does_not_validate, constructor_only_stores, fit_returns_self_and_keeps_params_and_data,
        fitting_again_forgets, not_fitted_is_said, pickle_keeps_the_output, threads_change_no_bit,
        wrong_input_is_refused,
    ],
    ids=lambda c: c.__name__,
)  # fmt: skip
def test_estimator_check(check):
    check(classifier(epochs=1))


@pytest.mark.parametrize(("variant", "epochs"), [("full", 40), ("dgcnn", 40)])
def test_learns(variant, epochs):
    clouds, labels = some_clouds(48)
    model = classifier(variant, epochs=epochs, batch_size=8, n_scales=4).fit(clouds[:36], labels[:36])
    assert model.score(clouds[36:], labels[36:]) >= 0.9
    assert model.classes_.tolist() == ["ball", "ring"]
    proba = model.predict_proba(clouds[36:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(clouds[36:])).all()
    assert len(model.history_) == epochs
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]


@pytest.mark.parametrize("variant", ["full", "dgcnn"])
def test_same_seed_same_bits(variant):
    clouds, labels = some_clouds(20)
    state = torch.get_rng_state()
    models = [classifier(variant, train_points=15).fit(clouds, labels) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)  # the caller's random numbers are left alone
    one, two = (model.learner_.tensors() for model in models)
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)
    other = classifier(variant, train_points=15, random_state=1).fit(clouds, labels).learner_.tensors()
    assert any((one[name] != other[name]).any() for name in one)


def test_clouds_hardly_influence_each_other():
    """In single precision a matrix product may depend on its size in the last digits, and on nothing else."""
    clouds, labels = some_clouds(20)
    model = classifier().fit(clouds, labels)
    alone = np.concatenate([model.predict_proba([cloud]) for cloud in clouds])
    np.testing.assert_allclose(alone, model.predict_proba(clouds), atol=1e-5)


# --- stopped and resumed -----------------------------------------------------------

CODE = """
import sys, numpy as np, torch, heatfield as hf
from tests.helpers.estimator_checks import some_clouds
torch.set_num_threads(1)
clouds, labels = some_clouds(40)
model = hf.HFSNetworkClassifier("full", epochs={epochs}, n_scales=3, random_state=5, train_points=12,
                                validation=0.2, patience=1000, checkpoint={checkpoint!r}, progress=True)
model.fit(clouds, labels)
model.save({out!r})
"""


def run(**parts):
    """The training in a process of its own; it writes a line per epoch."""
    code = CODE.format(**{k: v if isinstance(v, int) else str(v) for k, v in parts.items()})
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment(OMP_NUM_THREADS="1"), stderr=subprocess.PIPE, text=True
    )


def test_killed_and_resumed_gives_the_same_weights(tmp_path):
    epochs = 30
    whole = run(epochs=epochs, checkpoint=tmp_path / "a.ckpt", out=tmp_path / "a")
    lines = whole.communicate()[1].splitlines()
    assert whole.returncode == 0, lines
    assert re.match(
        r"epoch 30/30  loss \d\.\d{4}  accuracy [\d.]+ %  validation [\d.]+ %  .* 0 min 00 s left", lines[-1]
    )

    stop = int(np.random.default_rng(time.time_ns()).integers(3, epochs - 3))
    victim = run(epochs=epochs, checkpoint=tmp_path / "b.ckpt", out=tmp_path / "b")
    for line in victim.stderr:
        if line.startswith(f"epoch {stop}/"):
            victim.send_signal(signal.SIGKILL)
            break
    victim.wait()
    victim.stderr.close()
    assert victim.returncode == -signal.SIGKILL
    assert not (tmp_path / "b").exists()

    rest = run(epochs=epochs, checkpoint=tmp_path / "b.ckpt", out=tmp_path / "b")
    resumed = rest.communicate()[1].splitlines()
    assert rest.returncode == 0, resumed
    assert stop <= epochs - len(resumed) < epochs  # it went on, and did not begin again
    one, two = (hf.HFSNetworkClassifier.load(tmp_path / name).learner_.tensors() for name in "ab")
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], err_msg=f"{name}, killed in epoch {stop}")


def test_checkpoint_of_other_data_or_settings_is_refused(tmp_path):
    clouds, labels = some_clouds(12)
    place = tmp_path / "deep" / "run.ckpt"
    first = classifier(checkpoint=place).fit(clouds, labels)
    again = classifier(checkpoint=place).fit(clouds, labels)  # finished: nothing is trained
    np.testing.assert_array_equal(first.predict_proba(clouds), again.predict_proba(clouds))
    assert again.history_ == first.history_
    for model, data in (
        (classifier(checkpoint=place, epochs=4), clouds),
        (classifier(checkpoint=place), clouds[::-1]),
    ):
        with pytest.raises(ValueError, match="belongs to other data or settings; delete it to start anew"):
            model.fit(data, labels)
    with safe_open(place, framework="pt") as file:
        parts, facts = {k: file.get_tensor(k) for k in file.keys()}, file.metadata()  # noqa: SIM118
    for name in ("network.points.0.weight", "random.cpu"):
        broken = tmp_path / "broken.ckpt"
        broken.write_bytes(save({k: v for k, v in parts.items() if k != name}, facts))
        with pytest.raises(ValueError, match=rf"cannot be read .*{name[8:]}.* delete it to start anew"):
            classifier(checkpoint=broken).fit(clouds, labels)
    foreign = tmp_path / "foreign.ckpt"
    foreign.write_bytes(save({"a": torch.zeros(1)}, {"format": "heatfield-checkpoint-1", "facts": "[]"}))
    with pytest.raises(ValueError, match=r"cannot be read .* delete it to start anew, or give another path"):
        classifier(checkpoint=foreign).fit(clouds, labels)
    place.write_bytes(place.read_bytes()[:-10])
    with pytest.raises(ValueError, match=r"cannot be read .* delete it to start anew"):
        classifier(checkpoint=place).fit(clouds, labels)


def test_checkpoint_knows_every_point(tmp_path):
    """Also one that changes no feature of the whole, and a mirror image, of which only coordinates tell."""
    clouds, labels = some_clouds(80)  # more than set the unit of the table
    options = {"blocks": ("dimension",), "epochs": 1, "batch_size": 40}
    table = classifier(**options).point_table(clouds)
    other = replace(table, rows=table.rows.copy())
    other.rows[1, 0] += 1.0
    mirror = replace(table, coordinates=-table.coordinates)
    for variant, changed in (("full", other), ("dgcnn", other), ("dgcnn", mirror)):
        place = tmp_path / f"{variant}.ckpt"
        model = classifier(variant, **options, checkpoint=place)
        model.fit_features(table, labels, n_dims=3)
        model.fit_features(table, labels, n_dims=3)
        with pytest.raises(ValueError, match="belongs to other data or settings"):
            model.fit_features(changed, labels, n_dims=3)


def test_training_without_seed_continues_with_the_same_split(tmp_path):
    clouds, labels = some_clouds(20)
    options = {"random_state": None, "validation": 0.3, "checkpoint": tmp_path / "run.ckpt"}
    first = classifier(**options).fit(clouds, labels)
    again = classifier(**options).fit(clouds, labels)  # finished: nothing is trained
    np.testing.assert_array_equal(first.predict_proba(clouds), again.predict_proba(clouds))


# --- options -----------------------------------------------------------------------


def test_early_stopping_keeps_the_best_weights():
    clouds, labels = some_clouds(40)
    rng = np.random.default_rng(0)
    noise = rng.permutation(labels)  # nothing to learn: the validation loss soon rises
    model = classifier(epochs=200, validation=0.25, patience=3, learning_rate=0.01).fit(clouds, noise)
    losses = [entry["validation_loss"] for entry in model.history_]
    assert len(losses) < 200
    assert int(np.argmin(losses)) == len(losses) - 4
    longer = classifier(epochs=200, validation=0.25, learning_rate=0.01)
    longer.set_params(epochs=len(losses))  # another schedule, so only the number of epochs can be compared
    assert len(longer.fit(clouds, noise).history_) == len(losses)


def test_class_weights_enter_the_loss():
    clouds, labels = some_clouds(12)
    shares = []
    for name in ("ring", "ball"):
        model = classifier(class_weight={name: 50.0}, epochs=30, learning_rate=0.01).fit(clouds, labels)
        shares.append(model.predict_proba(clouds)[:, 1].mean())
    assert shares[0] > shares[1] + 0.2
    model, names = classifier(class_weight="balanced"), np.array(["a", "b"])
    recipe = training_recipe(model, np.array([0, 0, 0, 1]), names, RECIPES["full"])
    assert recipe.class_weight == pytest.approx((4 / 6, 2.0))


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        ({"train_points": 7}, 6),  # by default 15 of 100
        ({"train_points": 7, "whole_epochs": 0}, 0),
        ({"train_points": 7, "whole_epochs": 2}, 2),
        ({"train_points": 7, "epochs": 1}, 0),
        ({}, 0),
    ],
)
def test_the_last_epochs_are_whole_by_default_where_points_are_drawn(options, whole):
    model = classifier(**{"epochs": 40} | options)
    plan = model._plan(model._recipe(3), np.array(["ball", "ring"] * 4), None)
    assert plan.training.whole_epochs == whole
    assert model.whole_epochs == options.get("whole_epochs")  # the model itself is as the user set it


def test_every_part_of_the_training_can_be_asked_for():
    labels, names = np.array([0, 1]), np.array(["a", "b"])
    asked = {"optimizer": "adam", "learning_rate": 0.5, "final_rate": 0.25, "weight_decay": 0.1}
    asked |= {"label_smoothing": 0.3, "batch_size": 7, "epochs": 9, "augment": False}
    found = training_recipe(classifier("dgcnn", **asked), labels, names, RECIPES["dgcnn"])
    assert {name: getattr(found, name) for name in asked} == asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": {"depth": 3}}, "network={'depth': 3}: "),
        ({"network": 3}, "network must be a dict of parts of the network, got 3"),
        ({"patience": 3}, "patience=3 needs validation"),
        ({"whole_epochs": 2}, "whole_epochs=2 needs train_points"),
        ({"validation": 1.5}, "validation must be a number above 0 and below 1, got 1.5"),
        ({"batch_size": 1}, "batch_size must be an integer of at least 2, got 1"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of 'adam', 'sgd', got 'lbfgs'"),
        ({"augment": True}, "augment=True is an option of variant='dgcnn'"),
        ({"class_weight": {"ring": 0.0}}, "class_weight must be positive numbers, got 0.0 for 'ring'"),
        ({"class_weight": {"ring": np.nan}}, "class_weight must be positive numbers, got nan for 'ring'"),
        ({"class_weight": {"cat": 1.0}}, "class_weight names 'cat', but the classes are ['ball', 'ring']"),
        ({"random_state": np.random.RandomState(0)}, "random_state must be an integer of at least 0"),
        ({"checkpoint": Path(__file__).parent}, "checkpoint must be a file, got the folder"),
        ({"blocks": ("colour",)}, "blocks must be some of 'global', 'log_global', 'hds'"),
        ({"device": "abacus"}, "device='abacus' cannot be used"),
    ],
)
def test_wrong_options_are_said_before_the_work(options, message, monkeypatch):
    monkeypatch.setattr(
        "heatfield.features.points.features_of", lambda *_a, **_k: pytest.fail("it described first")
    )
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        classifier(**options).fit(*some_clouds())
    with pytest.raises(ValueError, match="y must hold at least two classes, got only"):
        classifier().fit(some_clouds()[0], ["one"] * 12)


@pytest.mark.parametrize(("options", "epoch"), [({}, 2), ({"validation": 0.2, "patience": 2}, 1)])
def test_a_training_that_diverges_is_stopped(options, epoch):
    with pytest.raises(ValueError, match=f"^the training diverged in epoch {epoch}: its loss or weights"):
        classifier(learning_rate=1e30, **options).fit(*some_clouds())


def test_validation_names_the_class_with_one_cloud():
    clouds, labels = some_clouds(12)
    labels = np.where(np.arange(12) == 5, "solo", labels)
    with pytest.raises(
        ValueError, match=r"validation=0.2 needs at least 2 clouds per class, class 'solo' has 1"
    ):
        classifier(validation=0.2).fit(clouds, labels)


@pytest.mark.parametrize("seed", range(6))
def test_validation_holds_out_whole_groups(seed):
    rng, classes = np.random.default_rng(seed), np.array(["a", "b", "c"])
    labels = np.concatenate([rng.integers(3, size=60), np.repeat(np.arange(3), 2)])
    groups = np.concatenate([rng.integers(9, size=60), [0, 1, 2, 3, 4, 5]])
    for share in (0.1, 0.3):
        out = held_out(share, labels, classes, seed, groups)
        assert not {*groups[out]} & {*groups[~out]}
        assert {*labels[~out]} == {*labels}
        assert share * len(labels) <= out.sum() < (share + 0.35) * len(labels)
    labels = np.where(groups == 0, 0, 1)
    with pytest.raises(ValueError, match="class 'a' lies in one group"):
        held_out(0.1, labels, classes, seed, groups)
    assert held_out(None, labels, classes, seed, groups) is None


def test_numpy_numbers_are_numbers(tmp_path):
    clouds, labels = some_clouds(12)
    options = {"random_state": np.int64(0), "epochs": np.int32(2), "network": {"widths": np.array([8, 8])}}
    model = classifier(**options, checkpoint=tmp_path / "c").fit(clouds, labels)
    plain = classifier(epochs=2, network={"widths": (8, 8)}).fit(clouds, labels)
    np.testing.assert_array_equal(model.predict_proba(clouds), plain.predict_proba(clouds))
    model.save(tmp_path / "m")
    again = hf.HFSNetworkClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(clouds), plain.predict_proba(clouds))


def test_parameters_set_after_fit_wait_for_the_next():
    clouds, labels = some_clouds(12)
    model = classifier().fit(clouds, labels)
    before = model.predict_proba(clouds)
    model.set_params(n_scales=4, blocks=("dimension",))
    np.testing.assert_array_equal(model.predict_proba(clouds), before)
    table = model.point_table(clouds)  # for the next fit
    assert model.fit_features(table, labels, n_dims=3).learner_.recipe.n_scales == 4


def test_features_computed_before():
    clouds, labels = some_clouds(20)
    table = classifier().point_table(clouds)
    chosen = np.arange(20) % 3 > 0
    early = classifier().fit_features(table.take(chosen), labels[chosen], n_dims=3)
    direct = classifier().fit([c for c, k in zip(clouds, chosen, strict=True) if k], labels[chosen])
    # The tables are stored in slightly different units.
    np.testing.assert_allclose(early.predict_proba(clouds), direct.predict_proba(clouds), atol=1e-3)
    with pytest.raises(ValueError, match="features must be a table by point_table"):
        classifier(n_scales=4).fit_features(table, labels, n_dims=3)
    model, labels = direct, labels[:10]
    table, clouds = direct.point_table(clouds[:10]), clouds[:10]
    np.testing.assert_array_equal(model.predict_proba_features(table), model.predict_proba(clouds))
    np.testing.assert_array_equal(model.predict_features(table), model.predict(clouds))
    assert (model.n_dims_, model.n_clouds_) == (3, chosen.sum())
    other = classifier(n_scales=4).point_table(clouds)
    with pytest.raises(ValueError, match="table by point_table with the settings of the fit"):
        model.predict_features(other)
    with pytest.raises(ValueError, match="y has 2 labels for 10 clouds"):
        classifier().fit_features(table, labels[:2], n_dims=3)
    with pytest.raises(ValueError, match="not fitted"):
        classifier().predict_features(table)


def test_gaps_and_constant_features_are_set_to_zero():
    clouds, labels = some_clouds(20)
    clouds[4] = clouds[4][:1]
    with pytest.warns(
        hf.HeatFieldWarning, match=r"1 of 20 clouds have fewer than two distinct points.*: clouds 4$"
    ):
        model = classifier().fit(clouds, labels)
    with pytest.warns(hf.HeatFieldWarning, match="1 of 1 clouds"):
        assert np.isfinite(model.predict_proba([clouds[4]])).all()


@pytest.mark.parametrize("variant", ["full", "dgcnn"])
def test_clouds_in_a_far_unit_have_probabilities(variant):
    """Roughness goes with the fifth power of the unit: nanometres for metres are beyond single precision."""
    clouds, labels = some_clouds(20)
    model = classifier(variant).fit(clouds, labels)
    alone = model.predict_proba(clouds[1:2])
    for unit in (1e-55, 1e-15, 1e-9, 1e9, 1e55):
        with pytest.warns(hf.HeatFieldWarning, match="unit"):
            proba = model.predict_proba([unit * clouds[0], clouds[1]])
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_allclose(proba[1:], alone, atol=1e-5)
