"""`HFSIndex`: the clouds most like a given one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._base.check import Array, as_clouds, check_choice, check_count
from .._base.summary import Summarised, Summary, plural, shown
from .._features.cloud_input import check_same_dims
from .._features.descriptor import HFSDescriptor
from .approximate import Cells, faiss
from .evaluation import RetrievalScores, across_folds, leave_one_out
from .exact import nearest
from .hits import Hits, block_differences
from .members import Members, checked_members
from .sketch import sketch
from .space import METRICS, Rows, Space, fit_space

METHODS = ("auto", "exact", "approximate")
# From so many rows on, "auto" takes the approximate index where faiss is installed.
MANY = 50_000


class HFSIndex(Summarised):
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

    # Set by `build` and `load`.
    descriptor_: HFSDescriptor
    space_: Space
    rows_: Rows  # standardised
    places_: Rows  # their places in the metric
    members_: Members
    cells_: Cells | None
    notes_: dict[str, Any]

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
        clouds : list of (m_i, n) arrays
        labels : one per cloud, optional
            Words or numbers.
        names : one per cloud, optional
            By which clouds are found again and removed; their numbers as words otherwise.

        Returns
        -------
        self : HFSIndex
        """
        checked = as_clouds(clouds)
        n_dims = checked[0].shape[1]
        features = self._new_descriptor(n_dims).fit_transform(checked)
        return self.build_features(
            features, n_dims=n_dims, labels=labels, names=names, sketches=[sketch(c) for c in checked]
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
        table = _table(features, descriptor)
        members = checked_members(len(table), labels, names, sketches)
        space = fit_space(table, members.classes(), descriptor, self.metric, self.random_state)
        rows = space.standardise(table, quiet=False)
        self._set(descriptor, space, rows, members)
        self.cells_ = self._new_cells()
        return self

    def add(
        self, clouds: Sequence[ArrayLike], *, labels: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:  # fmt: skip
        """Describe more clouds and add them; those with a name that is in the index are refused.

        Parameters
        ----------
        clouds, labels, names : as of `build`

        Returns
        -------
        self : HFSIndex
        """
        checked = self._expected(clouds)
        sketches = [sketch(c) for c in checked]
        return self.add_features(
            self.descriptor_.transform(checked), labels=labels, names=names, sketches=sketches
        )

    def add_features(
        self,
        features: ArrayLike,
        *,
        labels: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        sketches: Sequence[Array | None] | None = None,
    ) -> Self:
        """Add descriptors that were computed before.

        Their columns are those of the index, in the same order.

        Parameters
        ----------
        features, labels, names, sketches : as of `build_features`

        Returns
        -------
        self : HFSIndex
        """
        self._check_built()
        table = _table(features, self.descriptor_)
        more = checked_members(len(table), labels, names, sketches, start=self.members_.next_number())
        members = self.members_.with_more(more)  # before anything changes: a name may be taken
        rows = self.space_.standardise(table)
        self.members_ = members
        self.rows_ = np.concatenate([self.rows_, rows])
        if self.cells_ is not None:
            self.cells_.add(self.space_.places(rows))
        self._refresh()
        if self.cells_ is None:
            self.cells_ = self._new_cells()  # there may be many now
        return self

    def remove(self, names: Iterable[str]) -> Self:
        """Remove clouds by their names; at least one must stay.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        self : HFSIndex
        """
        self._check_built()
        keep = self.members_.without(names)
        self.members_ = self.members_.chosen(keep)
        self.rows_ = self.rows_[keep]
        self._refresh()
        if self.cells_ is not None:
            self.cells_ = self.cells_.without(keep, self.places_)
        return self

    def query(self, clouds: Sequence[ArrayLike], k: int = 10) -> Hits:
        """The k nearest clouds of each of these, nearest first; a cloud that is in the index finds itself.

        Parameters
        ----------
        clouds : list of (m_i, n) arrays
        k : int
            How many; fewer where the index has fewer.

        Returns
        -------
        hits : Hits
        """
        checked = self._expected(clouds)
        return self.query_features(self.descriptor_.transform(checked), k)

    def query_features(self, features: ArrayLike, k: int = 10) -> Hits:
        """`query` of descriptors that were computed before.

        Parameters
        ----------
        features : (q, columns)
        k : int

        Returns
        -------
        hits : Hits
        """
        self._check_built()
        k = min(check_count(k, "k", 1), len(self))
        rows = self.space_.standardise(_table(features, self.descriptor_))
        queries = self.space_.places(rows)
        search = nearest if self.cells_ is None else self.cells_.nearest
        found, squared = search(queries, self.places_, k)
        columns = self.descriptor_.layout().columns
        differences = np.empty((len(rows), k, len(columns)))
        for i in range(len(rows)):  # one by one: the rows of all hits may not fit into memory
            differences[i : i + 1] = block_differences(
                rows[i : i + 1], self.rows_[found[i]][None], columns, self.space_.constant
            )
        members = self.members_
        return Hits(
            found,
            [[members.names[j] for j in row] for row in found],
            [[members.labels[j] for j in row] for row in found],
            self.space_.distances(squared),
            tuple(columns),
            differences,
        )

    def evaluate(self, *, folds: int = 5, most: int = 2000) -> RetrievalScores:
        """How well clouds find others of their class, by exact search.

        Every cloud is sought among all others. With a learned metric, which has seen the labels, each of
        ``folds`` parts is sought among the others in a space that was learned from these alone.

        Parameters
        ----------
        folds : int
        most : int
            Of more clouds than these, so many are drawn at random as queries.

        Returns
        -------
        scores : RetrievalScores
        """
        self._check_built()
        labels = self.members_.classes()
        if labels is None:
            raise ValueError("an index without labels cannot be evaluated; give labels to build()")
        check_count(most, "most", 1)
        if self.metric == "learned":

            def fit(rows: NDArray, known: NDArray) -> Space:
                return fit_space(rows, known, self.descriptor_, "learned", self.random_state)

            return across_folds(self.rows_, labels, fit, folds, self.random_state)
        drawn = np.random.default_rng(self.random_state).permutation(len(self))[:most]
        return leave_one_out(self.places_, labels, np.sort(drawn))

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

    @property
    def names(self) -> list[str]:
        """Names of the clouds, in order."""
        self._check_built()
        return list(self.members_.names)

    @property
    def labels(self) -> list[Any]:
        """Labels of the clouds, None where there is none."""
        self._check_built()
        return list(self.members_.labels)

    @property
    def recall_(self) -> float:
        """Share of the ten nearest that is found, as measured when the index was built."""
        self._check_built()
        return 1.0 if self.cells_ is None else self.cells_.recall

    def sketch_of(self, row: int) -> NDArray[np.uint8] | None:
        """The thumbnail of a cloud: points (k, 2), one byte per coordinate; None where there is none.

        Parameters
        ----------
        row : int
            The cloud's place in ``names``.

        Returns
        -------
        points : (k, 2) or None
        """
        return self.members_.sketches[row]

    def __len__(self) -> int:
        return len(self.rows_) if hasattr(self, "rows_") else 0

    def __bool__(self) -> bool:
        return True  # an index that is not built yet is one too

    def _check_built(self) -> None:
        if not hasattr(self, "rows_"):
            raise ValueError("the index is empty: call build() first")

    def _summary(self) -> Summary:
        if not len(self):
            return Summary("HFSIndex, not built yet")
        labels = self.members_.classes()
        classes = [] if labels is None else np.unique(labels).tolist()
        how = "exact"
        if self.cells_ is not None:
            how = (
                f"approximate: {self.cells_.probes} of {len(self.cells_.centres)} cells are looked into, "
                f"recall at 10 {self.recall_:.3f}"
            )
        lines: list[tuple[str, str | list[str]]] = [
            ("descriptor", f"{self.descriptor_.variant}, {self.rows_.shape[1]} numbers"),
            ("metric", self.metric),
            ("search", how),
            ("classes", f"{len(classes)}: {shown(map(str, classes))}" if classes else "none"),
        ]
        return Summary(f"HFSIndex of {plural(len(self), 'cloud')}", lines)

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

    def _expected(self, clouds: Sequence[ArrayLike]) -> list[Array]:
        self._check_built()
        checked = as_clouds(clouds)
        check_same_dims(checked, self.descriptor_.n_dims_, "the index")
        return checked

    def _set(self, descriptor: HFSDescriptor, space: Space, rows: Rows, members: Members) -> None:
        self.descriptor_, self.space_, self.rows_, self.members_ = descriptor, space, rows, members
        self.notes_, self.cells_ = {}, None
        self._refresh()

    def _refresh(self) -> None:
        """The places of all rows; the same array where the metric is Euclidean."""
        self.places_ = self.space_.places(self.rows_)

    def _new_cells(self) -> Cells | None:
        many = len(self) >= MANY and find_spec("faiss") is not None
        if self.method == "exact" or (self.method == "auto" and not many):
            return None
        return Cells.build(self.places_, float(self.recall), int(self.random_state), quiet=False)


def _table(features: ArrayLike, descriptor: HFSDescriptor) -> NDArray:
    """Descriptors (N, columns) that fit, as they are: a table in a file is not read here."""
    table = np.asanyarray(features)
    width = descriptor.layout().width
    if table.dtype.kind not in "fiu" or table.ndim != 2 or table.shape[1] != width or len(table) == 0:
        raise ValueError(
            f"features must be numbers of shape (N, {width}) for this descriptor, "
            f"got {table.dtype} of shape {table.shape}"
        )
    return table
