"""`HFSClassifier`: its options, and what they mean. Its methods are in `estimator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .documented import CHECKPOINT, DEVICE, PROGRESS, READOUT, documented
from .estimator import CloudClassifier


@documented(device=DEVICE, checkpoint=CHECKPOINT, progress=PROGRESS, readout=READOUT)
class HFSClassifier(CloudClassifier):
    """Classify point clouds by their heat field signatures.

    Signatures are computed in closed form, gaps filled from the training set, features
    standardised (those constant up to round-off set to 0, so that rotating a cloud
    never changes its class). The closed-form variants pool them by fixed statistics and read
    them out by a small classifier; "full" and "dgcnn" learn the pooling (and need torch).

    The options come in four groups:

    ========  =====================================================================================
    features  variant, blocks, n_scales, c_min, c_max, lengths, transition, method, tol, dtype
    head      head, inner_folds, epochs (of "mlp"): of the closed-form variants
    training  network, epochs, batch_size, optimizer, learning_rate, final_rate, weight_decay,
              label_smoothing, class_weight, augment, validation, patience, train_points,
              whole_epochs: of the learned variants
    run       random_state, n_jobs; of the learned variants: device, checkpoint, cache, progress
    ========  =====================================================================================

    Guide: ``heatfield docs guide/learning``.

    Parameters
    ----------
    variant : "simple", "desc", "joint", "full" or "dgcnn"
        The first three: see `HFSDescriptor`. "full" is the paper's HFS-full, a network over the points
        pooled by mean and maximum (`heatfield.nn.HFSFull`); "dgcnn" its HFS+DGCNN, DGCNN on coordinates and
        point features (`heatfield.nn.HFSDGCNN`), which is not invariant under rotation.
    blocks : sequence of str, optional
        Of the closed-form variants see `HFSDescriptor`. Those of the learned variants are "global",
        "log_global" and "hds" for the cloud, and "density", "log_density", "dimension", "transition",
        "spectrum", "gradient" and "neighbourhood" for each point; the default is the paper's (no
        logarithms, none of the last two).
    n_scales, c_min, c_max, lengths, transition, method, tol, dtype :
        See `HFSDescriptor`.
    head : "mlp", "lda", "svm" or "auto"
        The paper's network with hidden layers of 128 and 64, linear discriminants with
        automatic shrinkage, or support vectors with a Gaussian kernel. "auto" tries
        linear discriminants and support vectors by cross-validation on the training set, and from
        1,000 clouds on the network too, for a bounded number of epochs on one fold (about two minutes). It
        keeps the best by mean accuracy over classes; ``head_`` says which, ``head_scores_`` how
        well each did.
    inner_folds : int
        Folds of head="auto"; fewer where a class has fewer clouds.
    epochs : int, optional
        Most passes of the head "mlp" over the training set; 3000 if not given, as in the
        paper, where training stops when the loss no longer falls. With a learned variant
        all of them, 250 if not given.
    network : dict, optional
        Parts of the network that shall differ, by the names of `heatfield.nn.HFSFull` or `HFSDGCNN`.
    batch_size, optimizer, learning_rate, final_rate, weight_decay, label_smoothing : optional
        Default of "full": 32, "adam", 1e-3 and by a cosine down to 0, 0, 0; of "dgcnn": 32,
        "sgd" (with momentum 0.9), 0.1 down to 1e-3, 1e-4, 0.2. Smoothing is the share of all wrong classes
        together.
    class_weight : "balanced" or dict, optional
        Weight of each class in the loss.
    augment : bool, optional
        Of "dgcnn": turn each cloud about its last axis, scale, move and jitter it anew in every epoch, as the
        paper does with its deep baselines; the default. The heat features stay those of the cloud itself.
    validation : float, optional
        Share of every class that is held out of training; its loss and accuracy are in ``history_``.
    patience : int, optional
        Stop after so many epochs without a better loss there, and keep the best weights.
    train_points : int, optional
        In training, draw so many points of each cloud anew for every epoch. The features still come from
        all points, and prediction uses all. A quarter of the points takes a quarter of the time.
    whole_epochs : int, optional
        With ``train_points``: the last so many epochs take all points nevertheless, by default 15 of 100;
        0 for none. A maximum over few points is smaller than one over all, which prediction takes and
        the network should have seen in training.
    random_state : int, optional
        Seed of the network, its batches and the inner folds. On one thread the result is the same
        to the bit.
    n_jobs : int
        Threads that compute features; -1 for all cores.
    {device}
    {checkpoint}
    cache : path-like, optional
        A folder that keeps the features of the training clouds.
    {progress}

    Attributes
    ----------
    classes_ : the labels
    n_dims_ : the dimension of the points
    descriptor_ : the fitted `HFSDescriptor`
    {readout}
    learner_, history_ : of a learned variant, the network with its scaling, and loss and accuracy by epoch

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=12, n_points=300)
    >>> model = hf.HFSClassifier("simple", head="svm").fit(clouds[::2], labels[::2])
    >>> model.predict(clouds[1::2]).shape, model.score(clouds[1::2], labels[1::2]) > 0.4
    ((30,), True)
    >>> model.predict_proba(clouds[:2]).shape
    (2, 5)
    """

    def __init__(
        self,
        variant: str = "desc",
        *,
        blocks: Sequence[str] | None = None,
        n_scales: int = 8,
        c_min: float = 0.05,
        c_max: float = 0.25,
        lengths: Sequence[float] | None = None,
        transition: str | None = None,
        method: str = "auto",
        tol: float | None = None,
        dtype: str = "float64",
        head: str = "mlp",
        inner_folds: int = 5,
        epochs: int | None = None,
        network: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        final_rate: float | None = None,
        weight_decay: float | None = None,
        label_smoothing: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        augment: bool | None = None,
        validation: float | None = None,
        patience: int | None = None,
        train_points: int | None = None,
        whole_epochs: int | None = None,
        random_state: int | None = None,
        n_jobs: int | None = 1,
        device: str = "auto",
        checkpoint: str | Path | None = None,
        cache: str | Path | None = None,
        progress: bool | None = None,
    ) -> None:
        self.variant = variant
        self.blocks = blocks
        self.n_scales = n_scales
        self.c_min = c_min
        self.c_max = c_max
        self.lengths = lengths
        self.transition = transition
        self.method = method
        self.tol = tol
        self.dtype = dtype
        self.head = head
        self.inner_folds = inner_folds
        self.epochs = epochs
        self.network = network
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.final_rate = final_rate
        self.weight_decay = weight_decay
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.augment = augment
        self.validation = validation
        self.patience = patience
        self.train_points = train_points
        self.whole_epochs = whole_epochs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.checkpoint = checkpoint
        self.cache = cache
        self.progress = progress
