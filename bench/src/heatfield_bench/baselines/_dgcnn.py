"""`DGCNN`: edge convolutions on neighbours in feature space."""

from __future__ import annotations

from heatfield._classifier.documented import documented

from ._network import OPTIONS, NetworkClassifier, example


@documented(options=OPTIONS, example=example("DGCNN", 'rotation="so3", '))
class DGCNN(NetworkClassifier):
    """DGCNN (Wang, Sun, Liu, Sarma, Bronstein and Solomon, TOG 2019), after its authors' PyTorch code.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.DGCNN`: 1,809,576 parameters with 40 classes. With ``rotation="so3"`` it is the
    paper's DGCNN-SO(3). 250 epochs of SGD with momentum 0.9 and weight decay 1e-4 from 0.1 by a cosine down
    to 1e-3; label smoothing 0.2, which the wrong classes share. The augmentation is that of the HFS paper (a
    turn about the z axis, a scale of 0.8 to 1.25, a shift of up to 0.1, jitter of 0.01 clipped at 0.05); the
    authors stretch each axis by 2/3 to 3/2 and shift by up to 0.2, and neither turn nor jitter.

    Needs torch: ``pip install 'heatfield-bench[torch]'``.

    Parameters
    ----------
    {options}

    {example}
    """

    _kind = "dgcnn"
