"""`HFSPointClassifier`: a label for every point of a cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._base.check import Array, check_count, thread_count
from .._base.progress import progress_bar
from .._features.cloud_input import CloudEstimator
from .features import Features, point_features
from .input import Columns, known, labels_of_points, unpacked
from .sampling import balanced_rows, propose_lengths
from .settings import PointFeatureSettings
from .trees import Trees


class HFSPointClassifier(ClassifierMixin, CloudEstimator):
    """Label every point of a cloud by its heat field signatures at lengths that all clouds share.

    Guide: ``heatfield docs guide/points``.

    Parameters
    ----------
    lengths : sequence of float, optional
        Lengths sqrt(t) in the unit of the points, at least two. By default `propose_lengths` of the training
        clouds: six, from 1.5 times their spacing on.
    blocks : sequence of str, optional
        Some of "density" (its logarithm), "dimension", "transition", "spectrum", "shape" (linearity,
        planarity, sphericity, verticality), "direction" (how upright the direction of the largest extent is:
        1 along a trunk, 0 along a level branch), "gradient", "fine" (these at a length finer than the first
        by the root of ten, where the weights reach as far as a ball of the first length), "neighbourhood"
        (how much the others vary around a point; it takes several times as long as all others together) and
        "height" (above the lowest points of the cell). The default is all but "neighbourhood".
    columns : sequence of str
        Columns of the files that are features too, such as "intensity" or "return_number".
    cell : float, optional
        Side of the square cells of "height"; default four times the largest length.
    reader : "boosting" or a scikit-learn classifier
        What learns from the features: histogram gradient boosting, or a classifier with ``predict_proba``,
        which gets NaN where a feature is not defined.
    iterations : int
        Trees per class of "boosting".
    class_weight : "balanced", dict or None
        Weight of each class of "boosting".
    points_per_class : int
        At most so many training points per class, drawn evenly from the clouds.
    tol : float
        What the sums promise at every point; see `signatures`.
    random_state : int
        Of the choice of training points and of the reader.
    n_jobs : int
        Threads; -1 for all cores.
    progress : bool, optional
        False: no bar.

    Attributes
    ----------
    classes_ : the labels
    settings_ : which features, at which lengths
    trees_ : of "boosting"; ``reader_`` of another reader

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_forest(2, n_points=3000, random_state=0)
    >>> model = hf.HFSPointClassifier(lengths=[0.2, 0.5, 1.0], iterations=20).fit(clouds[:1], labels[:1])
    >>> found = model.predict(clouds[1:])[0]
    >>> found.shape, bool((found == labels[1]).mean() > 0.6)
    ((3000,), True)
    >>> model.predict_proba(clouds[1:])[0].shape, model.score(clouds[1:], labels[1:]) > 0.3
    ((3000, 5), True)
    >>> rows = model.features(clouds[1], model.settings_)
    >>> bool((model.predict_proba_features(rows) == model.predict_proba(clouds[1:])[0]).all())
    True
    >>> again = hf.HFSPointClassifier(iterations=5).fit_features(rows, labels[1], model.settings_for(clouds))
    >>> [block for block, _ in again.feature_groups(model.settings_)][:2]
    ['density', 'dimension']
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     model.save(f"{place}/forest")
    ...     hf.HFSPointClassifier.load(f"{place}/forest").classes_.tolist()
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        *,
        lengths: Sequence[float] | None = None,
        blocks: Sequence[str] | None = None,
        columns: Sequence[str] = (),
        cell: float | None = None,
        reader: Any = "boosting",
        iterations: int = 150,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        points_per_class: int = 50_000,
        tol: float = 1e-4,
        random_state: int = 0,
        n_jobs: int | None = 1,
        progress: bool | None = None,
    ) -> None:
        self.lengths = lengths
        self.blocks = blocks
        self.columns = columns
        self.cell = cell
        self.reader = reader
        self.iterations = iterations
        self.class_weight = class_weight
        self.points_per_class = points_per_class
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        clouds: Sequence[Any],
        labels: Sequence[Any],
        *,
        columns: Sequence[Columns] | None = None,
        ignore: Sequence[Any] = (),
    ) -> Self:
        """Learn from clouds and the labels of their points.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, of paths, of tables with x, y, z, or of `Cloud`
            All but arrays bring their columns.
        labels : sequence of (m_i,) arrays
        columns : sequence of mappings, optional
            Columns of each cloud, as the option ``columns`` names them.
        ignore : sequence of labels
            Points without a label that counts, such as LAS classes 0 and 1.

        Returns
        -------
        self : HFSPointClassifier
        """
        points, found = unpacked(clouds, columns)
        checked = labels_of_points(labels, points, ignore)
        settings = self.settings_for(points)
        names = np.unique(np.concatenate([own[known(own, ignore)] for own in checked]))
        per_class = check_count(self.points_per_class, "points_per_class", 1)
        rows = balanced_rows(checked, names, per_class, check_count(self.random_state, "random_state", 0))
        tables = []
        for i in progress_bar(range(len(points)), unit="clouds", quiet=self.progress is False):
            tables.append(self.features(points[i], settings, found[i], rows[i]))
        y = np.concatenate([own[chosen] for own, chosen in zip(checked, rows, strict=True)])
        return self.fit_features(np.concatenate(tables), y, settings)

    def settings_for(self, points: Sequence[Array]) -> PointFeatureSettings:
        """Which features: the options, with lengths from the clouds where none were given.

        Parameters
        ----------
        points : list of (m_i, n) arrays
            The training clouds.

        Returns
        -------
        settings : PointFeatureSettings
        """
        lengths = self.lengths
        if lengths is None:
            lengths = propose_lengths(points, thread_count(self.n_jobs))
        return PointFeatureSettings(
            points[0].shape[1],
            tuple(lengths),
            blocks=self.blocks,  # type: ignore[arg-type]  # checked there
            columns=self.columns,  # type: ignore[arg-type]
            cell=self.cell,
            tol=self.tol,
        )

    def features(
        self,
        points: Array,
        settings: PointFeatureSettings,
        columns: Columns | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> Features:
        """Features (q, F) at the chosen points of one cloud, None for all.

        Parameters
        ----------
        points : (m, n)
        settings : PointFeatureSettings
            By `settings_for`, or ``settings_`` of a fitted classifier.
        columns : mapping of str to (m,) array, optional
            Where the settings name columns.
        rows : (q,) int, optional

        Returns
        -------
        features : (q, F) float32
        """
        return point_features(points, settings, columns, rows, thread_count(self.n_jobs))

    def feature_groups(self, settings: PointFeatureSettings) -> list[tuple[str, list[str]]]:
        """Each block with the names of its columns.

        Parameters
        ----------
        settings : PointFeatureSettings

        Returns
        -------
        groups : list of (block, names)
        """
        return settings.columns_of_blocks()

    def fit_features(self, features: Features, labels: Any, settings: PointFeatureSettings) -> Self:
        """Learn from features that were computed before.

        Parameters
        ----------
        features : (N, F)
        labels : (N,)
        settings : PointFeatureSettings
            What the features were computed with.

        Returns
        -------
        self : HFSPointClassifier
        """
        self._forget()
        y = np.asarray(labels)
        if len(np.unique(y)) < 2:
            raise ValueError(f"labels must hold at least two classes, got only {np.unique(y).tolist()}")
        # OpenMP takes all cores unasked, and threads that wait for each other on a busy machine waste hours.
        with threadpool_limits(thread_count(self.n_jobs), user_api="openmp"):
            estimator = self._new_estimator().fit(features, y)
        self.classes_ = estimator.classes_
        self.settings_ = settings
        if self.reader == "boosting":
            self.trees_ = Trees.of(estimator)
        else:
            self.reader_ = estimator
        return self

    def _new_estimator(self) -> Any:
        """The estimator that the parameter ``reader`` chooses, not fitted yet."""
        if not isinstance(self.reader, str):
            if not hasattr(self.reader, "predict_proba"):
                raise ValueError(f"reader must be 'boosting' or have predict_proba, got {self.reader!r}")
            return clone(self.reader)
        if self.reader != "boosting":
            raise ValueError(f"reader must be 'boosting' or a scikit-learn classifier, got {self.reader!r}")
        return HistGradientBoostingClassifier(
            max_iter=check_count(self.iterations, "iterations", 1),
            class_weight=self.class_weight,
            early_stopping=False,
            random_state=self.random_state,
        )

    def predict_proba_features(self, features: Features) -> Array:
        """The probability of each class (N, classes) from features.

        Parameters
        ----------
        features : (N, F)

        Returns
        -------
        probabilities : (N, classes)
        """
        check_is_fitted(self, "classes_")
        if hasattr(self, "trees_"):
            return self.trees_.probabilities(features, thread_count(self.n_jobs))
        return self.reader_.predict_proba(features)

    def predict_proba(
        self, clouds: Sequence[Any], *, columns: Sequence[Columns] | None = None
    ) -> list[Array]:
        """The probability of each class for every point.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, or of `Cloud`
        columns : sequence of mappings, optional
            As of `fit`.

        Returns
        -------
        probabilities : list of (m_i, classes) arrays
            Columns as in ``classes_``.
        """
        check_is_fitted(self, "classes_")
        points, found = unpacked(clouds, columns)
        if points[0].shape[1] != self.settings_.n_dims:
            raise ValueError(
                f"clouds[0] has {points[0].shape[1]} coordinates per point, "
                f"but the classifier was fitted on {self.settings_.n_dims}"
            )
        return [
            self.predict_proba_features(self.features(cloud, self.settings_, own))
            if len(cloud)
            else np.empty((0, len(self.classes_)))
            for cloud, own in zip(points, found, strict=True)
        ]

    def predict(self, clouds: Sequence[Any], *, columns: Sequence[Columns] | None = None) -> list[NDArray]:
        """The label of every point.

        Parameters
        ----------
        clouds, columns : as of `predict_proba`

        Returns
        -------
        labels : list of (m_i,) arrays
        """
        return [
            self.classes_[shares.argmax(axis=1)] for shares in self.predict_proba(clouds, columns=columns)
        ]

    def score(self, clouds: Sequence[Any], labels: Sequence[Any], sample_weight: Any = None) -> float:  # noqa: ARG002
        """Mean intersection over union of the classes, over the points of all clouds.

        Parameters
        ----------
        clouds : sequence of (m_i, n) arrays, or of `Cloud`
        labels : sequence of (m_i,) arrays
        sample_weight : ignored

        Returns
        -------
        iou : float
        """
        from .scores import confusion, mean_iou

        found = np.concatenate(self.predict(clouds))
        true = np.concatenate([np.asarray(own) for own in labels])
        return mean_iou(confusion(true, found, self.classes_))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a folder: numbers as safetensors, the rest as JSON. Of "boosting" only.

        Parameters
        ----------
        folder : path-like
        notes : mapping, optional
            Kept with the model, as JSON.
        """
        from .saving import save_points

        check_is_fitted(self, "classes_")
        save_points(self, folder, notes or {})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """A model that `save` wrote. No code is run; a changed or mismatched file is a ValueError.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        model : HFSPointClassifier
        """
        from .saving import load_points

        return load_points(cls, folder)
