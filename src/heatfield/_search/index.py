"""`HFSIndex`: the clouds most like a given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import clone

from .._base.check import Array, as_clouds, check_choice, check_count
from .._features.descriptor import HFSDescriptor
from ..io import with_files_read
from .approximate import faiss
from .changing import Changing
from .finding import Finding
from .members import checked_members
from .sketch import sketch
from .space import METRICS, fit_space
from .state import METHODS, as_table, points_only


class HFSIndex(Changing, Finding):
    """An index of clouds by their heat field descriptors: build, add, remove, query, save, load.

    Descriptors are standardised as in `HFSClassifier`: gaps filled with the median, columns that vary by
    round-off only set to 0. What is added later is standardised by the same numbers.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    descriptor : str or HFSDescriptor
        A variant, or a descriptor with its own settings.
    metric : "euclidean", "cosine" or "learned"
        Distance of standardised descriptors; one minus the cosine of their angle; or distance of linear
        discriminants, which are learned from the labels that `build` is given.
    method : "exact", "approximate" or "auto"
        Compare with every cloud, or with those of some cells only (by faiss, the extra ``search``). Auto is
        approximate from 50,000 clouds on, where faiss is installed.
    recall : float
        Share of the ten nearest that the approximate index must find. It is measured when the index
        is built, on 200 of its own clouds, see ``recall_``.
    random_state : int
        Seed of the approximate index, and of samples for the standardisation of more than 50,000 clouds.
    n_jobs : int, optional
        Threads of the descriptor; its own number where not given.

    Attributes
    ----------
    names, labels : lists of the clouds' names and labels
    recall_ : float
        What the approximate index found of the ten nearest; 1 for an exact one.
    notes_ : dict
        What was saved with the index.

    Examples
    --------
    >>> import heatfield as hf
    >>> clouds, labels = hf.datasets.make_orbit5k(n_per_class=10, n_points=100)
    >>> index = hf.HFSIndex().build(clouds, labels=labels)
    >>> hits = index.query(clouds[:2], k=3)
    >>> hits.names[0][0], float(hits.distances[0, 0])
    ('0', 0.0)
    >>> len(index.remove(["0"]))
    49
    >>> more, _ = hf.datasets.make_orbit5k(n_per_class=1, n_points=100, random_state=1)
    >>> index.add(more, labels=range(5), names=list("abcde")).names[-1], index.sketch_of(-1).shape[1]
    ('e', 2)
    >>> round(index.evaluate().nearest, 1) > 0.2
    True
    >>> rows = index.descriptor_.transform(clouds)
    >>> quick = hf.HFSIndex().build_features(rows, n_dims=2)
    >>> quick = quick.add_features(rows, names=[f"again {i}" for i in range(50)])
    >>> quick.query_features(rows[:1], k=2).names[0]
    ['0', 'again 0']
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     index.save(f"{place}/orbits")
    ...     len(hf.HFSIndex.load(f"{place}/orbits"))
    54
    """

    def __init__(
        self,
        descriptor: str | HFSDescriptor = "joint",
        *,
        metric: str = "euclidean",
        method: str = "auto",
        recall: float = 0.95,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.descriptor = descriptor
        self.metric = metric
        self.method = method
        self.recall = recall
        self.random_state = random_state
        self.n_jobs = n_jobs

    def build(
        self, clouds: Sequence[ArrayLike], *, labels: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:  # fmt: skip
        """Describe clouds and index them, in the place of all that was in the index.

        Parameters
        ----------
        clouds : list of (m_i, n) arrays, or of paths, which are read
        labels : one per cloud, optional
            Words or numbers.
        names : one per cloud, optional
            By which clouds are found again and removed; their paths, or their numbers as words, otherwise.

        Returns
        -------
        self : HFSIndex
        """
        given, paths = with_files_read(clouds)
        checked = as_clouds(points_only(given))
        n_dims = checked[0].shape[1]
        features = self._new_descriptor(n_dims).fit_transform(checked)
        return self.build_features(
            features,
            n_dims=n_dims,
            labels=labels,
            names=paths if names is None else names,
            sketches=[sketch(c) for c in checked],
        )

    def build_features(
        self,
        features: ArrayLike,
        *,
        n_dims: int,
        labels: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        sketches: Sequence[Array | None] | None = None,
    ) -> Self:
        """Index descriptors that were computed before, with the same settings.

        Parameters
        ----------
        features : (N, columns)
        n_dims : int
            Dimension of the points.
        labels, names :
            See `build`.
        sketches : one (k, 2) array per cloud, optional
            For thumbnails: some points in the plane, in -1..1.

        Returns
        -------
        self : HFSIndex
        """
        check_choice(self.metric, "metric", METRICS)
        check_choice(self.method, "method", METHODS)
        check_count(self.random_state, "random_state", 0)
        if not isinstance(self.recall, (int, float)) or not 0.0 < self.recall < 1.0:
            raise ValueError(f"recall must lie between 0 and 1, got {self.recall!r}")
        if self.method == "approximate":
            faiss()  # before the work, not after it
        descriptor = self._new_descriptor(n_dims)
        table = as_table(features, descriptor)
        members = checked_members(len(table), labels, names, sketches)
        space = fit_space(table, members.classes(), descriptor, self.metric, self.random_state)
        rows = space.standardise(table, quiet=False)
        self._set(descriptor, space, rows, members)
        self.cells_ = self._new_cells()
        return self

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the index as a folder of safetensors and JSON; loading it runs no code.

        Parameters
        ----------
        folder : path-like
            New, empty, or an index that is replaced.
        notes : dict, optional
            Anything that JSON can hold; it comes back as ``notes_``.
        """
        from .saving import save_index

        self._check_built()
        save_index(self, folder, self.notes_ if notes is None else notes)

    @classmethod
    def load(cls, folder: str | Path) -> HFSIndex:
        """An index that was saved.

        Parameters
        ----------
        folder : path-like

        Returns
        -------
        index : HFSIndex
        """
        from .saving import load_index

        return load_index(cls, folder)

    def _new_descriptor(self, n_dims: int) -> HFSDescriptor:
        if isinstance(self.descriptor, HFSDescriptor):
            made = clone(self.descriptor)
        elif isinstance(self.descriptor, str):
            made = HFSDescriptor(self.descriptor)
        else:
            raise ValueError(
                f"descriptor must be the name of a variant or an HFSDescriptor, got {self.descriptor!r}"
            )
        if self.n_jobs is not None:
            made.set_params(n_jobs=self.n_jobs)
        return made._fit_dims(check_count(n_dims, "n_dims", 1))
