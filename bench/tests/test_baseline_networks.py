"""The networks of the baselines: sizes, symmetries, and layers beside the textbook."""

import copy

import numpy as np
import pytest

from tests.helpers.clouds import rotation

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from heatfield.nn import HFSDGCNN  # noqa: E402
from heatfield.nn.learner import augmented, random_rotations  # noqa: E402
from heatfield_bench import baselines  # noqa: E402
from heatfield_bench.networks import DGCNN, VNDGCNN, PointNet, PointNet2, PointTransformer  # noqa: E402
from heatfield_bench.networks.dgcnn import VectorEdges, VectorLayer  # noqa: E402
from heatfield_bench.networks.layers import (  # noqa: E402
    farthest_points,
    in_ball,
    nearest_points,
    over_rows,
    taken,
)  # fmt: skip
from heatfield_bench.networks.learner import NetworkTraining  # noqa: E402
from heatfield_bench.networks.point_transformer import _Down, _VectorAttention  # noqa: E402
from heatfield_bench.networks.pointnet import _BallLayers  # noqa: E402

NETWORKS = {
    "PointNet": PointNet,
    "PointNet2": PointNet2,
    "PointNet2 MSG": lambda n: PointNet2(n, grouping="msg"),
    "DGCNN": DGCNN,
    "PointTransformer": PointTransformer,
    "VNDGCNN": VNDGCNN,
}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def size(network):
    return sum(p.numel() for p in network.parameters())


def some(batch=2, m=96, seed=0):
    """Flat, long clouds in the unit ball; of a single point, in its middle."""
    points = torch.randn(batch, m, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    points = points * torch.tensor([1.0, 0.5, 0.2])
    points = points - points.mean(dim=1, keepdim=True)
    return points / points.norm(dim=2).amax(dim=1).clamp(min=1e-9)[:, None, None]


def ready(name, seed=0):
    """A network in double precision whose batch norms have seen some clouds."""
    torch.manual_seed(seed)
    network = NETWORKS[name](5).double()
    with torch.no_grad():
        for module in network.modules():  # also factors below zero, and T-nets that turn
            if isinstance(module, nn.BatchNorm1d):
                module.weight.add_(0.3 * torch.randn_like(module.weight))
            if isinstance(module, nn.Linear) and (module.weight == 0).all():
                module.weight.copy_(0.01 * torch.randn_like(module.weight))
        for step in range(2):
            network.train()(some(4, 64, seed=10 + step))
    return network.eval()


# --- sizes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (lambda: PointNet(40), 3_480_049),
        (lambda: PointNet2(40), 1_475_688),
        (lambda: PointNet2(40, grouping="msg"), 1_747_368),
        (lambda: DGCNN(40), 1_809_576),
        (lambda: PointTransformer(40), 2_153_904),  # published: 2.15 M
        (lambda: VNDGCNN(40), 2_899_830),
    ],
)
def test_parameters(network, expected):
    with torch.device("meta"):
        assert size(network()) == expected


def test_parameters_of_pointnet_layer_by_layer():
    """3,471,473 is the count of a reimplementation without two of the authors' layers of 64."""
    with torch.device("meta"):
        authors, other = PointNet(40), PointNet(40, before=(64,), after=(128, 1024))
    assert size(other) == 3_471_473
    one_layer = 64 * 64 + 64 + 2 * 64  # weights, biases, batch norm
    assert size(authors) - size(other) == 2 * one_layer
    assert size(authors.before) - size(other.before) == one_layer
    assert size(authors.after) - size(other.after) == one_layer
    for part in ("align_points", "align_features", "head"):
        assert size(getattr(authors, part)) == size(getattr(other, part))


# --- symmetries --------------------------------------------------------------------


def change(network, points, turn):
    """How far logits move, beside how large they are, when the clouds are turned."""
    with torch.no_grad():
        before, after = network(points), network(points @ torch.from_numpy(turn).to(points.dtype).T)
    return float((before - after).abs().max() / before.abs().max())


@pytest.mark.parametrize("seed", range(3))
def test_vn_dgcnn_does_not_see_rotations(seed):
    network, turn = ready("VNDGCNN", seed), rotation(3, seed)
    points = some(2, 128, seed)
    assert change(network, points, turn) <= 1e-9
    assert change(network.float(), points.float(), turn) <= 1e-4


@pytest.mark.parametrize("name", ["PointNet", "PointNet2", "DGCNN", "PointTransformer"])
def test_the_others_see_rotations(name):
    network, points = ready(name), some(3, 128)
    assert change(network, points, np.eye(3)) == 0.0
    assert change(network, points, rotation(3)) > 1e-3


@pytest.mark.parametrize("name", NETWORKS)
def test_order_of_points_means_nothing(name):
    network, points = ready(name), some(3, 128)
    order = torch.from_numpy(np.random.default_rng(0).permutation(128))
    with torch.no_grad():
        one, other = network(points), network(points[:, order])
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9 * float(one.abs().max()))
        network, points = network.float(), points.float()
        one, other = network(points), network(points[:, order])
    assert float((one - other).abs().max() / one.abs().max()) <= 1e-4


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("m", [1, 2, 7, 128])
def test_any_number_of_points(name, m):
    """Also fewer than neighbours and centres are asked for; gradients are finite where points coincide."""
    network, points = NETWORKS[name](3), some(4, m).float()
    points[0] = points[0, :1]
    logits = network(points)
    assert logits.shape == (4, 3)
    nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0])).backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())


# --- layers beside the textbook ----------------------------------------------------


def test_dgcnn_is_hfs_dgcnn_without_heat():
    torch.manual_seed(0)
    one, other = DGCNN(5), HFSDGCNN(0, 3, 5)
    other.load_state_dict(one.state_dict())
    points = some(3, 40).float()
    found = other.eval()(torch.empty(120, 0), points.reshape(-1, 3), torch.tensor([0, 40, 80, 120]))
    assert torch.equal(one.eval()(points), found)


@pytest.mark.parametrize("radius", [0.05, 0.3, 2.0])
def test_balls_see_offsets_from_their_centres(radius):
    """The whole table, with the points that stand in it several times, gives the same; also its gradients."""
    torch.manual_seed(0)
    layer, points = _BallLayers((radius, 6, (8, 4)), 2).double(), some(3, 40)
    values = torch.cat([points, torch.randn(3, 40, 2, dtype=torch.float64)], dim=2)
    centres = points[:, ::4]
    plain = copy.deepcopy(layer)
    at, _ = in_ball(centres, points, radius, 6)
    one, other = (values.clone().requires_grad_() for _ in range(2))
    offsets = taken(other[:, :, :3], at) - centres[:, :, None]
    table = torch.cat([offsets, taken(other[:, :, 3:], at)], dim=3)
    found, expected = layer(centres, points, one), over_rows(plain.layers, table).amax(dim=2)
    torch.testing.assert_close(found, expected)
    given = torch.randn_like(found)
    grads = torch.autograd.grad(found, [one, *layer.parameters()], given)
    wanted = torch.autograd.grad(expected, [other, *plain.parameters()], given)
    for a, b in zip(grads, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)
    for a, b in zip(layer.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(
        layer.eval()(centres, points, values), over_rows(plain.eval().layers, table).amax(dim=2)
    )


def test_fewer_points_by_the_textbook():
    torch.manual_seed(0)
    down, points = _Down(4, 6, 4, 5).double(), some(2, 32)
    values, plain = torch.randn(2, 32, 4, dtype=torch.float64), copy.deepcopy(down)
    centres, found = down(points, values)
    assert centres.shape == (2, 8, 3)
    near = taken(nearest_points(points, 5), farthest_points(points, 8))
    table = torch.cat([taken(points, near) - centres[:, :, None], taken(values, near)], dim=3)
    torch.testing.assert_close(found, over_rows(plain.norm, table @ plain.linear.weight.T).amax(dim=2))


def test_attention_by_the_textbook():
    """Point by point, as the paper writes it; each weight serves channels i, i + few, i + 2 few..."""
    torch.manual_seed(0)
    layer, points = _VectorAttention(8, 4).double().eval(), some(1, 12)
    values, near = torch.randn(1, 12, 8, dtype=torch.float64), nearest_points(points, 5)
    found = layer(points, values, near)[0]
    q, k, v = (part(values[0]) for part in (layer.query, layer.key, layer.value))
    for i in range(12):
        js = near[0, i]
        delta = layer.position(points[0, js] - points[0, i])
        weights = torch.softmax(layer.weight(k[js] - q[i] + delta), dim=0)
        expected = sum(weights[n].repeat(4) * (v[j] + delta[n]) for n, j in enumerate(js))
        torch.testing.assert_close(found[i], expected)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_vector_edges_are_a_vector_layer_on_edges(kind):
    """Compiled in single precision, plain torch in double: values, gradients and norms of the table."""
    torch.manual_seed(0)
    plain = VectorLayer(6, 5).double()
    with torch.no_grad():
        plain.norm.lengths.weight.copy_(torch.tensor([1.0, -0.5, 2.0, 0.1, 0.7]))
        plain.norm.lengths.bias.copy_(torch.randn(5))
    layer = VectorEdges(3, 5)
    with torch.no_grad():
        layer.feature.copy_(plain.feature.weight)
        layer.direction.copy_(plain.direction.weight)
    layer.norm.load_state_dict(plain.norm.state_dict())
    layer = layer.to(kind)
    vectors, near = torch.randn(20, 3, 3, dtype=torch.float64), torch.randint(20, (20, 4))
    vectors[3] = 0.0  # an edge from it to itself has no length
    near[3, 0] = 3
    one, other = vectors.to(kind).requires_grad_(), vectors.clone().requires_grad_()
    found = layer(one, near)

    def textbook(values):
        own = values[:, None].expand(-1, 4, -1, -1)
        table = torch.cat([values[near] - own, own], dim=3)
        return plain(table.flatten(0, 1)).view(20, 4, 3, 5).mean(dim=1)

    expected = textbook(other)
    close = {"rtol": 1e-3, "atol": 2e-5} if kind == torch.float32 else {"rtol": 1e-9, "atol": 1e-12}
    torch.testing.assert_close(found.double(), expected, **close)
    given = torch.randn_like(expected)
    parts = [[net.norm.lengths.weight, net.norm.lengths.bias] for net in (layer, plain)]
    grads = torch.autograd.grad(found, [one, layer.feature, layer.direction, *parts[0]], given.to(kind))
    wanted = torch.autograd.grad(
        expected, [other, plain.feature.weight, plain.direction.weight, *parts[1]], given
    )
    for a, b in zip(grads, wanted, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=close["rtol"], atol=10 * close["atol"])
    for a, b in zip(layer.norm.lengths.buffers(), plain.norm.lengths.buffers(), strict=True):
        torch.testing.assert_close(a.double(), b.double(), **close)
    layer.eval(), plain.eval()
    torch.testing.assert_close(layer(vectors.to(kind), near).double(), textbook(vectors), **close)


def test_the_cut_of_vector_neurons():
    """v' = v where v.d >= 0; otherwise v minus 0.8 of its part along d."""
    torch.manual_seed(0)
    layer = VectorLayer(2, 3).double().eval()
    vectors = torch.randn(6, 3, 2, dtype=torch.float64)
    found = layer(vectors)
    feature, direction = layer.norm(layer.feature(vectors)), layer.direction(vectors)
    kept = cut = 0
    for p in range(6):
        for c in range(3):
            v, d = feature[p, :, c], direction[p, :, c]
            if v @ d >= 0:
                kept, expected = kept + 1, v
            else:
                cut, expected = cut + 1, v - 0.8 * (v @ d) / (d @ d + 1e-6) * d
            torch.testing.assert_close(found[p, :, c], expected)
    assert kept
    assert cut


def test_penalty_of_pointnet():
    network, points = ready("PointNet"), some(3, 40)
    seen = []
    network.align_features.register_forward_hook(lambda *given: seen.append(given[2]))
    with torch.no_grad():
        logits, penalty = network.with_penalty(points)
    expected = sum(0.001 * ((a @ a.T - torch.eye(64)) ** 2).sum() / 2 for a in seen[0])
    torch.testing.assert_close(penalty, expected)
    assert float(penalty) > 0.0
    torch.testing.assert_close(network(points), logits)
    fresh = PointNet(5).eval()  # at first both T-nets are the identity
    assert float(fresh.with_penalty(points.float())[1].detach()) == 0.0


# --- training ----------------------------------------------------------------------


def test_random_rotations_are_even():
    turns = random_rotations(20_000, 3, np.random.default_rng(0))
    np.testing.assert_allclose(
        turns @ turns.transpose(0, 2, 1), np.tile(np.eye(3), (20_000, 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)
    np.testing.assert_allclose(turns.mean(axis=0), 0.0, atol=0.02)
    # Haar: the trace 1 + 2 cos(angle) has mean 0 and mean square 1.
    trace = np.trace(turns, axis1=1, axis2=2)
    assert trace.mean() == pytest.approx(0.0, abs=0.03)
    assert (trace**2).mean() == pytest.approx(1.0, abs=0.03)


def test_augmentation_turns_as_asked():
    torch.manual_seed(0)
    points, starts = torch.randn(60, 3), torch.tensor([0, 20, 60])
    rng = np.random.default_rng
    kept, about_z, free = (augmented(points, starts, rng(0), turn) for turn in (None, "z", "so3"))
    for found in (kept, about_z, free):
        for mine in (slice(0, 20), slice(20, 60)):  # up to jitter a similarity by 0.8 to 1.25 for each cloud
            ratio = torch.pdist(found[mine]) / torch.pdist(points[mine])
            assert 0.75 < float(ratio.median()) < 1.3
    for mine in (slice(0, 20), slice(20, 60)):
        z = np.corrcoef(points[mine, 2], about_z[mine, 2])[0, 1]
        assert z > 0.99
        assert abs(np.corrcoef(points[mine, 0], about_z[mine, 0])[0, 1]) < 0.99
        assert np.corrcoef(points[mine, 0], kept[mine, 0])[0, 1] > 0.99
        assert abs(np.corrcoef(points[mine, 2], free[mine, 2])[0, 1]) < 0.99


def test_schedules():
    kinds = (baselines.PointNet, baselines.PointTransformer, baselines.DGCNN)
    qi, zhao, wang = (NetworkTraining(**kind.training) for kind in kinds)
    assert [qi.rate(e) for e in (0, 19, 20, 40)] == pytest.approx([1e-3, 1e-3, 7e-4, 4.9e-4])
    assert qi.rate(249) == pytest.approx(1e-3 * 0.7**12)
    assert [zhao.rate(e) for e in (0, 119, 120, 159, 160, 199)] == pytest.approx(
        [0.05, 0.05, 0.005, 0.005, 5e-4, 5e-4]
    )
    assert (wang.rate(0), wang.rate(125), wang.rate(250)) == pytest.approx((0.1, 0.0505, 1e-3))
    short = NetworkTraining(epochs=10, learning_rate=1.0, drops=(0.6, 0.8), drop=0.1, final_rate=0.05)
    assert [short.rate(e) for e in (5, 6, 7, 8)] == pytest.approx([1.0, 0.1, 0.1, 0.05])
    network = PointNet2(3)
    optimizer = qi.make_optimizer(network)
    for epoch, expected in ((0, 0.5), (20, 0.25), (100, 0.5**6), (249, 0.01)):
        qi.before_epoch(network, optimizer, epoch)
        found = {m.momentum for m in network.modules() if isinstance(m, nn.BatchNorm1d)}
        assert found == {expected}
        assert optimizer.param_groups[0]["lr"] == qi.rate(epoch)


def test_the_published_recipes_are_the_defaults():
    names = ("optimizer", "epochs", "learning_rate", "final_rate", "weight_decay", "label_smoothing")
    expected = {
        "PointNet": ("adam", 250, 1e-3, 1e-5, 0.0, 0.0),
        "PointNet2": ("adam", 250, 1e-3, 1e-5, 0.0, 0.0),
        "DGCNN": ("sgd", 250, 0.1, 1e-3, 1e-4, 0.2),
        "PointTransformer": ("sgd", 200, 0.05, 0.0, 1e-4, 0.0),
        "VNDGCNN": ("sgd", 250, 0.1, 1e-3, 1e-4, 0.2),
    }
    for kind, values in expected.items():
        recipe = NetworkTraining(**getattr(baselines, kind).training)
        assert tuple(getattr(recipe, name) for name in names) == values
        assert (recipe.batch_size, recipe.augment, recipe.rotation) == (32, True, "z")
