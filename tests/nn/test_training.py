"""Training: it learns, and gives the same bits when it is killed and resumed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heatfield as hf
from heatfield._classifier.learned import plan_learning, point_recipe
from heatfield._classifier.training_options import training
from heatfield._features.point_features import PointSettings
from heatfield._features.point_table import packed, point_table
from tests.helpers.estimator_checks import (
    any_sequence_of_clouds_will_do,
    broken_cloud_is_named,
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
from tests.helpers.terminal import Terminal

torch = pytest.importorskip("torch")
from safetensors import safe_open  # noqa: E402
from safetensors.torch import save  # noqa: E402

from heatfield.nn.learner import RECIPES, Packed, Scaling, _drawn  # noqa: E402
from heatfield.nn.training import Training, _Line, keep_memory  # noqa: E402

SMALL = {
    "full": {"widths": (8, 16), "head": 8},
    "dgcnn": {"k": 4, "widths": (8, 8), "embedding": 16, "head": (8,)},
}


def classifier(variant="full", **options):
    return hf.HFSClassifier(
        variant, **{"n_scales": 3, "random_state": 0, "network": SMALL[variant], "epochs": 3, **options}
    )


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
model = hf.HFSClassifier("full", epochs={epochs}, n_scales=3, random_state=5, train_points=12, validation=0.2,
                         patience=1000, checkpoint={checkpoint!r}, progress=True)
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
    one, two = (hf.HFSClassifier.load(tmp_path / name).learner_.tensors() for name in "ab")
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
    token = progress.trainings_to_come.set(3)
    classifier(epochs=2).fit(clouds, labels)
    progress.trainings_to_come.reset(token)
    assert left[0] > 0
    assert left[1] == 0
    assert left[3] > 0  # six more epochs


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


def test_class_weights_and_smoothing_enter_the_loss():
    device = torch.device("cpu")
    logits = torch.randn(6, 3)
    target = torch.tensor([0, 1, 2, 2, 1, 0])
    shares = torch.full((6, 3), 0.1)
    shares[torch.arange(6), target] = 0.8  # the two wrong classes share 0.2
    expected = -(shares * logits.log_softmax(dim=1)).sum(dim=1).mean()
    torch.testing.assert_close(Training(label_smoothing=0.2).loss(3, device)(logits, target), expected)
    clouds, labels = some_clouds(12)
    shares = []
    for name in ("ring", "ball"):
        model = classifier(class_weight={name: 50.0}, epochs=30, learning_rate=0.01).fit(clouds, labels)
        shares.append(model.predict_proba(clouds)[:, 1].mean())
    assert shares[0] > shares[1] + 0.2
    labels = np.array([0, 0, 0, 1])
    balanced = training(classifier(class_weight="balanced"), labels, np.array(["a", "b"]))
    assert balanced.class_weight == pytest.approx((4 / 6, 2.0))


def test_whole_epochs_come_last():
    options = Training(epochs=5, train_points=7, whole_epochs=2)
    assert [options.points(epoch) for epoch in range(5)] == [7, 7, 7, None, None]
    assert Training(epochs=5, train_points=7).points(4) == 7


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
    recipe = point_recipe(model, 3)
    plan = plan_learning(model, recipe, np.array(["ball", "ring"] * 4))
    assert plan.training.whole_epochs == whole
    assert model.whole_epochs == options.get("whole_epochs")  # the model itself is as the user set it


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_line_of_progress_fits_the_terminal(columns, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    line = _Line(Training(epochs=250))
    entry = {"loss": 0.0123, "accuracy": 1.0, "validation_accuracy": 1.0, "seconds": 12.34}
    line.show(250, entry, 3085.0)
    shown = screen.getvalue().removeprefix("\r").removesuffix("\033[K")
    assert len(shown) < columns
    if columns >= 80:
        assert "validation 100.0 %" in shown
        assert shown.endswith("51:25 left" if columns == 80 else "12.34 s per epoch, 51 min 25 s left")


def test_every_part_of_the_training_can_be_asked_for():
    labels, names = np.array([0, 1]), np.array(["a", "b"])
    asked = {"optimizer": "adam", "learning_rate": 0.5, "final_rate": 0.25, "weight_decay": 0.1}
    asked |= {"label_smoothing": 0.3, "batch_size": 7, "epochs": 9, "augment": False}
    found = training(classifier(variant="dgcnn", **asked), labels, names)
    assert {name: getattr(found, name) for name in asked} == asked
    with pytest.raises(ValueError, match="augment must be True or False, got 1"):
        training(classifier(variant="dgcnn", augment=1), labels, names)


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
    assert (dgcnn.optimizer, dgcnn.learning_rate, dgcnn.weight_decay, dgcnn.label_smoothing) == (
        "sgd",
        0.1,
        1e-4,
        0.2,
    )
    assert PointSettings(3).blocks == (
        "global",
        "hds",
        "density",
        "dimension",
        "transition",
        "spectrum",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": "lda"}, "head='lda' is an option of the closed-form variants, got variant='full'"),
        ({"network": {"depth": 3}}, "network={'depth': 3}: "),
        ({"patience": 3}, "patience=3 needs validation"),
        ({"whole_epochs": 2}, "whole_epochs=2 needs train_points"),
        ({"whole_epochs": -1, "train_points": 5}, "whole_epochs must be an integer of at least 0, got -1"),
        ({"validation": 1.5}, "validation must be a share between 0 and 1, got 1.5"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"final_rate": -0.1}, "final_rate must be a number of at least 0, got -0.1"),
        ({"optimizer": "lbfgs"}, "optimizer must be one of 'adam', 'sgd', got 'lbfgs'"),
        ({"augment": True}, "augment=True is an option of variant='dgcnn'"),
        ({"weight_decay": -1.0}, "weight_decay must be a number of at least 0, got -1.0"),
        ({"label_smoothing": 1.0}, "label_smoothing must be a number of at least 0 and below 1, got 1.0"),
        ({"class_weight": {"ring": 0.0}}, "class_weight must be positive numbers, got 0.0 for 'ring'"),
        ({"class_weight": {"ring": np.nan}}, "class_weight must be positive numbers, got nan for 'ring'"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        (
            {"random_state": np.random.RandomState(0)},
            "random_state must be an integer of at least 0, got Ran",
        ),
        ({"network": 3}, "network must be a dict of parts of the network, got 3"),
        ({"checkpoint": Path(__file__).parent}, "checkpoint must be a file, got the folder"),
        (
            {"learning_rate": 1e30},
            "the training diverged in epoch 2: its loss or weights are no longer finite",
        ),
        (
            {"learning_rate": 1e30, "validation": 0.2, "patience": 2},
            "the training diverged in epoch 1: its loss or weights are no longer finite",
        ),
        ({"batch_size": 1}, "batch_size must be an integer of at least 2, got 1"),
        ({"train_points": 0}, "train_points must be an integer of at least 1, got 0"),
        ({"class_weight": {"cat": 1.0}}, "class_weight names 'cat', but the classes are ['ball', 'ring']"),
        ({"blocks": ("colour",)}, "blocks must be some of 'global', 'log_global', 'hds'"),
        ({"device": "abacus"}, "device='abacus' cannot be used"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        classifier(**options).fit(*some_clouds())


@pytest.mark.parametrize("option", [{"train_points": 5}, {"device": "cpu"}, {"network": {}}])
def test_options_of_learned_variants_are_refused_by_others(option):
    ((name, value),) = option.items()
    with pytest.raises(
        ValueError, match=re.escape(f"{name}={value!r} is an option of variant='full' and 'dgcnn'")
    ):
        hf.HFSClassifier("desc", **option).fit(*some_clouds())


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 1}, {"network": {"depth": 3}}, {"device": "abacus"}, {"validation": 2.0},
        {"head": "lda"}, {"variant": "desc", "head": "tree", "network": None},
    ],
)  # fmt: skip
def test_wrong_options_are_reported_before_the_long_work(options, monkeypatch):
    def never(*_args, **_options):
        raise AssertionError("features were computed first")

    monkeypatch.setattr("heatfield._features.point_table.features_of", never)
    monkeypatch.setattr(hf.HFSDescriptor, "fit_transform", never)
    model = classifier().set_params(**options)
    if model.variant == "desc":
        model.set_params(epochs=None)
    with pytest.raises(ValueError, match=r"must be|cannot be used|is an option|network="):
        model.fit(*some_clouds())
    with pytest.raises(ValueError, match="y must hold at least two classes, got only"):
        hf.HFSClassifier("desc").fit(some_clouds()[0], ["one"] * 12)


def test_validation_names_the_class_with_one_cloud():
    clouds, labels = some_clouds(12)
    labels = np.where(np.arange(12) == 5, "solo", labels)
    with pytest.raises(
        ValueError, match=r"validation=0.2 needs at least 2 clouds per class, class 'solo' has 1"
    ):
        classifier(validation=0.2).fit(clouds, labels)


def test_numpy_numbers_are_numbers(tmp_path):
    clouds, labels = some_clouds(12)
    options = {"random_state": np.int64(0), "epochs": np.int32(2), "network": {"widths": np.array([8, 8])}}
    model = classifier(**options, checkpoint=tmp_path / "c").fit(clouds, labels)
    plain = classifier(epochs=2, network={"widths": (8, 8)}).fit(clouds, labels)
    np.testing.assert_array_equal(model.predict_proba(clouds), plain.predict_proba(clouds))
    model.save(tmp_path / "m")
    again = hf.HFSClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(clouds), plain.predict_proba(clouds))


@pytest.mark.parametrize("variant", ["full", "simple"])
def test_words_in_an_array_of_objects(variant, tmp_path):
    """As pandas gives them. They are saved, and loaded again."""
    clouds, labels = some_clouds(12)
    model = classifier() if variant == "full" else hf.HFSClassifier("simple", head="lda", n_scales=3)
    model.fit(clouds, labels.astype(object))
    assert model.classes_.dtype == labels.dtype
    model.save(tmp_path / "m")
    assert (hf.HFSClassifier.load(tmp_path / "m").predict(clouds) == model.predict(clouds)).all()
    mixed = np.array([None if label == "ring" else "ball" for label in labels], dtype=object)
    for y in (mixed, np.where(mixed == "ball", 1, labels.astype(object))):
        with pytest.raises(ValueError, match=r"y must be all words or all numbers, got "):
            model.fit(clouds, y)


def test_parameters_set_after_fit_wait_for_the_next():
    clouds, labels = some_clouds(12)
    model = classifier().fit(clouds, labels)
    before = model.predict_proba(clouds)
    model.set_params(n_scales=4, blocks=("dimension",))
    np.testing.assert_array_equal(model.predict_proba(clouds), before)
    table = model.point_table(clouds)  # for the next fit
    assert model.fit_features(table, labels, n_dims=3).learner_.recipe.n_scales == 4


def test_generators_of_other_devices_are_left_alone(monkeypatch):
    def touched(*_):
        raise AssertionError("a training on the processor seeds no other device")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", touched)
    monkeypatch.setattr(torch.cuda, "manual_seed", touched)
    for seed in (0, None):
        classifier(random_state=seed, device="cpu").fit(*some_clouds())


# --- tables and batches ------------------------------------------------------------


def test_features_computed_before():
    clouds, labels = some_clouds(20)
    model = classifier()
    table = model.point_table(clouds)
    chosen = np.arange(20) % 3 > 0
    early = classifier().fit_features(table.take(chosen), labels[chosen], n_dims=3)
    direct = classifier().fit([c for c, k in zip(clouds, chosen, strict=True) if k], labels[chosen])
    # The tables are stored in slightly different units.
    np.testing.assert_allclose(early.predict_proba(clouds), direct.predict_proba(clouds), atol=1e-3)
    with pytest.raises(ValueError, match="features must be a table by point_table"):
        classifier(n_scales=4).fit_features(table, labels, n_dims=3)


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


def test_gaps_and_constant_features_are_set_to_zero():
    clouds, labels = some_clouds(20)
    clouds[4] = clouds[4][:1]
    with pytest.warns(
        hf.HeatFieldWarning, match=r"1 of 20 clouds have fewer than two distinct points.*: clouds 4$"
    ):
        model = classifier().fit(clouds, labels)
    with pytest.warns(hf.HeatFieldWarning, match="1 of 1 clouds"):
        assert np.isfinite(model.predict_proba([clouds[4]])).all()
    lattice = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    table = point_table([lattice] * 4, PointSettings(3, n_scales=3))
    assert Scaling.of_whole(table, 1e-9).constant.all()


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


def test_gap_in_any_row_is_set_to_zero():
    clouds, _ = some_clouds(8)
    table = point_table(clouds, PointSettings(3, n_scales=3))
    points, whole = Scaling.of_points(table, 1e-9), Scaling.of_whole(table, 1e-9)
    for value in (np.nan, np.inf, -np.inf):
        table.rows[table.starts[3] + 2, 1] = value  # not the first row of its cloud
        rows, *_ = Packed(table, points, whole, torch.device("cpu")).batch(np.arange(8))
        assert torch.isfinite(rows).all()


def test_unlike_input_is_reported():
    clouds, labels = some_clouds(20)
    for model in (classifier(), hf.HFSClassifier("simple", head="lda")):
        model.fit(clouds, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(clouds)
        with pytest.warns(
            hf.HeatFieldWarning, match=r"1 of 2 clouds are unlike .* clouds\[1\] has a radius of .* unit\?"
        ):
            model.predict([clouds[0], 1000 * clouds[1]])
        with pytest.warns(
            hf.HeatFieldWarning, match=r"clouds\[0\] has a number of points of 400, training had 20 to 38"
        ):
            model.predict([np.concatenate([clouds[0]] * 20)])


def test_settings_of_the_user_are_left_alone(monkeypatch):
    monkeypatch.setenv("MALLOC_TOP_PAD_", "1")
    keep_memory.cache_clear()
    assert keep_memory() is False
    keep_memory.cache_clear()


@pytest.mark.skipif(not hasattr(os, "confstr") or sys.platform != "linux", reason="GNU C library only")
def test_memory_stays_with_the_process():
    """Large blocks that are freed and taken again cause no page faults."""
    if not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"):
        pytest.skip("another C library")
    code = """
import resource
import numpy as np
from heatfield.nn.training import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        np.empty(1 << 26, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

plain, kept = faults(), keep_memory()
faults()
print(kept, plain, faults())
"""
    plain = {k: v for k, v in environment().items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True)
    kept, before, after = done.stdout.split()
    assert kept == "True"
    assert int(after) < 0.3 * int(before)
