"""The networks that the paper compares with, as classifiers over lists of clouds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from heatfield._base.check import Array, check_count
from heatfield._features.schedule import warn_of_empty
from heatfield.models.heads import Tensors
from heatfield.models.network import held_out, training_recipe
from heatfield.models.saving import from_plain, plain, saved_history
from heatfield.options import Training, Watched, check_options, count, number, option, options

from .._tools import need
from .estimator import BaselineClassifier, baseline, yes_or_no

# Points of a cloud that the networks see at most if not told otherwise: what they were published with.
PUBLISHED_POINTS = 1024
_RECIPE = "Of the recipe above if not given."


@options
class NetworkClassifier(Training, Watched, BaselineClassifier):
    """Base class of the networks: a scikit-learn classifier over lists of clouds.

    Each cloud is brought to ``n_points`` points, centred, and scaled to the unit ball; clouds in the plane
    get z = 0.
    """

    _kind: ClassVar[str]

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
    optimizer: str | None = option(_RECIPE, choices=("adam", "sgd"), default=None)
    learning_rate: float | None = option(_RECIPE, number(above=0), default=None)
    final_rate: float | None = option(
        "The end of the cosine, or the least rate where the rate falls in steps.",
        number(least=0),
        default=None,
    )
    weight_decay: float | None = option(_RECIPE, number(least=0), default=None)
    label_smoothing: float | None = option(
        "Total target probability of the wrong classes.", number(least=0, below=1), default=None
    )
    augment: bool | None = option(
        "Turn, scale, move and jitter each cloud anew in every epoch; on by default.", yes_or_no, default=None
    )

    def _learn(self, clouds: list[Array], labels: np.ndarray) -> None:
        need("torch", type(self).__name__, "torch")
        from ..networks.learner import RECIPES

        check_options(self)
        classes, found = np.unique(labels, return_inverse=True)
        positions = found.astype(np.int64)
        published = replace(RECIPES[self._kind], rotation=self.rotation)
        recipe = training_recipe(self, positions, classes, published)
        # Without a seed every split is another, but a training that goes on must find the one it had.
        seed = 0 if recipe.seed is None and recipe.checkpoint is not None else recipe.seed
        watching = held_out(self.validation, positions, classes, seed)
        n_dims, n_points = clouds[0].shape[1], self._points(clouds)
        learner = self._learner(len(classes), n_points, n_dims, self._parts(), self.random_state or 0)
        self._check_extents(clouds)
        learner.fit(clouds, positions, watching, recipe)
        self.learner_, self.history_, self.classes_ = learner, learner.history, classes
        self.n_points_ = n_points

    def _probabilities(self, features: Any) -> Array:
        return self.learner_.probabilities(features)

    @property
    def n_dims_(self) -> int:
        """The dimension of the points that it was fitted on."""
        return self.learner_.n_dims

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        learner = self.learner_
        metadata: dict[str, Any] = {"network": plain(learner.options, "network"), "history": self.history_}
        metadata |= {"n_points": learner.n_points, "seed": learner.seed}
        return metadata, learner.tensors()

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        n_dims = check_count(metadata["n_dims"], "n_dims", 1)
        if n_dims > 3:
            raise ValueError(f"n_dims={n_dims} is more than 3")
        self.n_points_ = check_count(metadata["n_points"], "n_points", 1)
        parts, seed = from_plain(metadata["network"]), check_count(metadata["seed"], "seed", 0)
        self.learner_ = self._learner(len(self.classes_), self.n_points_, n_dims, parts, seed)
        self.learner_.load(tensors)
        tensors.clear()
        self.history_ = self.learner_.history = saved_history(metadata)

    @classmethod
    def parameter_count(cls, n_classes: int, **settings: Any) -> int:
        """Numbers that are learned, with so many classes and settings of the estimator.

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

        return parameter_count(cls._kind, check_count(n_classes, "n_classes", 2), cls(**settings)._parts())

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

    def _learner(
        self, n_classes: int, n_points: int, n_dims: int, parts: Mapping[str, Any], seed: int
    ) -> Any:
        from heatfield.nn.learner import choose_device

        from ..networks.learner import NetworkLearner

        device = choose_device(self.device)
        return NetworkLearner(
            self._kind, n_classes, parts, device, n_points=n_points, n_dims=n_dims, seed=seed
        )

    @staticmethod
    def _check_extents(clouds: Sequence[Array]) -> None:
        """An error where no cloud has two distinct points, a warning where some have not."""
        extents = [[np.ptp(cloud, axis=0).max() if len(cloud) else 0.0] for cloud in clouds]
        known = np.where(np.array(extents) > 0.0, extents, np.nan)
        if np.isnan(known).all():
            raise ValueError("no training cloud has two distinct points: there is nothing to learn from")
        warn_of_empty(known, "nothing is known of them")


@baseline("Qi et al. 2017, charlesq34/pointnet", "torch", cost=200.0)
@options
class PointNet(NetworkClassifier):
    """PointNet (Qi, Su, Mo and Guibas, CVPR 2017), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointNet`: 3,480,049 parameters with 40 classes, 8,576 more than the 3,471,473
    of a widespread reimplementation, which leaves out one layer of 64 before and one behind the second T-net.
    Loss: cross entropy and 0.001 times half the sum over the batch of (A A' - I)**2. 250 epochs of Adam from
    1e-3; every 20 epochs (the authors: every 200,000 clouds, which is as much on their data) the rate falls
    to 0.7 of itself, at least 1e-5, and the momentum of the batch norms halves from 0.5 to at least 0.01. The
    augmentation is that of the HFS paper (a turn about the z axis, a scale of 0.8 to 1.25, a shift of up to
    0.1, jitter of 0.01 clipped at 0.05); the authors turn about the vertical axis and jitter only.

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
    >>> import tempfile, heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_four_shapes(n_per_class=4, n_points=32)
    >>> model = hb.baselines.PointNet(epochs=1).fit(clouds, labels)
    >>> model.predict_proba(clouds).shape, model.predict(clouds).shape, model.n_points_
    ((16, 4), (16,), 32)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     model.save(f"{place}/shapes")
    ...     hb.baselines.PointNet.load(f"{place}/shapes", device="cpu").predict_proba_features(clouds).shape
    (16, 4)
    >>> hb.baselines.PointNet.parameter_count(40), model.uncalibrated() != "", model.unlike(clouds)
    (3480049, True, {})
    """

    _kind = "pointnet"


@baseline(
    "Qi et al. 2017, charlesq34/pointnet2; centres of the HFS paper", "torch", cost=800.0,
    rows={"PointNet++": {}},
)  # fmt: skip
@options
class PointNet2(NetworkClassifier):
    """PointNet++ (Qi, Yi, Su and Guibas, NeurIPS 2017), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointNet2`: 1,475,688 parameters with 40 classes, 1,747,368 with three scales. m
    points have m/2 and m/8 centres, as in the HFS paper (512 and 128 for the published 1,024), found by
    farthest-point sampling from the point farthest from the centre; of a ball with more points than wanted
    every so manyth by distance is taken (the authors begin at the first point and take the first in the ball:
    both depend on the order of the points). 250 epochs of Adam from 1e-3, falling to 0.7 of itself every 20
    epochs, at least 1e-5; momentum of the batch norms from 0.5, halved as often, at least 0.01; dropout 0.5,
    with three scales 0.6. Augmentation as of `PointNet`; the authors also tilt by small angles, and have
    batches of 16.

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

    _kind = "pointnet2"

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
    "Wang et al. 2019, WangYueFt/dgcnn; augmentation of the HFS paper", "torch", cost=1000.0,
    rows={"DGCNN": {}, "DGCNN-SO(3)": {"rotation": "so3"}},
)  # fmt: skip
@options
class DGCNN(NetworkClassifier):
    """DGCNN (Wang, Sun, Liu, Sarma, Bronstein and Solomon, TOG 2019), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.DGCNN`: 1,809,576 parameters with 40 classes. With ``rotation="so3"`` it is the
    paper's DGCNN-SO(3). 250 epochs of SGD with momentum 0.9 and weight decay 1e-4 from 0.1 by a cosine down
    to 1e-3; label smoothing 0.2, which the wrong classes share. Augmentation as of `PointNet`; the authors
    stretch each axis by 2/3 to 3/2 and shift by up to 0.2, and neither turn nor jitter.

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

    _kind = "dgcnn"


@baseline(
    "Zhao et al. 2021; network of Pointcept's Cls38", "torch", cost=1000.0, rows={"Point Tr": {}}
)  # fmt: skip
@options
class PointTransformer(NetworkClassifier):
    """Point Transformer (Zhao, Jiang, Jia, Torr and Koltun, ICCV 2021), of 38 layers; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.PointTransformer`: 2,153,904 parameters with 40 classes. No code of its authors'
    classifier is public; the network is that of the Pointcept library ("Cls38"). 200 epochs of SGD with
    momentum 0.9 and weight decay 1e-4 from 0.05, a tenth of it after 120 and 160 epochs. Each stage has a
    quarter of the points of the one before, at least one, and where there are fewer points than neighbours
    asked for, all are neighbours: 128 points become 32, 8, 2 and 1. Augmentation as of `PointNet`.

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

    _kind = "point_transformer"


@baseline("Deng et al. 2021, FlyingGiraffe/vnn-pc", "torch", cost=2000.0, rows={"VN-DGCNN": {}})
@options
class VNDGCNN(NetworkClassifier):
    """VN-DGCNN (Deng, Litany, Duan and others, ICCV 2021), after its authors' code; needs torch.

    Guide: ``heatfield docs guide/baselines``.

    `heatfield_bench.networks.VNDGCNN`: 2,899,830 parameters with 40 classes, mean pooling over neighbours.
    Its probabilities do not change when a cloud is turned, up to round-off. Trained as `DGCNN`, as in the
    authors' original repository and the HFS paper. After the augmentation clouds are centred again: neither
    turning nor shifting has an effect. (The network is not invariant to shifts; left as they are, it has to
    learn what clouds at prediction, centred as they are, never show.)

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

    _kind = "vn_dgcnn"
