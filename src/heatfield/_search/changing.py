"""What is added to an index and removed from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._base.check import Array
from ..io import with_files_read
from .members import checked_members
from .sketch import sketch
from .state import IndexState, as_table


class Changing(IndexState):
    """`add` and `remove`."""

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
        given, paths = with_files_read(clouds)
        checked = self._expected(given)
        sketches = [sketch(c) for c in checked]
        return self.add_features(
            self.descriptor_.transform(checked),
            labels=labels,
            names=paths if names is None else names,
            sketches=sketches,
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
        table = as_table(features, self.descriptor_)
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
