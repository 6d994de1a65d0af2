"""GraphCode: graphs, attention, training that goes on."""

import numpy as np
import pytest

from shared import chance_band, coin_labels
from tests.helpers.estimator_checks import CHECKS, some_clouds

pytest.importorskip("gudhi", reason="needs gudhi: pip install 'heatfield-bench[persistence]'")
torch = pytest.importorskip("torch", reason="needs torch: pip install 'heatfield-bench[torch]'")

from heatfield_bench import baselines  # noqa: E402
from heatfield_bench.baselines.bifiltration import bifiltration  # noqa: E402
from heatfield_bench.baselines.graphcode import graph_of, pack_graphs  # noqa: E402
from heatfield_bench.networks.graphcode import GraphAttention, GraphBatches, GraphCodeNet  # noqa: E402

SMALL = {
    "n_slices": 3, "epochs": 2, "batch_size": 4, "random_state": 0, "progress": False,
    "network": {"widths": (8, 8), "heads": 2, "head": (8,)},
}  # fmt: skip


def small(**options):
    return baselines.GraphCode(**{**SMALL, **options})


def some_graph(m=50, **options):
    cloud = np.random.default_rng(0).random((m, 2))
    complex_ = bifiltration(cloud, 2, bandwidth=0.2, max_radius=1.0)
    thresholds = np.quantile(complex_.codensity[0], [0.3, 0.6, 1.0])
    return graph_of(complex_, (0, 1), thresholds, **{"edges": True, "max_bars": None, **options})


# --- graphs ------------------------------------------------------------------------


def test_nodes_are_the_bars_and_edges_join_slices():
    values, cell, source, target = some_graph()
    assert values.shape[1] == 5
    np.testing.assert_array_equal(values[:, 2], (cell % 3 / 2).astype(np.float32))
    np.testing.assert_array_equal(values[:, 3:].argmax(axis=1), cell // 3)
    assert (values[:, 0] < values[:, 1]).all()
    assert values[:, 1].max() == 1.0  # a component that does not end
    np.testing.assert_array_equal(cell[target], cell[source] + 1)  # of one degree
    for degree in (0, 1):
        assert (cell[source] // 3 == degree).any()


def test_without_edges_the_nodes_are_the_same():
    one, other = some_graph(), some_graph(edges=False)
    np.testing.assert_array_equal(one[0], other[0])
    assert len(other[2]) == 0


def test_longest_bars_are_kept():
    values, cell, _, _ = some_graph()
    short, where, source, target = some_graph(max_bars=4)
    for c in range(6):
        all_, kept = (np.sort(v[w == c, 1] - v[w == c, 0])[::-1] for v, w in ((values, cell), (short, where)))
        np.testing.assert_array_equal(kept, all_[:4])
    assert len(source)
    np.testing.assert_array_equal(where[target], where[source] + 1)


# --- the network -------------------------------------------------------------------


def random_edges(nodes=7, edges=20, seed=1):
    rng = np.random.default_rng(seed)
    target = np.sort(np.concatenate([rng.integers(0, nodes, edges), np.arange(nodes)]))
    source = rng.integers(0, nodes, len(target))
    starts = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=nodes))])
    return source, target, torch.from_numpy(source), torch.from_numpy(starts)


def test_attention_is_its_formula():
    source, target, *edges = random_edges()
    torch.manual_seed(0)
    layer = GraphAttention(5, 6, 2)
    rows = torch.randn(7, 5)
    expected = np.zeros((7, 6))
    values = (rows @ layer.linear.weight.T).detach().numpy().reshape(7, 2, 3)
    a, b = layer.said.detach().numpy(), layer.heard.detach().numpy()
    for i in range(7):
        for h in range(2):
            mine = np.flatnonzero(target == i)
            scores = np.array([a[h] @ values[source[e], h] + b[h] @ values[i, h] for e in mine])
            weights = np.exp(np.where(scores > 0, scores, 0.2 * scores))
            for weight, e in zip(weights / weights.sum(), mine, strict=True):
                expected[i, 3 * h : 3 * h + 3] += weight * values[source[e], h]
    np.testing.assert_allclose(layer(rows, *edges).detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_batches_hold_the_graphs_side_by_side():
    """The logits of a batch are those of each cloud alone, and edges matter."""
    graphs = [some_graph(m) for m in (5, 30, 1)]
    empty = tuple(part[:0] for part in graphs[0])
    table = pack_graphs([*graphs, empty], 6)
    batches = GraphBatches(table, np.zeros(5), np.ones(5), torch.device("cpu"))
    torch.manual_seed(0)
    network = GraphCodeNet(5, 6, 3, widths=(8, 8), heads=2, head=(8,)).eval()
    with torch.no_grad():
        together = network(*batches.batch(np.array([2, 0, 1, 3])))
        alone = torch.cat([network(*batches.batch(np.array([i]))) for i in (2, 0, 1, 3)])
        rows, cell, source, _, clouds = batches.batch(np.array([1]))
        cut = network(rows, cell, torch.arange(len(rows)), torch.arange(len(rows) + 1), clouds)
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)
    assert len(source) > len(rows)
    assert not torch.allclose(cut, together[2:3], atol=1e-4)


def test_order_of_points_does_not_matter():
    clouds, labels = some_clouds()
    model = small().fit(clouds, labels)
    np.testing.assert_array_equal(model.predict_proba([c[::-1] for c in clouds]), model.predict_proba(clouds))


# --- the estimator -----------------------------------------------------------------


@pytest.mark.parametrize("check", [c for c in CHECKS if c.__name__ != "constructor_does_not_validate"])
def test_checks_of_estimators(check):
    check(small())


def rings_and_disks(count, m):
    """In turn, of m to m + 4 points."""
    rng = np.random.default_rng(7)
    clouds, labels = [], []
    for i in range(count):
        angle = rng.uniform(0, 2 * np.pi, m + i % 5)
        radius = np.sqrt(rng.random(len(angle))) if i % 2 else rng.normal(1.0, 0.05, len(angle))
        clouds.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
        labels.append("disk" if i % 2 else "ring")
    return clouds, np.array(labels)


LEARNING = {"epochs": 15, "batch_size": 8, "learning_rate": 5e-3, "network": None}


@pytest.mark.parametrize("edges", [True, False])
def test_it_learns_rings_and_disks(edges):
    clouds, labels = rings_and_disks(48, 40)
    model = small(**LEARNING, edges=edges).fit(clouds[:32], labels[:32])
    assert model.score(clouds[32:], labels[32:]) > 0.9


@pytest.mark.parametrize("edges", [True, False])
def test_labels_by_a_coin_are_not_predicted(edges):
    """Of 50 clouds 14 to 36 are right by chance, in all but one of 1,000 cases."""
    clouds, _ = rings_and_disks(100, 20)
    labels = coin_labels(100, seed=0)
    model = small(**LEARNING, edges=edges).fit(clouds[:50], labels[:50])
    low, high = chance_band(50)
    assert low <= np.sum(model.predict(clouds[50:]) == labels[50:]) <= high


def test_training_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    clouds, labels = some_clouds()
    whole = small(epochs=4).fit(clouds, labels)
    from heatfield.nn import training

    written = training.write_checkpoint

    def stop_after_two(path, *rest):
        written(path, *rest)
        if rest[4]["epoch"] == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "write_checkpoint", stop_after_two)
    again = small(epochs=4, checkpoint=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        again.fit(clouds, labels)
    monkeypatch.setattr(training, "write_checkpoint", written)
    again.fit(clouds, labels)
    assert [entry["loss"] for entry in again.history_] == [entry["loss"] for entry in whole.history_]
    for name, tensor in whole.learner_.tensors().items():
        np.testing.assert_array_equal(again.learner_.tensors()[name], tensor)
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        small(epochs=4, checkpoint=tmp_path / "kept", learning_rate=0.1).fit(clouds, labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": 1}, "edges must be True or False, got 1"),
        ({"n_slices": 0}, "n_slices must be an integer of at least 1, got 0"),
        ({"max_bars": 0}, "max_bars must be an integer of at least 1, got 0"),
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"network": {"widths": (7,), "heads": 2}}, "must be a multiple of heads=2, got 7"),
        ({"network": {"depth": 2}}, "depth"),
        ({"device": "abacus"}, "device='abacus' cannot be used"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(*some_clouds())
