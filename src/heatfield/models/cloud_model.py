"""What all models of clouds share: they learn from, and predict, clouds or features computed before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, as_lengths, check_choice, check_count, warn_caller
from .._base.threads import one_algebra_thread
from ..core.planner import always_dense
from ..features.describe import own_ends, shared_lengths
from ..features.descriptor import CloudEstimator, HFSDescriptor, check_known_lengths
from ..features.layout import VARIANT_BLOCKS, FeatureSettings
from ..options import ClosedForm, Threads, check_options, values_of
from .heads import Head, Readout, Tensors
from .read_out import Candidate, InputRange, Tables, checked_groups, diameters_of, new_scaler
from .saving import load_estimator, save_estimator

AUTO_VARIANTS = ("joint", "oriented")  # what variant="auto" compares; the last has the columns of all
Target = Sequence[Any] | NDArray[Any]


class CloudModel(Threads, CloudEstimator):
    """A model of clouds: what is known of its training set, and how it is saved."""

    lengths: Any
    lengths_: tuple[float, ...]
    n_clouds_: int
    input_range_: InputRange | None
    notes_: dict[str, Any]

    def fit(self, clouds: Sequence[ArrayLike], y: Target, *, groups: Sequence[Any] | None = None) -> Self:
        """Learn from clouds, and what is known of each.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : sequence of N labels, or of N numbers for a regressor
        groups : sequence of N labels, optional
            Clouds of one group (laboratory, animal, site) stay on one side of the inner folds, or of the
            validation.

        Returns
        -------
        self : the fitted model
        """
        checked = as_clouds(clouds)
        target, own = self._target(y, len(checked)), checked_groups(groups, len(checked))
        self._forget()
        if self._shares_lengths():
            scales = self._scales(checked[0].shape[1])
            self.lengths_ = shared_lengths(own_ends(checked, scales, scales.n_threads), scales.n_scales)
        diameters = self._fit_clouds(checked, target, own)
        self.input_range_ = InputRange.of(diameters, [len(cloud) for cloud in checked])
        return self

    def predict(self, clouds: Sequence[ArrayLike]) -> NDArray[Any]:
        """The label, or the number, of each cloud.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        predicted : (N,)
        """
        return self.predict_features(self._features_of(clouds))

    def predict_features(self, features: Any) -> NDArray[Any]:
        """`predict` from features that were computed before, as `fit_features` takes them.

        Parameters
        ----------
        features : (N, columns) array, or PointTable

        Returns
        -------
        predicted : (N,)
        """
        return self._predicted(features)

    def unlike(self, clouds: Sequence[ArrayLike]) -> dict[int, str]:
        """Clouds far outside the range of the training set, by index, and what is unusual about each.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        notes : dict of int to str
        """
        return self._unlike(as_clouds(clouds))

    def _unlike(self, clouds: list[Array]) -> dict[int, str]:
        known = getattr(self, "input_range_", None)
        if known is None:
            return {}
        return known.unlike(diameters_of(clouds, drop=self._drops_isolated), [len(one) for one in clouds])

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the fitted model to a folder: numbers as safetensors, the rest as JSON.

        Parameters
        ----------
        folder : path-like
        notes : mapping, optional
            Anything that JSON can hold; `load` gives it back as ``notes_``.

        Examples
        --------
        >>> import tempfile, heatfield as hf
        >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=4, n_points=60)
        >>> model = hf.HFSClassifier("simple", head="lda", n_scales=4).fit(clouds, labels)
        >>> with tempfile.TemporaryDirectory() as place:
        ...     model.save(f"{place}/orbits")
        ...     again = hf.HFSClassifier.load(f"{place}/orbits")
        >>> bool((again.predict_proba(clouds) == model.predict_proba(clouds)).all())
        True
        """
        check_is_fitted(self, "n_clouds_")
        known = getattr(self, "input_range_", None)
        metadata, tensors = self._packed()
        metadata |= {"n_dims": self.n_dims_, "n_clouds": self.n_clouds_}
        metadata["input_range"] = None if known is None else asdict(known)
        metadata["lengths"] = list(self.lengths_) if self._shares_lengths() else None
        save_estimator(self, folder, notes or {}, metadata, tensors)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a `ReadError`.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        model : of this class

        Examples
        --------
        >>> import heatfield as hf
        >>> hf.HFSClassifier.load("forest")
        Traceback (most recent call last):
        heatfield.io.limits.ReadError: forest: no such folder; a saved model is expected
        """
        return cls._load(folder)

    @classmethod
    def _load(cls, folder: str | Path, **local: Any) -> Self:
        """`load`, with parameters that are the user's choice, never a file's."""

        def unpack(model: Self, metadata: dict[str, Any], tensors: Tensors) -> None:
            model.set_params(**local)
            if model._shares_lengths():
                model.lengths_ = as_lengths(list(metadata["lengths"]), least=2) or ()
            model._unpack(metadata, tensors)
            model.n_clouds_ = check_count(metadata["n_clouds"], "n_clouds", 1)
            model.input_range_ = InputRange.loaded(metadata["input_range"])

        return load_estimator(cls, folder, unpack)

    @property
    def n_dims_(self) -> int:
        """The dimension of the points that the model was fitted on."""
        raise NotImplementedError

    def _shares_lengths(self) -> bool:
        return isinstance(self.lengths, str) and self.lengths == "shared"

    def _given_lengths(self) -> Any:
        """The lengths that were learnt, or None before; or those that were asked for."""
        return getattr(self, "lengths_", None) if self._shares_lengths() else self.lengths

    def _scales(self, n_dims: int) -> FeatureSettings:
        """How diffusion times are found."""
        raise NotImplementedError

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        """What was learnt: as JSON, and as arrays."""
        raise NotImplementedError

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        """Set what `_packed` gave, checked, and remove it from ``tensors``; ``classes_`` are known."""
        raise NotImplementedError

    def _compute(self, clouds: list[Array]) -> Any:
        """The features of checked clouds."""
        raise NotImplementedError

    def _predicted(self, features: Any) -> NDArray[Any]:
        raise NotImplementedError

    @property
    def _drops_isolated(self) -> bool:
        """Whether features leave isolated points out."""
        raise NotImplementedError

    def _features_of(self, clouds: Sequence[ArrayLike]) -> Any:
        """The features of new clouds, with a warning for those that are unlike the training set.

        Parameters that were set since do not count before the next fit, but for ``n_jobs``.
        """
        check_is_fitted(self, "n_clouds_")
        checked = as_clouds(clouds)
        odd = self._unlike(checked)
        if odd:
            first = f"clouds[{min(odd)}] {odd[min(odd)]}"
            warn_caller(f"{len(odd)} of {len(checked)} clouds are unlike the training set: {first}")
        return self._compute(checked)

    def _target(self, y: Any, count: int) -> NDArray[Any]:
        """What is to be learnt of so many clouds, or a ValueError."""
        raise NotImplementedError

    def _fit_clouds(self, clouds: list[Array], target: NDArray[Any], groups: NDArray[Any] | None) -> Array:
        """Learn; errors of settings are raised before the long work. Returns the diameters."""
        raise NotImplementedError


class ClosedFormModel(ClosedForm, CloudModel):
    """A model that reads out closed-form descriptors."""

    descriptor_: HFSDescriptor
    head_: str
    head_scores_: dict[str, float]
    readout_: Readout
    _kinds: ClassVar[Mapping[str, type[Head]]]  # of heads
    _words: ClassVar[Collection[str]]  # of which names of candidates are made
    _least_score: ClassVar[float]
    _scored_by: ClassVar[str]

    def fit_features(
        self, features: ArrayLike, y: Target, *, n_dims: int, groups: Sequence[Any] | None = None
    ) -> Self:
        """Learn from descriptors that were computed before, with the same settings.

        Parameters
        ----------
        features : (N, columns) array
            By `describe` or `HFSDescriptor` with `descriptor_options`. With ``variant="auto"`` those of joint
            do as well; then no other variant is compared.
        y : sequence of N labels, or of N numbers for a regressor
        n_dims : int
            The dimension of the points.
        groups : sequence of N labels, optional
            As of `fit`.

        Returns
        -------
        self : the fitted model
        """
        self._forget()
        check_known_lengths(self.lengths)
        n = check_count(n_dims, "n_dims", 1)
        described = self._descriptor(n)
        for variant in self._variants()[:-1]:
            narrow = self._descriptor(n, variant)
            described = narrow if np.shape(features)[1:] == (narrow.layout().width,) else described
        rows = checked_features(features, described)
        target, own = self._target(y, len(rows)), checked_groups(groups, len(rows))
        self._check_settings(target, n, own)
        self._read_out(described, rows, target, self.method != "fast", own)
        return self

    def _fit_clouds(self, clouds: list[Array], target: NDArray[Any], groups: NDArray[Any] | None) -> Array:
        n = clouds[0].shape[1]
        self._check_settings(target, n, groups)
        described = self._descriptor(n)
        extents = np.empty((len(clouds), 3))
        features = described._compute(clouds, extents=extents)
        dense = all(always_dense(self.method, *cloud.shape) for cloud in clouds)
        self._read_out(described, features, target, dense, groups)
        return extents[:, 1]

    def _read_out(
        self, described: HFSDescriptor, features: Array, target: NDArray[Any], dense: bool,
        groups: NDArray[Any] | None,
    ) -> None:  # fmt: skip
        """Choose and fit a head, on one thread: matrices are small, and threads of BLAS would only wait."""
        variants = self._variants()
        variants = variants[: variants.index(described.variant) + 1]
        own = {variant: self._descriptor(described.n_dims_, variant) for variant in variants}
        tables = {
            variant: (
                features[:, columns_among(descriptor, described)],
                new_scaler(descriptor.layout(), self.dtype, self.tol, dense),
            )
            for variant, descriptor in own.items()
        }
        with one_algebra_thread():
            chosen, self.head_scores_, self.readout_ = self._choose(tables, target, groups)
        self.head_, self.descriptor_, self.n_clouds_ = chosen.head, own[chosen.variant], len(target)

    @property
    def _drops_isolated(self) -> bool:
        return self.descriptor_._settings(self.n_dims_).drops_isolated

    def _choose(
        self, tables: Tables, target: NDArray[Any], groups: NDArray[Any] | None
    ) -> tuple[Candidate, dict[str, float], Readout]:
        """What reads the clouds out, the scores of all that were compared, and the read-out, fitted."""
        raise NotImplementedError

    def _check_settings(self, target: NDArray[Any], n_dims: int, groups: NDArray[Any] | None) -> None:
        """A ValueError where settings do not go together, or not with the target; nothing is computed."""
        raise NotImplementedError

    def _score_words(self, score: float) -> str:
        raise NotImplementedError

    def choice(self) -> str:
        """What was chosen where "auto" left it open, and why; "" where nothing was.

        Returns
        -------
        str
        """
        if not self.head_scores_:
            return ""
        best = max(self.head_scores_, key=self.head_scores_.__getitem__)
        tried = ", ".join(f"{name} {self._score_words(score)}" for name, score in self.head_scores_.items())
        return f"read-out {best}, the best by {self._scored_by} ({tried})"

    @property
    def normalise_(self) -> str:
        """How features are normalised for the head: "standard" or "rank"."""
        return self.readout_.scaling.normalise

    @property
    def n_dims_(self) -> int:
        """The dimension of the points that the model was fitted on."""
        return self.descriptor_.n_dims_

    def descriptor_options(self) -> dict[str, Any]:
        """The options by which clouds are described for `fit_features`.

        With ``variant="auto"`` they are those of the variant that has the columns of all.

        Returns
        -------
        options : dict
        """
        own = {"variant": self._variants()[-1], "lengths": self._given_lengths()}
        return values_of(self, ClosedForm) | own

    def _variants(self) -> tuple[str, ...]:
        """The variants that are compared. With given blocks they are the same: the first that has them."""
        if self.variant != "auto":
            return (self.variant,)
        if self.blocks is None:
            return AUTO_VARIANTS
        fits = [name for name in AUTO_VARIANTS if {*self.blocks} <= {*VARIANT_BLOCKS[name]}]
        return (*fits, *AUTO_VARIANTS[-1:])[:1]

    def _descriptor(self, n_dims: int, variant: str | None = None) -> HFSDescriptor:
        """What describes clouds: of a variant, or of the one that has the columns of all."""
        check_options(self)
        chosen = self.descriptor_options() | ({} if variant is None else {"variant": variant})
        return HFSDescriptor(**chosen, n_jobs=self.n_jobs)._fit_dims(n_dims)

    def _scales(self, n_dims: int) -> FeatureSettings:
        return self._descriptor(n_dims)._settings(n_dims)

    def _compute(self, clouds: list[Array]) -> Array:
        return self.descriptor_._compute(clouds, self.n_jobs)

    def _checked_features(self, features: Any) -> Array:
        """Rows for the read-out, of its own columns or of those of all that "auto" compares."""
        check_is_fitted(self, "n_clouds_")
        own = self.descriptor_
        if own.variant in AUTO_VARIANTS:
            whole = clone(own).set_params(variant=AUTO_VARIANTS[-1])._fit_dims(own.n_dims_)
            if np.shape(features)[1:] == (whole.layout().width,):
                return np.asarray(features)[:, columns_among(own, whole)]
        return checked_features(features, own)

    def _packed(self) -> tuple[dict[str, Any], Tensors]:
        chosen = {"variant": self.descriptor_.variant, "head": self.head_, "head_scores": self.head_scores_}
        return chosen | {"readout": self.readout_.head.values()}, self.readout_.tensors()

    def _unpack(self, metadata: Mapping[str, Any], tensors: Tensors) -> None:
        n_dims = check_count(metadata["n_dims"], "n_dims", 1)
        variant = check_choice(metadata["variant"], "variant", self._variants())
        self.descriptor_ = self._descriptor(n_dims, variant)
        self.descriptor_._check_columns(np.size(tensors["fill"]))
        head, scores = check_choice(metadata["head"], "head", tuple(self._kinds)), metadata["head_scores"]
        known = all(word in {*self._words, *AUTO_VARIANTS} for name in scores for word in name.split())
        if not known or not all(self._least_score <= score <= 1.0 for score in scores.values()):
            raise ValueError(f"its scores of heads are not values of {self._scored_by}: {scores!r}")
        kind, width = self._kinds[head], self.descriptor_.layout().width
        classes = len(getattr(self, "classes_", ()))
        self.readout_ = Readout.loaded(kind, tensors, metadata["readout"], width, classes)
        self.head_, self.head_scores_ = head, scores


def columns_among(descriptor: HFSDescriptor, described: HFSDescriptor) -> Any:
    """The places of a descriptor's columns among those of another, which has them all."""
    own, whole = descriptor.layout().names, described.layout().names
    if own == whole:
        return slice(None)
    places = {name: i for i, name in enumerate(whole)}
    return np.array([places[name] for name in own])


def checked_features(features: Any, descriptor: HFSDescriptor) -> Array:
    """Rows of this descriptor, or a ValueError."""
    width = descriptor.layout().width
    if np.ndim(features) != 2 or np.shape(features)[1] != width:
        raise ValueError(
            f"features must have shape (N, {width}) for variant={descriptor.variant!r} "
            f"in {descriptor.n_dims_} dimensions, got {np.shape(features)}"
        )
    return np.asarray(features)
