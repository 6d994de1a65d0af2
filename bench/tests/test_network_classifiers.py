"""The networks as estimators: manners, sizes, planes, checkpoints, and that they learn."""

import re

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import heatfield as hf
from heatfield_bench import baselines
from tests.helpers.clouds import rotation
from tests.helpers.estimator_checks import (
    any_sequence_of_clouds_will_do,
    broken_cloud_is_named,
    clone_and_params_round_trip,
    constructor_only_stores,
    fit_returns_self_and_keeps_params_and_data,
    fitting_again_forgets,
    float32_and_integer_points_are_taken,
    not_fitted_is_said,
    pickle_keeps_the_output,
    some_clouds,
    wrong_input_is_refused,
)

torch = pytest.importorskip("torch")
from heatfield_bench import networks  # noqa: E402
from heatfield_bench.networks import learner as _learner  # noqa: E402

SMALL = {
    "PointNet": {"before": (8,), "after": (8, 16), "align": (8, 16), "align_head": (8,), "head": (8,)},
    "PointNet2": {"whole": (16, 16), "head": (8,)},
    "DGCNN": {"k": 4, "widths": (8, 8), "embedding": 16, "head": (8,)},
    "PointTransformer": {
        "widths": (8, 16), "strides": (1, 2), "neighbours": (4, 4), "depths": (0, 1), "share": 4, "head": (8,)
    },
    "VNDGCNN": {"k": 4, "widths": (3, 4), "embedding": 6, "head": (8,)},
}  # fmt: skip


def classifier(name, **options):
    given = {"random_state": 0, "network": SMALL[name], "epochs": 1, "device": "cpu", **options}
    return getattr(baselines, name)(**given)


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
        constructor_only_stores, fit_returns_self_and_keeps_params_and_data, fitting_again_forgets,
        float32_and_integer_points_are_taken, not_fitted_is_said, pickle_keeps_the_output,
        wrong_input_is_refused,
    ],
    ids=lambda c: c.__name__,
)  # fmt: skip
@pytest.mark.parametrize("name", SMALL)
def test_estimator_check(name, check):
    check(classifier(name))


# --- what they see -----------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_clouds_of_different_sizes(name):
    """Each cloud's answer is its own: alone, beside others, and in any order."""
    clouds, labels = some_clouds(20)
    model = classifier(name).fit(clouds, labels)
    assert model.n_points_ == int(np.median([len(c) for c in clouds]))
    mixed = [*clouds, clouds[0][:3], np.repeat(clouds[1], 9, axis=0), clouds[2][:1]]
    together = model.predict_proba(mixed)
    assert np.isfinite(together).all()
    alone = np.concatenate([model.predict_proba([cloud]) for cloud in mixed])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(mixed[::-1])[::-1], together, atol=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_unit_and_place_of_a_cloud_mean_nothing(name):
    clouds, labels = some_clouds(16)
    model = classifier(name).fit(clouds, labels)
    moved = [1024.0 * cloud + [5e5, -7e5, 3e3] for cloud in clouds]
    np.testing.assert_allclose(model.predict_proba(moved), model.predict_proba(clouds), atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_plane_clouds(name):
    flat, labels = some_clouds(16, n=2)
    deep = [np.c_[cloud, np.zeros(len(cloud))] for cloud in flat]
    one, other = classifier(name).fit(flat, labels), classifier(name).fit(deep, labels)
    np.testing.assert_array_equal(one.predict_proba(flat), other.predict_proba(deep))
    with pytest.raises(
        ValueError, match=f"has 3 coordinates per point, but {type(one).__name__} was fitted on 2"
    ):
        one.predict(deep)


def test_only_vn_dgcnn_is_invariant():
    clouds, labels = some_clouds(20)
    clouds = [cloud * [1.0, 0.6, 0.3] for cloud in clouds]
    turned = [cloud @ rotation(3, seed=i).T for i, cloud in enumerate(clouds)]
    moved = {}
    for name in SMALL:
        model = classifier(name, epochs=3).fit(clouds, labels)
        moved[name] = np.abs(model.predict_proba(turned) - model.predict_proba(clouds)).max()
    assert moved.pop("VNDGCNN") < 1e-6
    assert min(moved.values()) > 1e-4


def test_number_of_points():
    clouds, labels = some_clouds(12)
    assert classifier("DGCNN", n_points=9).fit(clouds, labels).n_points_ == 9
    large = [np.random.default_rng(i).normal(size=(1500, 3)) for i in range(4)]
    model = classifier("PointNet").fit(large, [0, 1, 0, 1])
    assert model.n_points_ == 1024
    assert np.isfinite(model.predict_proba(clouds)).all()


@pytest.mark.parametrize("turn", ["z", "so3", None])
def test_clouds_are_turned_as_asked(turn, monkeypatch):
    seen, plain = [], _learner.augmented
    monkeypatch.setattr(_learner, "augmented", lambda *given: seen.append(given[3]) or plain(*given))
    clouds, labels = some_clouds(12)
    model = classifier("DGCNN", rotation=turn).fit(clouds, labels)
    assert seen == [turn]
    model.predict(clouds)
    assert seen == [turn]  # prediction turns nothing


@pytest.mark.parametrize(("name", "centred"), [("VNDGCNN", True), ("DGCNN", False)])
def test_clouds_of_vn_dgcnn_are_centred_after_the_augmentation(name, centred, monkeypatch):
    seen, learner = [], getattr(networks, name)
    plain = learner.forward
    monkeypatch.setattr(learner, "forward", lambda self, points: seen.append(points) or plain(self, points))
    classifier(name).fit(*some_clouds(12))
    off = float(seen[0].mean(dim=1).norm(dim=1).max())
    assert off < 1e-6 if centred else off > 0.05


def test_clouds_without_extent_are_named():
    clouds, labels = some_clouds(12)
    clouds[3], clouds[5] = clouds[3][:1], np.repeat(clouds[5][:1], 4, axis=0)
    with pytest.warns(hf.HeatFieldWarning, match=r"2 of 12 clouds have fewer than two .*: clouds 3, 5$"):
        model = classifier("VNDGCNN").fit(clouds, labels)
    assert np.isfinite(model.predict_proba([*clouds, np.empty((0, 3))])).all()
    with pytest.raises(ValueError, match="no training cloud has two distinct points"):
        classifier("DGCNN").fit([cloud[:1] for cloud in clouds], labels)


# --- training ----------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_same_bits(name):
    clouds, labels = some_clouds(12)
    state = torch.get_rng_state()
    one, two, other = (
        classifier(name, epochs=2, random_state=seed).fit(clouds, labels).learner_.tensors()
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), state)  # the caller's random numbers are left alone
    for key in one:
        np.testing.assert_array_equal(one[key], two[key], err_msg=key)
    assert any((one[key] != other[key]).any() for key in one)


@pytest.mark.parametrize("name", SMALL)
def test_stopped_and_resumed_gives_the_same_bits(name, tmp_path, monkeypatch):
    clouds, labels = some_clouds(12)
    options = {"epochs": 6, "batch_size": 4, "n_points": 15}
    whole = classifier(name, **options).fit(clouds, labels)
    place = tmp_path / "run.ckpt"
    done, plain = [], _learner.NetworkLearner._forward

    def stops(self, network, *given):
        if network.training:
            done.append(1)
            if len(done) == 8:  # in the middle of the fourth epoch
                raise KeyboardInterrupt
        return plain(self, network, *given)

    monkeypatch.setattr(_learner.NetworkLearner, "_forward", stops)
    with pytest.raises(KeyboardInterrupt):
        classifier(name, **options, checkpoint=place).fit(clouds, labels)
    assert place.exists()
    resumed = classifier(name, **options, checkpoint=place).fit(clouds, labels)
    assert len(done) == 8 + 12  # it went on behind the second epoch, and did not begin again
    assert [e["loss"] for e in resumed.history_] == [e["loss"] for e in whole.history_]
    one, two = whole.learner_.tensors(), resumed.learner_.tensors()
    for key in one:
        np.testing.assert_array_equal(one[key], two[key], err_msg=key)


def test_checkpoint_of_other_data_or_settings_is_refused(tmp_path):
    clouds, labels = some_clouds(12)
    place = tmp_path / "run.ckpt"
    first = classifier("DGCNN", checkpoint=place).fit(clouds, labels)
    again = classifier("DGCNN", checkpoint=place).fit(clouds, labels)  # finished: nothing is trained
    assert again.history_ == first.history_
    changed = [cloud.copy() for cloud in clouds]
    changed[4][2, 1] += 1e-6
    for options, data in (
        ({"rotation": "so3"}, clouds), ({"n_points": 8}, clouds), ({}, changed), ({}, clouds[::-1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="belongs to other data or settings; delete it to start anew"):
            classifier("DGCNN", checkpoint=place, **options).fit(data, labels)


def test_penalty_keeps_the_second_t_net_orthogonal(monkeypatch):
    clouds, labels = some_clouds(24)
    off = []
    monkeypatch.setattr(baselines.PointNet, "training", baselines.PointNet.training | {"learning_rate": 0.01})
    for penalty in (0.0, 10.0):
        network = {**SMALL["PointNet"], "penalty": penalty}
        model = classifier("PointNet", network=network, epochs=8).fit(clouds, labels)
        fixed = _learner.FixedClouds(clouds, model.n_points_, 0, torch.device("cpu"))
        net, points = model.learner_.network.train(), fixed.points
        with torch.no_grad():
            turn = net.align_features(_values(net, points))
        off.append(float((turn @ turn.transpose(1, 2) - torch.eye(8)).square().mean()))
    assert off[1] < 0.5 * off[0]


def _values(net, points):
    turned = points @ net.align_points(points)
    return net.before(turned.flatten(0, 1)).view(*points.shape[:2], -1)


def test_cross_validation():
    clouds, labels = some_clouds(18)
    scores = cross_val_score(classifier("PointNet", epochs=2), clouds, labels, cv=3)
    assert len(scores) == 3
    assert ((scores >= 0.0) & (scores <= 1.0)).all()


# --- errors ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("DGCNN", {"rotation": "y"}, "rotation must be one of 'z', 'so3', got 'y'"),
        ("DGCNN", {"n_points": 0}, "n_points must be an integer of at least 1, got 0"),
        ("DGCNN", {"network": {"depth": 3}}, "network={'depth': 3}: "),
        ("DGCNN", {"network": 5}, "network must be a dict of parts of the network, got 5"),
        ("DGCNN", {"epochs": 0}, "epochs must be an integer of at least 1, got 0"),
        ("PointNet", {"network": {"before": ()}}, "before is empty: at least one layer is needed"),
        ("PointNet2", {"grouping": "one"}, "grouping must be one of 'ssg', 'msg', got 'one'"),
        ("PointTransformer", {"network": {"depths": (1,)}}, "need an entry a stage, got 5, 5, 5 and 1"),
        ("PointTransformer", {"network": {"share": 7}}, "share must divide the widths, got 7 and 64"),
        ("VNDGCNN", {"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        ("VNDGCNN", {"device": "abacus"}, "device='abacus' cannot be used"),
    ],
)
def test_wrong_options(name, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        classifier(name, **options).fit(*some_clouds())


def test_wrong_data():
    clouds, labels = some_clouds()
    with pytest.raises(ValueError, match="y has 2 labels for 12 clouds"):
        classifier("DGCNN").fit(clouds, labels[:2])
    with pytest.raises(ValueError, match=re.escape("y must hold at least two classes, got only ['a']")):
        classifier("DGCNN").fit(clouds, ["a"] * 12)
    wide, _ = some_clouds(n=4)
    with pytest.raises(
        ValueError, match=re.escape("PointNet takes points of at most 3 coordinates, clouds[0] has 4")
    ):
        classifier("PointNet").fit(wide, labels)


# --- they learn --------------------------------------------------------------------

# Parts of the published networks and a faster optimiser; the whole ones are in benchmarks/baselines_learn.py.
# PointNet2 needs denser clouds: its balls are of fixed radius.
LEARNERS = {
    "PointNet": (
        64, 12, {"before": (32,), "after": (64, 128), "align": (16, 32), "align_head": (16,), "head": (64,)}
    ),
    "PointNet2": (512, 3, {"whole": (64, 128), "head": (64,)}),
    "DGCNN": (64, 8, {"k": 8, "widths": (24, 32), "embedding": 64, "head": (32,)}),
    "PointTransformer": (64, 10, {"widths": (16, 32, 64), "strides": (1, 4, 4), "neighbours": (8, 12, 12),
                                  "depths": (0, 1, 1), "head": (32,)}),
    "VNDGCNN": (64, 12, {"k": 12, "widths": (12, 16), "embedding": 32, "head": (32,)}),
}  # fmt: skip


@pytest.fixture
def trained(monkeypatch):
    def train(name, clouds, labels, **options):
        n_points, epochs, network = LEARNERS[name]
        kind = getattr(baselines, name)
        faster = {"optimizer": "adam", "learning_rate": 1e-2 if name == "VNDGCNN" else 3e-3}
        faster |= {"final_rate": 1e-4, "label_smoothing": 0.0}
        monkeypatch.setattr(kind, "training", kind.training | faster)
        given = {"network": {**network, "dropout": 0.1}, "epochs": epochs, "batch_size": 8}
        return classifier(name, **given | {"n_points": n_points} | options).fit(clouds, labels)

    return train


@pytest.fixture(scope="module")
def shapes():
    train = hf.datasets.make_four_shapes(30, 512, random_state=0)
    test = hf.datasets.make_four_shapes(25, 512, random_state=1)
    return train, test


@pytest.mark.parametrize("name", LEARNERS)
def test_learns_four_shapes(name, shapes, trained):
    (clouds, labels), (others, expected) = shapes
    model = trained(name, clouds, labels)
    assert model.score(others, expected) >= 0.9


@pytest.mark.parametrize("name", LEARNERS)
def test_learns_nothing_from_shuffled_labels(name, shapes, trained):
    """One in four is right by chance.

    A network may still call all clouds of a shape by one label: with a label per shape drawn at random, the
    share that is right has mean 1/4 and a standard deviation of 0.22; the mean over three shuffles one of
    0.125.
    """
    (clouds, labels), (others, expected) = shapes
    rng = np.random.default_rng(0)
    scores = [
        trained(name, clouds, rng.permutation(labels), epochs=2, n_points=32).score(others, expected)
        for _ in range(3)
    ]
    assert np.mean(scores) <= 0.25 + 2.5 * 0.125
