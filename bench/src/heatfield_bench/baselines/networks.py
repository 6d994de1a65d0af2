"""The networks that the paper compares with, as classifiers over lists of clouds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heatfield._base.check import Array, check_count
from heatfield.features.describe import warn_of_empty
from heatfield.models.network import training_recipe
from heatfield.options import Seed, Watched, count, option, options

from .._tools import need
from .registry import BaselineClassifier, baseline

# Points of a cloud that the networks see at most if not told otherwise: what they were published with.
PUBLISHED_POINTS = 1024
# How each is trained, where it differs from batches of 32 and the augmentation of the HFS paper. `drops` are
# shares of the training after which the rate falls by `drop`: PointNet's every 200,000 clouds are every 20 of
# 250 epochs of ModelNet40. The epochs count here, so that a smaller set has the same schedule.
_POINTNET = {
    "epochs": 250, "learning_rate": 1e-3, "final_rate": 1e-5, "first_momentum": 0.5,
    "drops": tuple(round(0.08 * step, 2) for step in range(1, 13)), "drop": 0.7,
}  # fmt: skip
_DGCNN = {
    "epochs": 250, "optimizer": "sgd", "learning_rate": 0.1, "final_rate": 1e-3, "weight_decay": 1e-4,
    "label_smoothing": 0.2,
}  # fmt: skip
_POINT_TRANSFORMER = {
    "epochs": 200, "optimizer": "sgd", "learning_rate": 0.05, "weight_decay": 1e-4, "drops": (0.6, 0.8),
    "drop": 0.1,
}  # fmt: skip


@options
class NetworkClassifier(Seed, Watched, BaselineClassifier):
    """Base class of the networks: a scikit-learn classifier over lists of clouds.

    Each cloud is brought to ``n_points`` points, centred, and scaled to the unit ball; clouds in the plane
    get z = 0.
    """

    family = "network"
    smoke: ClassVar = {"epochs": 1, "n_points": 64}
    reduced: ClassVar = {"steps": 2000, "n_points": 256}
    training: ClassVar[Mapping[str, Any]]  # as published
    centred = False  # again after the augmentation: a shift means what clouds at prediction never show

    n_points: int | None = option(
        "Points that the network sees of every cloud; by default the median number of points of the"
        " training clouds, at most 1,024. Of a larger cloud so many are drawn without replacement; of a"
        " smaller one all points are repeated equally often, up to one. The draw depends on random_state and"
        " on the size of the cloud alone, and is the same in training and in prediction.",
        count(1),
        default=None,
    )
    rotation: str | None = option(
        "How clouds are turned in training: about the z axis, by any rotation (Haar measure), or, where it is"
        " None, not.",
        choices=("z", "so3"),
        default="z",
    )
    epochs: int | None = option(
        "Passes over the training set; the schedule of the learning rate stretches with them.",
        count(1),
        default=None,
    )
    batch_size: int | None = option("Clouds per step; 32.", count(2), default=None)
    network: Mapping[str, Any] | None = option("Overrides of the network's arguments.", default=None)
    device: str = option("cpu, cuda, ...; auto is a GPU if there is one.", default="auto")

    def _learn(self, clouds: list[Array], labels: NDArray[np.int64], n_classes: int) -> None:
        need("torch", type(self).__name__, "torch")
        from heatfield.nn.learner import choose_device

        from ..networks.learner import NetworkLearner, NetworkTraining

        published = NetworkTraining(**self.training, rotation=self.rotation, centred=self.centred)
        recipe: Any = training_recipe(self, labels, np.arange(n_classes), published)
        n_points, device = self._points(clouds), choose_device(self.device)
        kind, seed = type(self).__name__, self.random_state or 0
        learner = NetworkLearner(kind, n_classes, self._parts(), device, n_points, seed)
        self._check_extents(clouds)
        learner.fit(clouds, labels, recipe)
        self.learner_, self.history_, self.n_points_ = learner, learner.history, n_points

    def _probabilities(self, inputs: Any) -> Array:
        return self.learner_.probabilities(inputs)

    @classmethod
    def parameter_count(cls, n_classes: int, **settings: Any) -> int:
        """Number of trainable parameters.

        Parameters
        ----------
        n_classes : int
            At least 2.
        **settings :
            Of the estimator.

        Returns
        -------
        int
        """
        from ..networks.learner import parameter_count

        parts = cls(**settings)._parts()
        return parameter_count(cls.__name__, check_count(n_classes, "n_classes", 2), parts)

    def _parts(self) -> dict[str, Any]:
        """Arguments of the network."""
        if self.network is not None and not isinstance(self.network, Mapping):
            raise ValueError(f"network must be a dict of parts of the network, got {self.network!r}")
        return dict(self.network or {})

    def _points(self, clouds: Sequence[Array]) -> int:
        n_dims = clouds[0].shape[1]
        if n_dims > 3:
            raise ValueError(
                f"{type(self).__name__} takes points of at most 3 coordinates, clouds[0] has {n_dims}"
            )
        median = int(np.median([len(cloud) for cloud in clouds]))
        return self.n_points or max(1, min(PUBLISHED_POINTS, median))

    @staticmethod
    def _check_extents(clouds: Sequence[Array]) -> None:
        """An error where no cloud has two distinct points, a warning where some have not."""
        extents = [[np.ptp(cloud, axis=0).max() if len(cloud) else 0.0] for cloud in clouds]
        known = np.where(np.array(extents) > 0.0, extents, np.nan)
        if np.isnan(known).all():
            raise ValueError("no training cloud has two distinct points: there is nothing to learn from")
        warn_of_empty(known, "nothing is known of them")


@baseline(
    "PointNet", recipe="Qi et al. 2017, charlesq34/pointnet", order=5, cost=200.0, needs="torch",
    published={
        "main": "52.2 71.6 20.0 90.1 58.9 51.6 33.9", "runtime": "370.0 279.6 178.8 62.5",
        "speed_up": "4.6", "rotation": "35.8 38.0 39.7 -2.0", "boundary": "71.5 74.9",
        "boundary_f1": "73.6 74.3",
    },
)  # fmt: skip
@options
class PointNet(NetworkClassifier):
    """PointNet (Qi, Su, Mo and Guibas, CVPR 2017), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    3,480,049 parameters with 40 classes, 8,576 more than those of a widespread reimplementation, which leaves
    out one layer of 64 before and one behind the second T-net. 250 epochs of Adam from 1e-3; every 20 epochs
    the rate falls to 0.7 of itself, at least 1e-5, and the momentum of the batch norms halves from 0.5 to at
    least 0.01. The augmentation is that of the HFS paper.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : the labels
    n_points_ : points that the network sees of every cloud
    history_ : loss and accuracy by epoch
    learner_ : the network, ``learner_.network``, with all it needs

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> model = hb.baselines.PointNet(epochs=1).fit(clouds, labels)
    >>> model.predict_proba(clouds).shape, model.predict(clouds).shape, model.n_points_
    ((16, 4), (16,), 32)
    >>> hb.baselines.PointNet.parameter_count(40)
    3480049
    """

    training = _POINTNET


@baseline(
    "PointNet++", recipe="Qi et al. 2017, charlesq34/pointnet2; centres of the HFS paper", order=6,
    cost=800.0, needs="torch",
    published={
        "main": "59.0 89.1 91.2 92.8 64.5 62.8 19.4", "runtime": "1949.6 1420.8 883.5 86.4",
        "speed_up": "0.9", "rotation": "11.1 30.9 45.1 -1.0", "boundary": "89.0 76.1",
        "boundary_f1": "90.9 76.1",
    },
)  # fmt: skip
@options
class PointNet2(NetworkClassifier):
    """PointNet++ (Qi, Yi, Su and Guibas, NeurIPS 2017), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    1,475,688 parameters with 40 classes, 1,747,368 with three scales. m points have m/2 and m/8 centres, as
    in the HFS paper, found by farthest-point sampling from the point farthest from the centre; of a ball with
    more points than wanted every k-th by distance is taken. Trained as `PointNet`; dropout 0.5, with three
    scales 0.6.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> model = hb.baselines.PointNet2("msg", epochs=1).fit(clouds, labels)
    >>> model.predict_proba(clouds).shape, model.parameter_count(40, grouping="msg")
    ((16, 4), 1747368)
    """

    training = _POINTNET

    grouping: str = option(
        "One radius per level, 0.2 and 0.4 (ssg); or three, 0.1, 0.2, 0.4 and 0.2, 0.4, 0.8 (msg). The HFS"
        " paper does not say which it has.",
        choices=("ssg", "msg"),
        kw_only=False,
        default="ssg",
    )

    def _parts(self) -> dict[str, Any]:
        return {"grouping": self.grouping, **super()._parts()}


@baseline(
    "DGCNN", recipe="Wang et al. 2019, WangYueFt/dgcnn; augmentation of the HFS paper", order=7,
    cost=1000.0, needs="torch",
    published={
        "main": "57.5 90.7 96.9 95.8 59.0 66.3 35.1", "runtime": "1858.8 1366.0 774.0 72.7",
        "speed_up": "1.0", "rotation": "19.0 31.5 47.8 0.0", "boundary": "92.6 76.3",
        "boundary_f1": "91.9 76.2",
    },
)  # fmt: skip
@baseline(
    "DGCNN-SO(3)", recipe="as DGCNN, turned by any rotation", order=9, cost=1000.0, needs="torch",
    options={"rotation": "so3"}, beside=("rotation",), published={"rotation": "-0.2 0.6 0.6 0.0"},
)  # fmt: skip
@options
class DGCNN(NetworkClassifier):
    """DGCNN (Wang, Sun, Liu, Sarma, Bronstein and Solomon, TOG 2019), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    1,809,576 parameters with 40 classes. With ``rotation="so3"`` it is the paper's DGCNN-SO(3). 250 epochs of
    SGD with momentum 0.9 and weight decay 1e-4 from 0.1 by a cosine down to 1e-3; label smoothing 0.2.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> hb.baselines.DGCNN(rotation="so3", epochs=1).fit(clouds, labels).predict_proba(clouds).shape
    (16, 4)
    """

    training = _DGCNN


@baseline(
    "Point Tr", recipe="Zhao et al. 2021; network of Pointcept's Cls38", order=8, cost=1000.0, needs="torch",
    published={
        "main": "60.3 88.5 82.0 95.3 63.7 57.3 35.7", "runtime": "1058.6 773.2 491.7 98.5",
        "speed_up": "1.7", "rotation": "21.0 34.7 40.7 0.0", "boundary": "79.0 78.1",
        "boundary_f1": "80.4 78.0",
    },
)  # fmt: skip
@options
class PointTransformer(NetworkClassifier):
    """Point Transformer (Zhao, Jiang, Jia, Torr and Koltun, ICCV 2021), of 38 layers; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    2,153,904 parameters with 40 classes; the network is that of the Pointcept library ("Cls38"). 200 epochs
    of SGD with momentum 0.9 and weight decay 1e-4 from 0.05, a tenth of it after 120 and 160 epochs. Each
    stage has a quarter of the points of the one before, at least one.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> hb.baselines.PointTransformer(epochs=1).fit(clouds, labels).predict(clouds).shape
    (16,)
    """

    training = _POINT_TRANSFORMER


@baseline(
    "VN-DGCNN", recipe="Deng et al. 2021, FlyingGiraffe/vnn-pc", order=10, cost=2000.0, needs="torch",
    beside=("rotation",), published={"rotation": "0.1 0.0 0.0 0.0", "before_rotation": "94.1 51.7 55.4 55.3"},
)  # fmt: skip
@options
class VNDGCNN(NetworkClassifier):
    """VN-DGCNN (Deng, Litany, Duan and others, ICCV 2021), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    2,899,830 parameters with 40 classes, mean pooling over neighbours. Its probabilities do not change when a
    cloud is turned, up to round-off. Trained as `DGCNN`; after the augmentation clouds are centred again,
    since the network is not invariant to shifts.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> hb.baselines.VNDGCNN(epochs=1).fit(clouds, labels).predict(clouds).shape
    (16,)
    """

    training = _DGCNN
    centred = True
