"""The networks: their size, their invariance, and layers equal to the published ones written down plainly."""

import copy
import itertools
import re

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.clouds import rotation

torch = pytest.importorskip("torch")
from heatfield.nn import HFSDGCNN, HFSFull, dgcnn  # noqa: E402
from heatfield.nn.dgcnn import EdgeConv, nearest  # noqa: E402
from heatfield.nn.full import segment_mean_and_max, segment_softmax  # noqa: E402

STARTS = torch.tensor([0, 30, 31, 45, 70])


def rows(width, seed=0):
    return torch.randn(70, width, generator=torch.Generator().manual_seed(seed))


def size(network):
    return sum(p.numel() for p in network.parameters())


def test_parameters():
    """The paper says about 0.2 M in space with 8 scales; DGCNN's authors 1,809,576 with 40 classes."""
    for classes in (2, 10, 15):
        assert 190_000 <= size(HFSFull(48, 96, classes)) <= 220_000
    assert size(HFSDGCNN(0, 3, 40)) == 1_809_576
    assert size(HFSDGCNN(48, 3, 40)) == 1_809_576 + 2 * 48 * 64


@pytest.mark.parametrize("pooling", [("mean", "max"), ("max",), ("mean", "max", "std", "attention")])
def test_single_precision_equals_double(pooling):
    net = HFSFull(10, 6, 4, widths=(16, 32), head=8, dropout=0.0, pooling=pooling)
    wide = copy.deepcopy(net).double()
    points, whole, target = rows(10), rows(6)[:4], torch.arange(4)
    for network, kind in ((net, torch.float32), (wide, torch.float64)):
        logits = network(points.to(kind), whole.to(kind), STARTS)
        torch.nn.functional.cross_entropy(logits, target).backward()
    for (name, one), other in zip(net.named_parameters(), wide.parameters(), strict=True):
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-3, atol=1e-5, msg=name)
    found, expected = net.eval()(points, whole, STARTS), wide.eval()(points.double(), whole.double(), STARTS)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


def test_segments():
    values = rows(5).requires_grad_()
    mean, most = segment_mean_and_max(values, STARTS)
    pieces = values.tensor_split(STARTS[1:-1].tolist())
    torch.testing.assert_close(mean, torch.stack([p.mean(dim=0) for p in pieces]))
    torch.testing.assert_close(most, torch.stack([p.amax(dim=0) for p in pieces]))
    wide = values.detach().double().requires_grad_()
    plain = segment_mean_and_max(wide, STARTS)
    given = rows(5, seed=1)[:4]
    (one,) = torch.autograd.grad([mean, most], values, [given, 2 * given])
    (other,) = torch.autograd.grad(plain, wide, [given.double(), 2 * given.double()])
    torch.testing.assert_close(one.double(), other, rtol=1e-5, atol=1e-6)
    owner = torch.repeat_interleave(torch.diff(STARTS))
    shares = segment_softmax(100 * rows(2), owner, 4)
    torch.testing.assert_close(torch.zeros(4, 2).index_add(0, owner, shares), torch.ones(4, 2))


@pytest.mark.parametrize("pairs", [1, 200, 450, 2000])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_graph_does_not_depend_on_its_pieces(pairs, exact, kind, monkeypatch):
    """Clouds that do not fit together are worked off one by one, large ones some rows at a time."""
    values, held, distances = rows(3).to(kind), [], dgcnn._distances
    whole = nearest(values, STARTS, 8, exact=exact)

    def watched(*given):
        found = distances(*given)
        held.append(found.numel())
        return found

    monkeypatch.setattr(dgcnn, "_PAIRS", pairs)
    monkeypatch.setattr(dgcnn, "_distances", watched)
    assert torch.equal(nearest(values, STARTS, 8, exact=exact), whole)
    assert max(held) <= max(pairs, 30)  # one row at least


@pytest.mark.parametrize("network", [HFSFull(3, 0, 2), HFSDGCNN(0, 3, 2, k=4)], ids=["full", "dgcnn"])
def test_networks_train_in_mixed_precision(network):
    points = rows(3)
    inputs = (torch.empty(4, 0),) if isinstance(network, HFSFull) else ()
    given = (points, *inputs, STARTS) if inputs else (torch.empty(70, 0), points, STARTS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network(*given)
    logits.float().square().sum().backward()
    assert logits.dtype == torch.bfloat16
    assert all(torch.isfinite(p.grad).all() for p in network.parameters())


@pytest.mark.parametrize("starts", [[0, 30], [0, 90], [5, 70], [0, 40, 30, 70], [0, 70, 70]])
def test_misleading_starts_are_refused(starts):
    net = HFSDGCNN(0, 3, 2, k=4, widths=(8,), embedding=8, head=(8,)).eval()
    with pytest.raises(ValueError, match="starts must rise from 0 to the 70 points, got"):
        net(torch.empty(70, 0), rows(3), torch.tensor(starts))
    with pytest.raises(ValueError, match="starts must rise from 0 to the 70 points, got"):
        HFSFull(4, 0, 2)(torch.zeros(70, 4), torch.empty(len(starts) - 1, 0), torch.tensor(starts))


def test_graph_is_that_of_each_cloud(monkeypatch):
    points = rows(3).double()

    def by_torch(distances, starts, begin, out):
        given = (torch.from_numpy(distances), torch.from_numpy(starts), begin, out.shape[1])
        dgcnn._smallest_by_torch(*given, torch.from_numpy(out))

    for exact, on_device in itertools.product((True, False), repeat=2):
        if on_device:  # what other devices do
            monkeypatch.setattr(dgcnn._core, "smallest", by_torch)
        found = nearest(points.float(), STARTS, 8, exact=exact)
        assert torch.equal(found, nearest(points, STARTS, 8, exact=exact))
        for first, last in itertools.pairwise(STARTS.tolist()):
            mine = points[first:last]
            expected = torch.cdist(mine, mine).argsort(dim=1)[:, :8] + first
            for i, row in enumerate(expected):
                own = found[first + i]
                assert own[: len(row)].tolist() == row.tolist()
                assert (own[len(row) :] == first + i).all()  # fewer than k points: the point itself


def test_equal_distances_keep_the_order_of_the_points():
    """Also where the list of neighbours is longer than a vector, or than the cloud."""
    values = torch.randint(0, 3, (300, 2), generator=torch.Generator().manual_seed(0)).float()
    for k, kind in itertools.product((1, 7, 40, 400), (torch.float32, torch.float64)):
        expected = torch.cdist(values, values).argsort(dim=1, stable=True)[:, :k]
        own = torch.arange(300)[:, None].expand(-1, k)
        expected = torch.cat([expected, own], dim=1)[:, :k]
        assert torch.equal(nearest(values.to(kind), torch.tensor([0, 300]), k, exact=True), expected)


def test_edge_convolution_is_the_published_one():
    """max_j LeakyReLU(BN(W [x_j - x_i, x_i])), with its table of edges, as one would write it down."""
    layer, values = EdgeConv(4, 6), rows(4)
    with torch.no_grad():
        layer.norm.weight.copy_(torch.tensor([1.0, -0.5, 2.0, 0.1, -1.0, 0.7]))  # also turned around
        layer.norm.bias.copy_(torch.randn(6))
    plain, near = copy.deepcopy(layer), nearest(values, STARTS, 5, exact=True)
    one = values.clone().requires_grad_()
    other = values.clone().requires_grad_()
    found = layer(one, near)
    edges = torch.cat([other[near] - other[:, None], other[:, None].expand(-1, 5, -1)], dim=2)
    table = plain.norm((edges @ plain.weight.T).flatten(0, 1)).unflatten(0, (70, 5))
    expected = torch.nn.functional.leaky_relu(table, 0.2).amax(dim=1)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    given = rows(6, seed=2)
    grads = torch.autograd.grad(found, [one, layer.weight, layer.norm.weight, layer.norm.bias], given)
    wanted = torch.autograd.grad(expected, [other, plain.weight, plain.norm.weight, plain.norm.bias], given)
    for a, b in zip(grads, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=2e-4)
    torch.testing.assert_close(layer.norm.running_mean, plain.norm.running_mean)
    torch.testing.assert_close(layer.norm.running_var, plain.norm.running_var)
    torch.testing.assert_close(layer.eval()(values, near), plain.eval()(values, near))


def test_logits_do_not_change_under_rotation():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(40 + i, 3)) * [1, 1, 0.1 + i % 2] for i in range(12)]
    model = hf.HFSNetworkClassifier("full", epochs=3).fit(clouds, np.arange(12) % 2)
    turned = [c @ rotation(3, seed=i).T + 100.0 for i, c in enumerate(clouds)]
    logits, others = (model.learner_.outputs(model.point_table(some)) for some in (clouds, turned))
    assert np.ptp(logits) > 0.1
    np.testing.assert_allclose(others, logits, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pooling": ("median",)},
            "pooling must be some of 'mean', 'max', 'std', 'attention', got ('median',)",
        ),
        ({"widths": ()}, "widths is empty"),
        ({"head": 0}, "head must be an integer of at least 1, got 0"),
    ],
)
def test_wrong_parts(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        HFSFull(48, 96, 3, **options)
