"""`VNDGCNN`: DGCNN of vectors, invariant under rotation."""

from __future__ import annotations

from heatfield._classifier.documented import documented

from ._network import OPTIONS, NetworkClassifier, example


@documented(options=OPTIONS, example=example("VNDGCNN"))
class VNDGCNN(NetworkClassifier):
    """VN-DGCNN (Deng, Litany, Duan, Poulenard, Tagliasacchi and Guibas, ICCV 2021), after its authors' code.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.VNDGCNN`: 2,899,830 parameters with 40 classes, mean pooling over neighbours.
    Its probabilities do not change when a cloud is turned, up to round-off. Trained as DGCNN, as in the
    authors' original repository and the HFS paper: 250 epochs of SGD with momentum 0.9 and weight decay 1e-4
    from 0.1 by a cosine down to 1e-3, label smoothing 0.2. The augmentation is that of the HFS paper (a turn
    about the z axis, a scale of 0.8 to 1.25, a shift of up to 0.1, jitter of 0.01 clipped at 0.05), after
    which clouds are centred again: neither turning nor shifting has an effect. (The network is not invariant
    to shifts; left as they are, it has to learn what clouds at prediction, centred as they are, never show.)

    Needs torch: ``pip install 'heatfield-bench[torch]'``.

    Parameters
    ----------
    {options}

    {example}
    """

    _kind = "vn_dgcnn"
