"""`HFSDescriptor`: a list of clouds in, a table of closed-form features out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import (
    Array,
    HeatFieldWarning,
    as_clouds,
    check_choice,
    check_count,
    check_dtype,
    check_range,
    check_tol,
    thread_count,
)
from .._base.threads import even_pieces, run_pieces
from .._signatures.signatures import check_hds
from .._sums.choose import surely_dense
from .._sums.dense import one_blas_thread
from .describe import Recipe, describe_cloud
from .layout import VARIANT_BLOCKS, Layout, layout


class HFSDescriptor(TransformerMixin, BaseEstimator):
    """Closed-form heat field descriptors of clouds of any size: a scikit-learn transformer.

    Parameters
    ----------
    variant : "simple", "desc" or "joint"
        The paper's HFS-simple (216 numbers in 3-D with 8 scales) and HFS-desc (336, with
        the log-Hessian spectrum), or a richer pooling that also keeps how the
        signatures vary together across channels, scales and neighbourhoods (744).
    n_scales, c_min, c_max :
        The scale schedule of every cloud, see `scale_schedule`.
    transition : "difference", "exact" or None
        See `signatures`. None is the variant's own: "difference" for simple and desc as
        in the paper, "exact" for joint.
    blocks : sequence of str, optional
        Only these of "global", "hds", "density", "dimension", "transition", "spectrum"
        and, for joint, "gradient", "correlation", "coupling", "neighbourhood". The
        default is all of the variant's. What no chosen block needs is not computed.
    hds_centers, hds_sigma :
        Centres (default 0..n) and width of the heat dimension spectrum.
    n_dims : int, optional
        Dimension of the points. Learnt by `fit`; only needed to ask for feature names
        before it, which are otherwise those of points in space.
    method : "auto", "dense" or "fast"
        See `signatures`. Auto takes the fast path for large clouds only, where that is cheaper.
    tol : float, optional
        What the fast path promises, see `signatures`; default 1e-8, in single precision 1e-5. Pooled, the
        errors of the points do not grow. Correlations divide them by the spread of the channels, and are NaN
        where that is below 100 tol. The neighbourhood block has its square to 16 tol of the range squared.
    dtype : "float64" or "float32"
        See `signatures`.
    n_jobs : int
        Threads over the clouds, and within a large one over its points; -1 for all cores.

    Notes
    -----
    A cloud of fewer than two distinct points has no scale schedule: its row is NaN,
    with a warning that names it. Correlations with a channel that does not vary over the
    points are NaN too. `HFSClassifier` fills such gaps from the training set.

    Examples
    --------
    >>> import numpy as np, heatfield as hf
    >>> rng = np.random.default_rng(0)
    >>> clouds = [rng.normal(size=(m, 3)) for m in (40, 50, 60)]
    >>> hf.HFSDescriptor("desc").fit_transform(clouds).shape
    (3, 336)
    >>> hf.HFSDescriptor("desc").get_feature_names_out()[-1]
    'spectrum_3_p90_s7'
    """

    def __init__(
        self,
        variant: str = "desc",
        *,
        n_scales: int = 8,
        c_min: float = 0.05,
        c_max: float = 0.25,
        transition: str | None = None,
        blocks: Sequence[str] | None = None,
        hds_centers: ArrayLike | None = None,
        hds_sigma: float = 0.5,
        n_dims: int | None = None,
        method: str = "auto",
        tol: float | None = None,
        dtype: str = "float64",
        n_jobs: int | None = 1,
    ) -> None:
        self.variant = variant
        self.n_scales = n_scales
        self.c_min = c_min
        self.c_max = c_max
        self.transition = transition
        self.blocks = blocks
        self.hds_centers = hds_centers
        self.hds_sigma = hds_sigma
        self.n_dims = n_dims
        self.method = method
        self.tol = tol
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, clouds: Sequence[ArrayLike], y: Any = None) -> HFSDescriptor:  # noqa: ARG002
        """Check the parameters and learn the dimension of the points; there is nothing else to learn."""
        n = as_clouds(clouds)[0].shape[1]
        if self.n_dims is not None and self.n_dims != n:
            raise ValueError(
                f"clouds[0] has {n} coordinates a point, but n_dims={self.n_dims!r} was asked for"
            )
        self._recipe(n)
        thread_count(self.n_jobs)
        self.n_dims_ = n
        return self

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Any = None, **params: Any) -> Any:  # noqa: ARG002
        """`fit` and `transform`, checking the clouds once."""
        return self.fit(clouds).transform(clouds)

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """Descriptors (N, columns) of N clouds."""
        check_is_fitted(self, "n_dims_")
        checked = as_clouds(clouds)
        if checked[0].shape[1] != self.n_dims_:
            raise ValueError(
                f"clouds[0] has {checked[0].shape[1]} coordinates a point, "
                f"but the descriptor was fitted on {self.n_dims_}"
            )
        return self._compute(checked)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Names that explain themselves: block, statistic, scale, as in ``dimension_p90_s3``."""
        return np.array(self.layout().names, dtype=object)

    def layout(self) -> Layout:
        """The columns: their names, and those of each block."""
        n = getattr(self, "n_dims_", None) or self.n_dims or 3
        return self._recipe(check_count(n, "n_dims", 1)).columns

    def _recipe(self, n: int) -> Recipe:
        """The parameters, checked."""
        variant = check_choice(self.variant, "variant", tuple(VARIANT_BLOCKS))
        transition = self.transition or ("exact" if variant == "joint" else "difference")
        check_choice(transition, "transition", ("difference", "exact"))
        precision = check_dtype(self.dtype)
        n_scales = check_count(self.n_scales, "n_scales", 2)
        c_min, c_max = check_range(self.c_min, self.c_max)
        centers, sigma = check_hds(self.hds_centers, self.hds_sigma, n)
        return Recipe(
            columns=layout(variant, chosen_blocks(variant, self.blocks), n, n_scales, centers),
            n_scales=n_scales,
            c_min=c_min,
            c_max=c_max,
            joint=variant == "joint",
            exact=transition == "exact",
            centers=centers,
            sigma=sigma,
            method=check_choice(self.method, "method", ("auto", "dense", "fast")),
            tol=check_tol(self.tol, precision),
            dtype=precision,
        )

    def _compute(self, clouds: list[Array]) -> Array:
        recipe = self._recipe(self.n_dims_)
        out = np.empty((len(clouds), recipe.columns.width))

        n_threads = thread_count(self.n_jobs)
        # Clouds that may take the fast path get all threads, one after the other: their memory is O(m T).
        small = [i for i, c in enumerate(clouds) if surely_dense(recipe.method, *c.shape)]
        large = sorted(set(range(len(clouds))) - set(small))

        def work(first: int, last: int) -> None:
            for i in small[first:last]:
                describe_cloud(clouds[i], recipe, out[i])

        with one_blas_thread(self.n_dims_):
            ranges = even_pieces([clouds[i].shape[0] for i in small])
            run_pieces(work, ranges, n_threads, progress="clouds")
            for i in large:
                describe_cloud(clouds[i], recipe, out[i], n_threads)
        empty = np.flatnonzero(np.isnan(out).all(axis=1))
        if empty.size:
            shown = ", ".join(map(str, empty[:10])) + (", ..." if empty.size > 10 else "")
            warnings.warn(
                f"{empty.size} of {len(clouds)} clouds have fewer than two distinct points, "
                f"so their descriptors are NaN: clouds {shown}",
                HeatFieldWarning,
                stacklevel=4,
            )
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A list of clouds is neither a 2-D array nor free of gaps.
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags


def chosen_blocks(variant: str, blocks: Iterable[str] | None) -> tuple[str, ...]:
    """The blocks asked for, checked against those of the variant."""
    known = VARIANT_BLOCKS[variant]
    if blocks is None:
        return known
    if isinstance(blocks, str):
        raise ValueError(f"blocks must be a sequence of names, got the string {blocks!r}; pass ({blocks!r},)")
    chosen = tuple(blocks)
    unknown = [b for b in chosen if b not in known]
    if unknown or not chosen:
        raise ValueError(
            f"blocks must be some of {', '.join(map(repr, known))} for variant={variant!r}, got {chosen!r}"
        )
    return chosen
