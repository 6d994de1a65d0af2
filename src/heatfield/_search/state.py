"""What an index holds, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base.check import Array, as_clouds
from .._base.summary import Summarised, Summary, plural, shown
from .._features.cloud_input import check_same_dims
from .._features.descriptor import HFSDescriptor
from ..io import Cloud, with_files_read
from .approximate import Cells
from .members import Members
from .space import Rows, Space

METHODS = ("auto", "exact", "approximate")
# From so many rows on, "auto" takes the approximate index where faiss is installed.
MANY = 50_000


class IndexState(Summarised):
    """Descriptors in their space, the clouds that they belong to, and cells where there are any."""

    # Options, set by `HFSIndex`.
    metric: str
    method: str
    recall: float
    random_state: int
    # Set by `build` and `load`.
    descriptor_: HFSDescriptor
    space_: Space
    rows_: Rows  # standardised
    places_: Rows  # their places in the metric
    members_: Members
    cells_: Cells | None
    notes_: dict[str, Any]

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

    def _expected(self, clouds: Sequence[ArrayLike]) -> list[Array]:
        self._check_built()
        checked = as_clouds(points_only(with_files_read(clouds)[0]))
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


def points_only(clouds: Any) -> Any:
    """The points of what `heatfield.read_cloud` returned; all else as it is."""
    if not isinstance(clouds, (list, tuple)):
        return clouds
    return [one.points if isinstance(one, Cloud) else one for one in clouds]


def as_table(features: ArrayLike, descriptor: HFSDescriptor) -> NDArray:
    """Descriptors (N, columns) that fit, as they are: a table in a file is not read here."""
    table = np.asanyarray(features)
    width = descriptor.layout().width
    if table.dtype.kind not in "fiu" or table.ndim != 2 or table.shape[1] != width or len(table) == 0:
        raise ValueError(
            f"features must be numbers of shape (N, {width}) for this descriptor, "
            f"got {table.dtype} of shape {table.shape}"
        )
    return table
