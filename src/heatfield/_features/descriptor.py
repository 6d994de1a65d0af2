"""`HFSDescriptor`: a list of clouds in, a table of closed-form features out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._base.check import Array, as_clouds, thread_count
from .cloud_input import CloudEstimator, check_same_dims
from .describe import describe_clouds
from .layout import Layout
from .schedule import warn_of_empty
from .settings import DescriptorSettings, options_of


class HFSDescriptor(TransformerMixin, CloudEstimator):
    """Closed-form heat field descriptors of clouds of any size: a scikit-learn transformer.

    Guide: ``heatfield docs guide/describe``.

    Parameters
    ----------
    variant : "simple", "desc" or "joint"
        The paper's HFS-simple (216 numbers in 3-D with 8 scales) and HFS-desc (336, with
        the log-Hessian spectrum), or a richer pooling that also keeps how the
        signatures vary together across channels, scales and neighbourhoods (744).
    n_scales, c_min, c_max :
        The scale schedule of every cloud, see `scale_schedule`.
    lengths : sequence of float, optional
        Instead: the same lengths sqrt(t) for all clouds, in the unit of the points. The schedule's options
        then do not count.
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
        errors of the points do not grow. Correlations divide them by the standard deviation of the channels,
        and are NaN where that is below 100 tol. The neighbourhood block has its square to
        16 tol of the range squared.
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
    >>> descriptor = hf.HFSDescriptor("joint", blocks=["hds", "gradient"]).fit(clouds)
    >>> descriptor.transform(clouds[:1]).shape, descriptor.layout().columns["gradient"]
    ((1, 104), slice(64, 104, None))
    """

    def __init__(
        self,
        variant: str = "desc",
        *,
        n_scales: int = 8,
        c_min: float = 0.05,
        c_max: float = 0.25,
        lengths: Sequence[float] | None = None,
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
        self.lengths = lengths
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
        """Check the parameters and learn the dimension of the points; there is nothing else to learn.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
        y : ignored

        Returns
        -------
        self : HFSDescriptor
        """
        return self._fit_dims(as_clouds(clouds)[0].shape[1])

    def _fit_dims(self, n: int) -> HFSDescriptor:
        """`fit` where the dimension of the points is known: nothing else is learnt from clouds."""
        if self.n_dims is not None and self.n_dims != n:
            raise ValueError(
                f"clouds[0] has {n} coordinates per point, but n_dims={self.n_dims!r} was asked for"
            )
        self._settings(n)
        self.n_dims_ = n
        return self

    def fit_transform(self, clouds: Sequence[ArrayLike], y: Any = None, **params: Any) -> Any:  # noqa: ARG002
        """`fit` and `transform`, checking the clouds once.

        Parameters
        ----------
        clouds, y, **params : as of `fit`; only the clouds count

        Returns
        -------
        features : (N, columns)
        """
        checked = as_clouds(clouds)
        return self._fit_dims(checked[0].shape[1])._compute(checked)

    def transform(self, clouds: Sequence[ArrayLike]) -> Array:
        """Descriptors of N clouds.

        Parameters
        ----------
        clouds : sequence of array_like (m_i, n)
            Of the dimension that `fit` met.

        Returns
        -------
        features : (N, columns)
        """
        check_is_fitted(self, "n_dims_")
        return self._compute(as_clouds(clouds))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """Names of block, statistic and scale, as in ``dimension_p90_s3``.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : (columns,) array of str
        """
        return np.array(self.layout().names, dtype=object)

    def layout(self) -> Layout:
        """The columns: their names, and those of each block.

        Returns
        -------
        layout : Layout
            With ``names``, ``columns`` (a slice by block) and ``width``.
        """
        n = getattr(self, "n_dims_", None) or self.n_dims or 3
        return self._settings(n).columns

    def _settings(self, n: int) -> DescriptorSettings:
        """The parameters, checked."""
        return DescriptorSettings(n, variant=self.variant, **options_of(self))

    def _compute(self, clouds: list[Array], n_jobs: Any = "own", *, extents: Array | None = None) -> Array:
        """`transform` of clouds that were checked before, by the descriptor's own ``n_jobs`` or another.

        ``extents`` (N, 2), if given, gets the mean spacing and the diameter of each cloud.
        """
        check_same_dims(clouds, self.n_dims_, "the descriptor")
        settings = self._settings(self.n_dims_)
        n_threads = settings.n_threads if n_jobs == "own" else thread_count(n_jobs)
        out = describe_clouds(clouds, settings, extents, n_threads=n_threads)
        warn_of_empty(out, "their descriptors are NaN")
        return out
