"""`PointNet`: a shared network over single points, with both T-nets."""

from __future__ import annotations

from heatfield._classifier.documented import documented

from ._network import OPTIONS, NetworkClassifier, example


@documented(options=OPTIONS, example=example("PointNet"))
class PointNet(NetworkClassifier):
    """PointNet (Qi, Su, Mo and Guibas, CVPR 2017), after its authors' code.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointNet`: 3,480,049 parameters with 40 classes, 8,576 more than the 3,471,473
    of a widespread reimplementation, which leaves out one layer of 64 before and one behind the second T-net.
    Loss: cross entropy and 0.001 times half the sum over the batch of (A A' - I)**2. 250 epochs of Adam from
    1e-3; every 20 epochs (the authors: every 200,000 clouds, which is as much on their data) the rate falls
    to 0.7 of itself, at least 1e-5, and the momentum of the batch norms halves from 0.5 to at least 0.01. The
    augmentation is that of the HFS paper (a turn about the z axis, a scale of 0.8 to 1.25, a shift of up to
    0.1, jitter of 0.01 clipped at 0.05); the authors turn about the vertical axis and jitter only.

    Needs torch: ``pip install 'heatfield-bench[torch]'``.

    Parameters
    ----------
    {options}

    {example}
    """

    _kind = "pointnet"
