"""Classifiers by multiparameter persistence: the bifiltration of a cloud, a vector of it, boosted trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin

from heatfield._base.check import Array, thread_count
from heatfield._base.threads import pieces, run_pieces
from heatfield.options import Threads, check_options, count, number, option, options

from .._tools import compiled, need
from .bifiltration import Bifiltration, fit_frame, sliced
from .registry import BaselineClassifier, baseline
from .worms import worm_widths

# More would be a slip: every cloud has so many, and the trees look at each.
MOST_FEATURES = 1_000_000


def _degrees(value: Any, name: str) -> tuple[int, ...]:
    """Degrees of homology, each once."""
    found = tuple(value) if isinstance(value, Sequence) else ()
    if (
        not found
        or len({*found}) != len(found)
        or any(type(d) is not int or d not in range(3) for d in found)
    ):
        raise ValueError(f"{name} must be some of 0, 1 and 2, each once, got {value!r}")
    return found


@options
class PersistenceEstimator(Threads, BaselineClassifier):
    """Fixes a frame on the training clouds (`_fit_frame`), and works on the bifiltrations in it."""

    family = group = "persistence"
    smoke: ClassVar = {"n_estimators": 5}

    degrees: Sequence[int] = option("Degrees of homology, of 0, 1 and 2.", _degrees, default=(0, 1))
    bandwidth: float | None = option(
        "Of the Gaussian codensity, in units of the points; by default a tenth of the side of the bounding"
        " box (the largest side of each training cloud, the median of them).",
        number(above=0),
        default=None,
    )
    max_radius: float | None = option(
        "Where the radius ends; by default the median over the training clouds of the radius below which"
        " 95 % of the simplices of the highest dimension lie.",
        number(above=0),
        default=None,
    )
    random_state: int | None = option("Seed of the classifier.", count(0), default=0)
    progress: bool | None = option("False for no progress bar.", default=None)

    def _check(self, n_dims: int) -> None:
        """A ValueError where the options are wrong; nothing is computed."""
        check_options(self)
        if n_dims > 3:
            raise ValueError(f"{type(self).__name__} is for points of up to 3 coordinates, got {n_dims}")

    def _fit_frame(self, clouds: list[Array]) -> None:
        self.frame_ = fit_frame(self, clouds, thread_count(self.n_jobs), self._bar())

    def _of_each(self, clouds: list[Array], work: Callable[[Any], Any]) -> list[Any]:
        """What ``work`` makes of the bifiltration of each cloud, on all threads; an error names its cloud."""
        found: list[Any] = [None] * len(clouds)

        def piece(first: int, last: int) -> None:
            for i in range(first, last):
                with _named(i):
                    found[i] = work(self.frame_.bifiltration(clouds[i]))

        run_pieces(piece, pieces(len(clouds), 1), thread_count(self.n_jobs), self._bar())
        return found

    def _bar(self) -> str | None:
        return None if self.progress is False else "clouds"


@contextmanager
def _named(i: int) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"clouds[{i}] {error}") from None


@options
class PersistenceClassifier(TransformerMixin, PersistenceEstimator):
    """Bifiltration of a cloud -> vector (a subclass says which) -> gradient-boosted trees."""

    n_estimators: int = option("Rounds of XGBoost, with its defaults.", count(1), default=100)
    resolution: int = option("Nodes of the regular grid in each direction.", count(2), default=50)

    def _width(self) -> int:
        """How many features there are for each degree."""
        return self.resolution**2

    def _vector(self, complex_: Bifiltration) -> Array:
        """The features of one bifiltration, whose values run from 0 to 1."""
        raise NotImplementedError

    def _check(self, n_dims: int) -> None:
        super()._check(n_dims)
        if (width := len(self.degrees) * self._width()) > MOST_FEATURES:
            raise ValueError(
                f"the options make {width} features per cloud, at most {MOST_FEATURES}: lower resolution"
            )

    def _learn(self, clouds: list[Array], labels: NDArray[np.int64], n_classes: int) -> None:
        self._check(clouds[0].shape[1])  # what is wrong is said before the long work
        xgboost, threads = need("xgboost", type(self).__name__), thread_count(self.n_jobs)
        self._fit_frame(clouds)
        asked = {
            "objective": "multi:softprob", "num_class": n_classes, "tree_method": "hist", "verbosity": 0,
            "max_depth": 6, "learning_rate": 0.3, "seed": self.random_state or 0, "nthread": threads,
        }  # fmt: skip
        table = xgboost.DMatrix(self._inputs(clouds).astype(np.float32), labels, nthread=threads)
        self.booster_ = xgboost.train(asked, table, num_boost_round=self.n_estimators)

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """The features of each cloud, on the grid that was fixed by `fit`.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)

        Returns
        -------
        features : (N, features)
        """
        return self._checked_inputs(clouds)

    def _inputs(self, clouds: list[Array]) -> Array:
        return np.stack(self._of_each(clouds, self._vector))

    def _probabilities(self, inputs: Array) -> Array:
        table = need("xgboost", type(self).__name__).DMatrix(inputs.astype(np.float32))
        return self.booster_.predict(table).astype(np.float64)


@baseline(
    "MP-I", recipe="Carrière and Blumberg 2020; by multipers", order=11, cost=200.0, needs="persistence",
    published={"persistence": "64.1 66.0"},
)  # fmt: skip
@options
class MPImage(PersistenceClassifier):
    """Classify clouds by multiparameter persistence images (Carrière and Blumberg 2020), with XGBoost.

    The module of homology over the box of the training set is approximated by a sum of interval modules
    (the candidate decomposition of multipers: barcodes along parallel lines, matched from line to line). An
    interval I weighs w(I), the largest e with a point x so that x and x + (e, e) are both in I (and in the
    box), and the image at x is the sum over all I of w(I) exp(-d(x, I)^2 / (2 s^2)), d being the
    distance by the larger coordinate. The published images match the lines by vineyards, multipers by its
    own rule: the same kind of decomposition, not the identical one.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : the labels
    frame_ : bandwidth, largest radius and range of codensity, as fixed on the training clouds
    booster_ : the trees of XGBoost

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> model = hb.baselines.MPImage(resolution=8, n_estimators=5)
    >>> model.fit(clouds, labels).transform(clouds[:2]).shape, model.predict(clouds[:2]).shape
    ((2, 128), (2,))
    """

    smoothing: float = option("s, in sides of the box.", number(above=0), default=0.05)

    def _vector(self, complex_: Bifiltration) -> Array:
        found = np.zeros((len(self.degrees), self.resolution, self.resolution))
        if len(complex_.simplices[0]):
            module = candidate_decomposition(complex_, 0.02)
            grid = [np.linspace(0.0, 1.0, self.resolution)] * 2
            found[:] = module.representation(
                degrees=list(self.degrees), bandwidth=self.smoothing, p=1.0, grid=grid,
                kernel="gaussian", normalize=False, n_jobs=1,
            )  # fmt: skip
        return found.ravel()


def candidate_decomposition(complex_: Bifiltration, max_error: float) -> Any:
    """Interval modules over the unit square that approximate the homology, by multipers."""
    multipers = need("multipers", "MPImage")
    tree = need("multipers.simplex_tree_multi", "MPImage").SimplexTreeMulti(num_parameters=2)
    for cells, *values in zip(complex_.simplices, complex_.radius, complex_.codensity, strict=True):
        if len(cells):
            tree.insert_batch(cells.T.astype(np.int32), np.stack(values, axis=1))
    box = np.array([[0.0, 0.0], [1.0, 1.0]])
    return multipers.module_approximation(tree, box=box, max_error=max_error, n_jobs=1)


@baseline(
    "MP-L", recipe="Vipond 2020; own implementation", order=12, cost=200.0, needs="persistence",
    published={"persistence": "37.2 50.2"},
)  # fmt: skip
@options
class MPLandscape(PersistenceClassifier):
    """Classify clouds by multiparameter persistence landscapes (Vipond 2020), with XGBoost.

    Guide: ``heatfield docs guide/baselines_persistence``.

    With both values from 0 to 1 over the box of the training set, the k-th landscape at x is the largest e
    for which the map of homology from x - (e, e) to x + (e, e) has rank at least k. All these maps lie on
    the diagonal through x: the landscape there is the ordinary persistence landscape of the filtration
    along this line, in which a simplex enters at the first point of the line that is beyond both of its
    values. One reduction per diagonal of the grid gives it exactly. Bars that do not end within the box do
    not end at all.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> hb.baselines.MPLandscape(resolution=6, n_estimators=5).fit_transform(clouds, labels).shape
    (16, 360)
    """

    resolution: int = option("Nodes of the regular grid in each direction.", count(2), default=25)
    n_landscapes: int = option("The largest k.", count(1), default=5)

    def _width(self) -> int:
        return self.n_landscapes * super()._width()

    def _vector(self, complex_: Bifiltration) -> Array:
        tables = [landscapes(complex_, d, self.resolution, self.n_landscapes) for d in self.degrees]
        return np.stack(tables).ravel()


def landscapes(complex_: Bifiltration, degree: int, resolution: int, count: int) -> Array:
    """(k, codensity, radius): the first ``count`` landscapes at the nodes of the regular grid on the box."""
    out = np.zeros((count, resolution, resolution))
    nodes = np.linspace(0.0, 1.0, resolution)
    level = tuple(np.zeros(len(c)) for c in complex_.codensity)
    for shift in range(1 - resolution, resolution):
        # The line of points (t, t + shift): a node of radius t has the codensity t + shift.
        offset = shift / (resolution - 1)
        pairs = zip(complex_.radius, complex_.codensity, strict=True)
        line = complex_.with_values(tuple(np.maximum(r, c - offset) for r, c in pairs), level)
        bars = sliced(line, degree, np.zeros(1))
        radii = np.arange(max(0, -shift), min(resolution, resolution - shift))
        values = np.zeros((len(radii), count))
        _tents(bars.birth, bars.death, nodes[radii], values)
        out[:, radii + shift, radii] = values.T
    return out


@compiled
def _tents(birth: Any, death: Any, places: Any, largest: Any) -> None:
    """The largest heights at each place of the tents over the bars, from the largest on."""
    count = largest.shape[1]
    for b in range(birth.shape[0]):
        for i in range(places.shape[0]):
            height = min(places[i] - birth[b], death[b] - places[i])
            if height <= largest[i, count - 1]:
                continue
            k = count - 1
            while k > 0 and largest[i, k - 1] < height:
                largest[i, k] = largest[i, k - 1]
                k -= 1
            largest[i, k] = height


@baseline(
    "MP-HSM-C", recipe="Loiseaux et al. 2023; own implementation", order=14, cost=100.0, needs="persistence",
    published={"persistence": "57.0 70.7"},
)  # fmt: skip
# Loops alone: how much the components, and with them the number of points, contribute.
@baseline(
    "MP-HSM-C, degree 1", recipe="as MP-HSM-C", order=15, cost=100.0, needs="persistence",
    options={"degrees": [1]},
)  # fmt: skip
@options
class MPSignedMeasure(PersistenceClassifier):
    """Classify clouds by the signed measure of the Hilbert function (Loiseaux et al. 2023), with XGBoost.

    The dimension of homology at (radius, codensity) is a function on the plane; it is the distribution
    function of a signed measure of point masses. On a regular grid over the box of the training set the
    masses are the mixed differences of the function at the nodes; they are smoothed by a Gaussian, and the
    values at the nodes are the features, degree by degree. Masses are not normalised, and none are added to
    close classes that live on beyond the box.

    Guide: ``heatfield docs guide/baselines_persistence``.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> hb.baselines.MPSignedMeasure(resolution=8, n_estimators=5).fit_transform(clouds, labels).shape
    (16, 128)
    """

    smoothing: float = option(
        "Standard deviation of the Gaussian, in sides of the box.", number(above=0), default=0.05
    )

    def _vector(self, complex_: Bifiltration) -> Array:
        nodes = np.linspace(0.0, 1.0, self.resolution)
        kernel = np.exp((nodes[:, None] - nodes) ** 2 / (-2.0 * self.smoothing**2))
        masses = [signed_measure(complex_, degree, nodes) for degree in self.degrees]
        # Along each axis in turn: a Gaussian of the distance is a product.
        return np.stack([kernel @ mass @ kernel for mass in masses]).ravel()


def signed_measure(complex_: Bifiltration, degree: int, nodes: Array) -> Array:
    """Point masses (codensity, radius) at the nodes of a grid, whose sums are the Hilbert function there."""
    found = sliced(complex_, degree, nodes)
    owner = np.repeat(np.arange(len(nodes)), np.diff(found.starts))
    steps = np.zeros((len(nodes), len(nodes) + 1))  # along the radius, in each slice
    np.add.at(steps, (owner, np.searchsorted(nodes, found.birth)), 1.0)
    np.add.at(steps, (owner, np.searchsorted(nodes, found.death)), -1.0)
    return np.diff(steps[:, :-1], axis=0, prepend=0.0)


@baseline(
    "GRIL", recipe="Xin et al. 2023; own implementation, not checked against theirs", order=13,
    cost=800.0, needs="persistence", published={"persistence": "74.9 61.1"},
)  # fmt: skip
@options
class GRIL(PersistenceClassifier):
    """Classify clouds by generalised rank invariant landscapes (Xin et al. 2023), with XGBoost.

    Guide: ``heatfield docs guide/baselines_persistence``.

    The l-worm of width d at a point p of the plane of (radius, codensity) is the union of the squares of
    half-side d about the points p + a (1, -1), |a| <= (l - 1) d. The landscape at (p, k) is the largest d for
    which the generalised rank of homology over the worm, the rank of the map from limit to colimit, is at
    least k. Here points, widths and squares are those of a regular grid over the box of the training set, and
    the module is that of the grid. Widths are given in sides of the box.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> import heatfield as hf
    >>> import heatfield_bench as hb
    >>> clouds, labels = hf.datasets.make_processes(n_per_class=4, strauss_steps=4000)
    >>> hb.baselines.GRIL(resolution=6, n_estimators=5).fit_transform(clouds, labels).shape
    (16, 360)
    """

    # Some 1,500 points make as many components, of which it would compare all with all.
    many_points: ClassVar = {"degrees": [1]}

    resolution: int = option("Nodes of the regular grid in each direction.", count(2), default=32)
    length: int = option("l, of the worms; 1 is squares alone.", count(1), default=2)
    n_ranks: int = option("The largest k.", count(1), default=5)

    def _width(self) -> int:
        return self.n_ranks * super()._width()

    def _vector(self, complex_: Bifiltration) -> Array:
        tables = [
            worm_widths(complex_, degree, self.resolution, self.length, self.n_ranks)
            for degree in self.degrees
        ]
        return np.stack(tables).ravel() / (self.resolution - 1)
