"""Many networks trained at once are those of scikit-learn, within the noise of a seed."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.models.read_out import AnnealedMLP

torch = pytest.importorskip("torch")

from heatfield_bench._mlps import train_mlps  # noqa: E402


@pytest.fixture(scope="module")
def splits():
    """Standardised features of five splits of a small Orbit5k."""
    clouds, labels = hf.datasets.make_orbit5k(n_per_class=40, n_points=150)
    features = hf.HFSDescriptor("simple", n_scales=4).fit_transform(clouds)
    found = []
    for test in hf.datasets.make_splits(clouds, labels, 5, test_share=0.3):
        mean, std = features[~test].mean(axis=0), features[~test].std(axis=0)
        table = (features - mean) / np.where(std > 1e-9, std, 1.0)
        found.append((table[~test], labels[~test], table[test], labels[test]))
    return found


def test_accuracy_and_loss_agree_with_scikit_learn_as_two_seeds_do(splits):
    def sklearn_runs(start):
        models = [
            AnnealedMLP((128, 64), alpha=1.0, max_iter=3000, random_state=start + k).fit(x, y)
            for k, (x, y, _, _) in enumerate(splits)
        ]
        right = [(m.predict(xt) == yt).mean() for m, (_, _, xt, yt) in zip(models, splits, strict=True)]
        return np.array(right), np.array([m.loss_ for m in models])

    one, loss_one = sklearn_runs(0)
    two, loss_two = sklearn_runs(100)
    networks = train_mlps([s[0] for s in splits], [s[1] for s in splits], 5, range(5))
    ours = np.array(
        [(n.scores(s[2]).argmax(axis=1) == s[3]).mean() for n, s in zip(networks, splits, strict=True)]
    )
    # What two seeds of scikit-learn differ by, as the standard error of a mean over the splits.
    noise = (one - two).std(ddof=1) / np.sqrt(len(splits))
    assert noise > 0
    assert abs((ours - one).mean()) <= 3.0 * noise
    assert abs((ours - two).mean()) <= 3.0 * noise
    spread = np.abs(loss_one - loss_two).mean()
    assert abs(np.mean([n.loss for n in networks]) - loss_one.mean()) <= 3.0 * spread


def test_a_network_is_the_same_alone_and_among_others_of_another_size(splits):
    tables, labels = [s[0] for s in splits[:3]], [s[1] for s in splits[:3]]
    tables[1], labels[1] = tables[1][:-1], labels[1][:-1]  # one row less: trained apart
    together = train_mlps(tables, labels, 5, [3, 4, 5], max_epochs=3)
    for k in range(3):
        (alone,) = train_mlps(tables[k : k + 1], labels[k : k + 1], 5, [3 + k], max_epochs=3)
        assert alone.epochs == together[k].epochs == 6  # two passes
        for (w, b), (v, c) in zip(alone.layers, together[k].layers, strict=True):
            np.testing.assert_allclose(w, v, atol=1e-5)
            np.testing.assert_allclose(b, c, atol=1e-5)


def test_the_first_step_is_that_of_plain_numpy(monkeypatch):
    """One batch, one epoch of each pass: Adam's first step moves a weight by the rate, against its slope."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    monkeypatch.setattr("heatfield_bench._mlps.WIDTHS", ())
    monkeypatch.setattr("heatfield_bench._mlps.ALPHA", 0.0)
    (net,) = train_mlps([x], [y], 2, [0], max_epochs=1)
    draw = torch.Generator().manual_seed(0)
    flat = ((2 * torch.rand(8, generator=draw) - 1) * (6 / 5) ** 0.5).numpy().astype(float)
    w, b = flat[:6].reshape(3, 2), flat[6:]
    for rate in (1e-3, 1e-4):
        scores = x @ w + b
        chance = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        delta = (chance - np.eye(2)[y]) / len(x)
        w = w - rate * np.sign(x.T @ delta)
        b = b - rate * np.sign(delta.sum(axis=0))
    np.testing.assert_allclose(net.layers[0][0], w, atol=1e-6)
    np.testing.assert_allclose(net.layers[0][1], b, atol=1e-6)
