"""`HFSIndex`: the clouds most like a given one.

Descriptors are standardised, then compared. Every metric is the Euclidean distance of some vectors: of
the standardised rows themselves, of the rows at length 1 (cosine), or of their linear discriminants
(learned). So one search serves all: see `retrieval`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from .._base.check import Array, as_clouds, check_count
from .._base.summary import plural, shown
from ..features.descriptor import HFSDescriptor, check_known_lengths, check_same_dims
from ..io import with_files_read
from ..options import Retrieval, check_options, option, options
from . import retrieval
from .heads import Scaling, take
from .retrieval import Hits, RetrievalScores, Rows, Space, fit_space
from .saving import from_plain, load_model, plain, saved_notes, write_model

_MOST_POINTS = 1024  # of a thumbnail
_FARTHEST = 1e17  # squares of larger numbers, and their sums, leave the range of single precision
_PARAMS = tuple(entry.name for entry in fields(Retrieval))


class _Built:
    """What `build` and `load` set."""

    descriptor_: HFSDescriptor
    space_: Space
    rows_: Rows  # standardised descriptors
    vectors_: Rows  # whose Euclidean distance is the metric; the same array where that is Euclidean
    notes_: dict[str, Any]
    members_: Members


@options
class HFSIndex(_Built, Retrieval):
    """An index of clouds by their heat field descriptors: build, add, remove, query, save, load.

    Descriptors are standardised as in `HFSClassifier`: gaps filled with the median, columns that vary by
    round-off only set to 0. What is added later is standardised by the same numbers.

    Guide: ``heatfield docs guide/search``.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    names, labels : lists of the clouds' names and labels
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

    descriptor: str | HFSDescriptor = option(
        "A variant, or an `HFSDescriptor` with its own settings.", kw_only=False, default="joint"
    )

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
        self._check_built()
        return self.members_.sketches[row]

    def __len__(self) -> int:
        return len(self.rows_) if hasattr(self, "rows_") else 0

    def __bool__(self) -> bool:
        return True  # an index that is not built yet is one too

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
        checked, found = self._read(clouds, names)
        descriptor = self._new_descriptor(checked[0].shape[1])._fit_clouds(checked)
        learnt = descriptor._settings(descriptor.n_dims_).lengths
        descriptor.set_params(lengths=learnt)
        return self._fill_new(descriptor, descriptor._compute(checked), labels, **found)

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
        descriptor = self._new_descriptor(n_dims)
        check_known_lengths(descriptor.lengths)
        return self._fill_new(descriptor, features, labels, names, sketches)

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
        self._check_built()
        checked, found = self._read(clouds, names)
        check_same_dims(checked, self.descriptor_.n_dims_, "the index")
        return self.add_features(self.descriptor_.transform(checked), labels=labels, **found)

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
        members = self.members_.with_more(len(table), labels, names, sketches)  # refused before a change
        rows = self.space_.standardise(table)
        self._fill(np.concatenate([self.rows_, rows]), members)
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
        self._fill(self.rows_[keep], self.members_.chosen(keep))
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
        self._check_built()
        checked = as_clouds(with_files_read(clouds)[0])
        check_same_dims(checked, self.descriptor_.n_dims_, "the index")
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
        queries = self.space_.standardise(_table(features, self.descriptor_))
        found, squared = retrieval.nearest(self.space_.vectors(queries), self.vectors_, k)
        columns = self.descriptor_.layout().columns
        differences = retrieval.block_differences(
            queries, self.rows_, found, columns, self.space_.scaling.constant
        )
        names, labels = self.members_.names, self.members_.labels
        return Hits(
            found,
            [[names[j] for j in row] for row in found],
            [[labels[j] for j in row] for row in found],
            0.5 * squared if self.metric == "cosine" else np.sqrt(squared),
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

            def fit(rows: NDArray, known: NDArray) -> Any:
                return fit_space(rows, known, "learned", self.random_state, self.descriptor_).embed

            return retrieval.across_folds(self.rows_, labels, fit, folds, self.random_state)
        drawn = np.random.default_rng(self.random_state).permutation(len(self))[:most]
        return retrieval.leave_one_out(self.vectors_, labels, np.sort(drawn))

    def save(self, folder: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the index as a folder of safetensors and JSON; loading it runs no code.

        Parameters
        ----------
        folder : path-like
            New, empty, or an index that is replaced.
        notes : dict, optional
            Anything that JSON can hold; it comes back as ``notes_``.
        """
        self._check_built()
        write_model(folder, "HFSIndex", *_packed(self, self.notes_ if notes is None else notes))

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
        return load_model(folder, "HFSIndex", lambda metadata, tensors: _unpacked(cls, metadata, tensors))

    def _check_built(self) -> None:
        if not hasattr(self, "rows_"):
            raise ValueError("the index is empty: call build() first")

    def __repr__(self) -> str:
        if not len(self):
            return "HFSIndex, not built yet"
        labels = self.members_.classes()
        classes = [] if labels is None else np.unique(labels).tolist()
        return (
            f"HFSIndex of {plural(len(self), 'cloud')}, {len(classes)} classes: {shown(map(str, classes))}\n"
            f"  descriptor {self.descriptor_.variant}, {self.rows_.shape[1]} numbers; metric {self.metric}"
        )

    def _new_descriptor(self, n_dims: int) -> HFSDescriptor:
        """What is to describe the clouds; all options are checked, before the work and not after it."""
        check_options(self, Retrieval)
        if isinstance(self.descriptor, HFSDescriptor):
            made = clone(self.descriptor)
        elif isinstance(self.descriptor, str):
            made = HFSDescriptor(self.descriptor)
        else:
            raise ValueError(
                f"descriptor must be the name of a variant or an HFSDescriptor, got {self.descriptor!r}"
            )
        return made._fit_dims(check_count(n_dims, "n_dims", 1))

    @staticmethod
    def _read(clouds: Sequence[ArrayLike], names: Sequence[str] | None) -> tuple[list[Array], dict[str, Any]]:
        """Clouds, and their names (paths, where all are paths and none are given) and sketches."""
        given, paths = with_files_read(clouds)
        checked = as_clouds(given)
        own = {"names": paths if names is None else names, "sketches": [sketch(c) for c in checked]}
        return checked, own

    def _fill_new(
        self, descriptor: HFSDescriptor, features: ArrayLike, labels: Sequence[Any] | None,
        names: Sequence[str] | None, sketches: Sequence[Array | None] | None,
    ) -> Self:  # fmt: skip
        table = _table(features, descriptor)
        members = Members().with_more(len(table), labels, names, sketches)
        space = fit_space(table, members.classes(), self.metric, self.random_state, descriptor)
        rows = space.standardise(table, quiet=False)
        self.descriptor_, self.space_, self.notes_ = descriptor, space, {}
        self._fill(rows, members)
        return self

    def _fill(self, rows: Rows, members: Members) -> None:
        self.rows_, self.vectors_, self.members_ = rows, self.space_.vectors(rows), members


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


@dataclass(frozen=True)
class Members:
    """Names, labels (None where there is none) and thumbnails (likewise), one per row."""

    names: list[str] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    sketches: list[NDArray[np.uint8] | None] = field(default_factory=list)

    def classes(self) -> NDArray | None:
        """The labels as an array of words or of numbers; None where any is missing."""
        return None if any(label is None for label in self.labels) else np.array(self.labels)

    def check_new(self, names: Iterable[str]) -> None:
        """A ValueError where a name is taken."""
        taken = {*self.names}
        double = [name for name in names if name in taken]
        if double:
            raise ValueError(f"{double[0]!r} is in the index already; remove it first ({len(double)} in all)")

    def with_more(
        self,
        count: int,
        labels: Sequence[Any] | None,
        names: Sequence[str] | None,
        sketches: Sequence[NDArray | None] | None,
    ) -> Members:
        """These and ``count`` more, which are checked: distinct words as names, labels of one kind."""
        for what, given in (("names", names), ("labels", labels), ("sketches", sketches)):
            if given is not None and (isinstance(given, str) or len(given) != count):
                found = repr(given) if isinstance(given, str) else f"{len(given)} entries"
                raise ValueError(f"{what} must have one entry for each of {count} clouds, got {found}")
        if names is None:  # numbers from which on no name is a number
            used = [int(name) for name in self.names if name.isascii() and name.isdigit() and len(name) < 18]
            start = max([len(self.names) - 1, *used]) + 1
            names = [str(start + i) for i in range(count)]
        seen: set[str] = set()
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"names must be words, got {name!r}")
            if name in seen:
                raise ValueError(f"names must be distinct, got {name!r} twice")
            seen.add(name)
        self.check_new(names)
        absent = [None] * count
        more = [v.item() if isinstance(v, np.generic) else v for v in (absent if labels is None else labels)]
        known = [v for v in self.labels + more if v is not None]
        odd = [v for v in known if not isinstance(v, (str, int, float))]
        if odd or len({isinstance(v, str) for v in known}) > 1:
            some = list(dict.fromkeys(map(repr, odd or known)))[:5]
            raise ValueError(f"labels must be all words or all numbers, got {', '.join(some)}")
        if any(v != v for v in known):
            raise ValueError("labels must not be NaN; None stands for a cloud without a label")
        drawn = [v if v is None else np.asarray(v) for v in (absent if sketches is None else sketches)]
        for one in (v for v in drawn if v is not None):
            if one.ndim != 2 or one.shape[1] != 2 or len(one) > _MOST_POINTS:
                raise ValueError(f"a sketch must be (k, 2), k <= {_MOST_POINTS}, got shape {one.shape}")
        pictures = [v if v is None else in_bytes(v) for v in drawn]
        return Members([*self.names, *names], self.labels + more, self.sketches + pictures)

    def without(self, names: Iterable[str]) -> list[int]:
        """Rows of all others; a ValueError where a name is unknown or nothing is left."""
        if isinstance(names, str):
            raise ValueError(f"names must be a list of names, got the word {names!r}; pass [{names!r}]")
        gone = {*names}
        unknown = sorted(map(repr, gone - {*self.names}))
        if unknown:
            raise ValueError(f"{unknown[0]} is not in the index ({len(unknown)} unknown names in all)")
        keep = [i for i, name in enumerate(self.names) if name not in gone]
        if not keep:
            raise ValueError("nothing would be left in the index; build another one")
        return keep

    def chosen(self, rows: list[int]) -> Members:
        """Some of the rows."""
        held: Any = self.names, self.labels, self.sketches
        return Members(*([one[i] for i in rows] for one in held))


def sketch(points: Array, count: int = 160) -> Array:
    """Some of the points in their plane of greatest variance, in -1..1."""
    rows = np.random.default_rng(0).permutation(len(points))[:count]
    centred = points - points.mean(axis=0)
    if points.shape[1] == 1:
        flat = np.c_[centred, np.zeros(len(centred))]
    elif points.shape[1] == 2:
        flat = centred
    else:
        _, axes = np.linalg.eigh(centred.T @ centred)
        flat = centred @ axes[:, [-2, -1]]  # the longest direction upright
    middle = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
    half = 0.5 * float(np.ptp(flat, axis=0).max()) or 1.0
    return (flat[rows] - middle) / half


def in_bytes(drawn: NDArray) -> NDArray[np.uint8]:
    """A sketch with one byte per coordinate."""
    if drawn.dtype == np.uint8:
        return drawn
    return np.rint(127.5 + 127.5 * np.clip(drawn, -1, 1)).astype(np.uint8)


def _packed(index: HFSIndex, notes: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Everything that a query depends on: what JSON can hold, and arrays."""
    described = index.descriptor_.get_params(deep=False) | {"n_dims": index.descriptor_.n_dims_}
    members = index.members_
    metadata = {
        "params": {name: plain(getattr(index, name), name) for name in _PARAMS},
        "descriptor": {k: plain(v, k) for k, v in described.items() if k != "n_jobs"},
        "names": members.names,
        "labels": members.labels,
        "notes": dict(notes),
    }
    tensors = {"rows": index.rows_} | index.space_.scaling.tensors()
    if index.metric == "learned":
        tensors["directions"] = index.space_.directions
    lengths = [-1 if one is None else len(one) for one in members.sketches]
    tensors["sketch_lengths"] = np.array(lengths, dtype=np.int32)
    empty = np.empty((0, 2), dtype=np.uint8)
    tensors["sketches"] = np.concatenate([empty, *(one for one in members.sketches if one is not None)])
    return metadata, tensors


def _unpacked(kind: type[HFSIndex], metadata: dict[str, Any], tensors: dict[str, NDArray]) -> HFSIndex:
    """The index that `_packed` was given, every number and word checked."""
    options = {name: from_plain(value) for name, value in metadata["descriptor"].items()}
    for name in ("n_dims", "n_scales"):
        if check_count(options[name], name, 1) > 1024:
            raise ValueError(f"{name}={options[name]!r} is more than 1024")
    n_dims = options.pop("n_dims")
    params = {name: from_plain(metadata["params"][name]) for name in _PARAMS}
    index = kind(HFSDescriptor(**options), **params)
    index.descriptor_ = index._new_descriptor(n_dims)
    width = index.descriptor_.layout().width
    rows = take(tensors, "rows", np.float32, (None, width))
    if np.abs(rows).max() > _FARTHEST:
        raise ValueError("its rows are out of range: no distances could be computed")
    scaling, directions = Scaling.loaded(tensors, width), np.empty((width, 0))
    if index.metric == "learned":
        directions = take(tensors, "directions", np.float64, (width, None))
    index.space_ = Space(index.metric, scaling, directions)
    for name in ("names", "labels"):
        if not isinstance(metadata[name], list):
            raise ValueError(f"its {name} are not a list")
    lengths = take(tensors, "sketch_lengths", np.int32, (len(rows),))
    ends = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
    parts = np.split(take(tensors, "sketches", np.uint8, (int(ends[-1]), 2)), ends[:-1])
    sketches = [None if n < 0 else part for n, part in zip(lengths.tolist(), parts, strict=True)]
    index._fill(rows, Members().with_more(len(rows), metadata["labels"], metadata["names"], sketches))
    index.notes_ = saved_notes(metadata)
    return index
