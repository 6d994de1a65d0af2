"""What a data set says on a finding: yes or no, whether it is sure, and the figures."""

from __future__ import annotations

from dataclasses import dataclass

from ._sets import DataSet
from ._statistics import Difference


@dataclass(frozen=True)
class Answer:
    """One data set's word on a finding; not sure where chance could have made it the other."""

    data: str
    holds: bool
    sure: bool
    figures: str

    @property
    def word(self) -> str:
        """As printed: one of WORDS."""
        return ("yes" if self.holds else "no") + ("" if self.sure else " (unsure)")


WORDS = ("yes", "yes (unsure)", "no (unsure)", "no")
RULE = (
    "Differences are formed on common splits and stand with their standard error, corrected for overlapping "
    "training sets; of one split it is the error of two independent shares of its test clouds, of a loss "
    "under rotation that of the predictions that changed. `unsure`: by chance, the other answer is "
    "found in more than 5 of 100 cases."
)


def above(entry: DataSet, gap: Difference, figures: str, limit: float = 0.0) -> Answer:
    """Whether a difference is above a limit."""
    return Answer(entry.title, gap.mean > limit, gap.clear_of(limit), figures)


def below(entry: DataSet, gap: Difference, figures: str, limit: float) -> Answer:
    """Whether a difference is at most a limit."""
    return Answer(entry.title, gap.mean <= limit, gap.clear_of(limit), figures)


def told(gap: Difference) -> str:
    """A difference with its error."""
    if gap.n == 1:
        return f"{gap.mean:+.1f} ± {gap.error:.1f} points on one split"
    return f"{gap.mean:+.1f} ± {gap.error:.1f} points"
