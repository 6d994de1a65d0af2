"""What all classifiers by multiparameter persistence share: the frame, and work cloud by cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from heatfield._base.check import Array, thread_count
from heatfield._base.threads import pieces, run_pieces

from ._estimator import BaselineClassifier, options
from ._frame import fit_frame

# Of the bifiltration, for docstrings.
FRAME = """\
complex : "alpha" or "rips"
    The complex that radius filters. Alpha complexes (up to 3 coordinates) have a few simplices per
    point; a Rips complex of 1,500 points takes thousands of times longer.
degrees : sequence of int
    Degrees of homology, of 0, 1 and 2.
bandwidth : float, optional
    Of the Gaussian codensity, in units of the points; a tenth of the side of the bounding box (the
    largest side of each training cloud, the median of them) if not given.
max_radius : float, optional
    Where the radius ends. If not given, for alpha complexes the median over the training clouds of the
    radius below which 95 % of the simplices of the highest dimension lie; for Rips complexes 0.15
    sides."""


@options
class PersistenceEstimator(BaselineClassifier):
    """Fixes a frame on the training clouds (`_fit_frame`), and works on the bifiltrations in it."""

    complex: str = "alpha"
    degrees: Sequence[int] = (0, 1)
    bandwidth: float | None = None
    max_radius: float | None = None
    random_state: int | None = None
    n_jobs: int | None = 1
    progress: bool | None = None

    def _fitted_dims(self) -> int:
        return self.frame_.n_dims

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
