"""The paper's findings, each answered from the results that are there, and whether that is sure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ._grid import FITTED, Difference, Mean, difference, found_record, is_fitted, paired_values
from ._jobs import Context
from ._methods import BLOCKS, COUNTS, METHODS, RANGES
from ._results import Record, Store
from ._sets import DataSet
from .tables.beside import changed_predictions


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
    return f"{gap.mean:+.1f} ± {gap.error:.1f} points{' on one split' if gap.n == 1 else ''}"


def findings(results: str | Path, *, budget: str = "paper") -> list[str]:
    """One sentence for each finding, also for those that the results at hand cannot answer.

    None at the smallest budget, or where there are no results.
    """
    if budget == "smoke":  # too little for any conclusion
        return []
    found = Found(Context(Store(results), budget))
    told = []
    for claim, check in CLAIMS.items():
        answers = [a for entry in found.sets if (a := check(found, entry)) is not None]
        told.append(f"{claim}: {_sentence(answers)}{found.remarks()}")
    return told if found.sets else []


def _sentence(answers: list[Answer]) -> str:
    if not answers:
        return "not answered, the rows that it needs were not run or not trained to the end."
    counts = {word: sum(a.word == word for a in answers) for word in WORDS}
    first = ", ".join(f"{word} on {count}" for word, count in counts.items() if count)
    told = "; ".join(f"{a.data} {a.word}: {a.figures}" for a in answers)
    return f"{first} of {len(answers)} data sets. {told}."


class Found:
    """Scores by data set and method, and which of them need a remark."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.sets = context.recorded()
        self._shortened: set[str] = set()  # trained for fewer epochs than in the paper
        self._left_out: dict[str, set[str]] = {}  # networks that do not know their training clouds
        self._read: dict[tuple[str, str, str], Record | None] = {}

    def values(self, entry: DataSet, name: str) -> dict[int, float]:
        """By split; empty where nothing was computed."""
        record = self._record("accuracy", entry, name)
        return {} if record is None else record.values()

    def gap(self, entry: DataSet, a: str, b: str) -> Difference:
        """``a`` minus ``b`` on common splits; n is 0 where there are none.

        One split has no spread: its error is that of two independent shares of a half of its test clouds.
        """
        records = [self._record("accuracy", entry, name) for name in (a, b)]
        found = difference(*paired_values(*records), entry.protocol)
        if found.n != 1 or records[0] is None:
            return found
        tested = min(cell["test"] for cell in records[0].cells.values())
        return Difference(found.mean, 100.0 * math.sqrt(0.5 / tested), math.nan, 1)

    def rotation(self, entry: DataSet, name: str) -> tuple[int, int, Mean] | None:
        """Predictions changed, of how many, and the accuracy lost; None where it was not run."""
        record = self._record("rotation", entry, name)
        return None if record is None else changed_predictions(record)

    def remarks(self) -> str:
        """On all that was asked for since the last time: what was trained shorter, and what was left out."""
        words = ""
        if self._shortened:
            words += f" Fewer epochs than in the paper: {', '.join(sorted(self._shortened))}."
        if self._left_out:
            names = [f"{', '.join(sorted(own))} on {data}" for data, own in self._left_out.items()]
            words += (
                f" Left out, right on less than {FITTED:g} % of their training clouds: {'; '.join(names)}."
            )
        self._shortened.clear()
        self._left_out.clear()
        return words

    def _record(self, task: str, entry: DataSet, name: str) -> Record | None:
        what = (task, entry.name, name)
        if what not in self._read:
            self._read[what] = found_record(self.context, task, entry, METHODS[name])
        record = self._read[what]
        if record is None:
            return None
        if not is_fitted(record):
            self._left_out.setdefault(entry.title, set()).add(name)
            return None
        if record.key.budget != "paper":
            self._shortened.add(name)
        return record


LITTLE = 1.7  # points that removing a block may cost: the most in the paper, which calls it little
NARROW = 1.0  # points that another range may change: the paper's change by 0.7 at most
LOSS = 2.0  # points under rotation that count as a loss: more than any HFS variant of the paper changes by
PART = 0.2  # of what DGCNN loses: what is left where "most" of the invariance is inherited
VARIANTS = ("HFS-simple", "HFS-desc", "HFS-full")
NETWORKS = ("PointNet", "PointNet++", "DGCNN", "Point Tr")
# Those of the paper's table of rotation, and the strongest descriptor, which the paper does not compare with.
RIVALS = ("FPFH", "HKS", *NETWORKS, "DGCNN-SO(3)", "VN-DGCNN", "LocalCovariance")


def _best(found: Found, entry: DataSet, names: Iterable[str], other: str) -> str | None:
    """The method that is furthest ahead of another, on the splits that each shares with it."""
    gaps = {name: gap.mean for name in names if (gap := found.gap(entry, name, other)).n}
    return max(gaps, key=gaps.__getitem__) if gaps else None


def _single_blocks(found: Found, entry: DataSet, without: str = "") -> str | None:
    """The strongest single block but one; None where not all were run."""
    if not all(found.values(entry, f"only {block}") for block in BLOCKS):
        return None
    return _best(found, entry, (f"only {b}" for b in BLOCKS if b != without), "HFS-desc")


def _no_single_block(found: Found, entry: DataSet) -> Answer | None:
    best = _single_blocks(found, entry)
    if best is None:
        return None
    gap = found.gap(entry, "HFS-desc", best)
    return above(entry, gap, f"best alone {best.removeprefix('only ')}; all of them {told(gap)}")


def _hessian(found: Found, entry: DataSet) -> Answer | None:
    other = _single_blocks(found, entry, "log-Hessian") if entry.real else None
    if other is None:
        return None
    gap = found.gap(entry, "only log-Hessian", other)
    return above(entry, gap, f"{told(gap)} against {other.removeprefix('only ')}")


def _redundant(found: Found, entry: DataSet) -> Answer | None:
    names = [f"without {block}" for block in BLOCKS if block != "log-Hessian"]
    gaps = {name: found.gap(entry, "HFS-desc", name) for name in names}
    if not all(gap.n for gap in gaps.values()):
        return None
    worst = max(gaps, key=lambda name: gaps[name].mean)
    figures = f"most by {worst.removeprefix('without ')}, {told(gaps[worst])}"
    return below(entry, gaps[worst], figures, LITTLE)


def _hessian_costs(found: Found, entry: DataSet) -> Answer | None:
    gap = found.gap(entry, "HFS-desc", "without log-Hessian")
    local = found.gap(entry, "HFS-desc", "without local")
    if not entry.real or not gap.n or not local.n:
        return None
    figures = f"{told(gap)}; all local blocks {local.mean:+.1f} ± {local.error:.1f}"
    return above(entry, gap, figures, LITTLE)


def _saturates(found: Found, entry: DataSet) -> Answer | None:
    names = ["HFS-desc" if count == 8 else f"{count} scales" for count in COUNTS]
    steps = [found.gap(entry, b, a) for a, b in pairwise(names)]
    if not all(step.n for step in steps):
        return None
    whole = found.gap(entry, "HFS-desc", names[0])
    shown = ", ".join(f"{step.mean:+.1f} ± {step.error:.1f}" for step in steps)
    falls = any(step.mean < 0.0 and step.clear_of(0.0) for step in steps)
    holds = whole.mean > 0.0 and steps[-1].mean < steps[0].mean and not falls
    sure = falls or whole.clear_of(0.0)
    return Answer(entry.title, holds, sure, f"from 2 to 4, 8, 16 scales {shown}")


def _insensitive(found: Found, entry: DataSet) -> Answer | None:
    names = [f"range {low:g}, {high:g}" for low, high in RANGES if (low, high) != (0.05, 0.25)]
    gaps = {name: found.gap(entry, name, "HFS-desc") for name in names}
    if not all(gap.n for gap in gaps.values()):
        return None
    most = max(gaps, key=lambda name: abs(gaps[name].mean))
    gap = gaps[most]
    size = Difference(abs(gap.mean), gap.error, gap.p, gap.n)
    return below(entry, size, f"most by {most.removeprefix('range ')}, {told(gap)}", NARROW)


def _not_ahead(found: Found, entry: DataSet) -> Answer | None:
    if not entry.boundary or not entry.real:
        return None
    return _against(found, entry, (*VARIANTS, "HFS+DGCNN"), (*NETWORKS, "VN-DGCNN"), ahead=False)


def _hfs_leads(found: Found, entry: DataSet) -> Answer | None:
    if entry.boundary:
        return None
    return _against(found, entry, VARIANTS, RIVALS, ahead=True)


def _against(
    found: Found, entry: DataSet, ours: Iterable[str], others: Iterable[str], *, ahead: bool
) -> Answer | None:
    """Our best method against the best of others; of ours, those that share most splits with it."""
    run = [name for name in others if found.values(entry, name)]
    rival = _best(found, entry, run, "HFS-desc")
    if rival is None:
        return None
    shared = {name: found.gap(entry, name, rival).n for name in ours}
    best = _best(found, entry, [n for n in shared if shared[n] == max(shared.values())], rival)
    if best is None:
        return None
    gap = found.gap(entry, best, rival)
    rivals = rival if len(run) == 1 else f"{rival}, the best of {len(run)} rivals"
    figures = f"{best} {told(gap)} against {rivals}"
    return above(entry, gap, figures) if ahead else below(entry, gap, figures, 0.0)


def _invariant(found: Found, entry: DataSet) -> Answer | None:
    names = ("HFS-simple", "HFS-desc", "HFS-joint", "HFS-full")
    known = {n: r for n in names if (r := found.rotation(entry, n)) is not None}
    if not known:
        return None
    shown = ", ".join(f"{name} {moved} of {count} changed" for name, (moved, count, _) in known.items())
    return Answer(entry.title, all(moved == 0 for moved, _, _ in known.values()), True, shown)


def _networks_lose(found: Found, entry: DataSet) -> Answer | None:
    lost = {n: gap for n in NETWORKS if (gap := _loss(found, entry, n)) is not None}
    if not lost:
        return None
    shown = ", ".join(f"{name} loses {gap.mean:.1f} ± {gap.error:.1f}" for name, gap in lost.items())
    return above(entry, max(lost.values(), key=lambda gap: gap.mean), shown, LOSS)


def _inherits(found: Found, entry: DataSet) -> Answer | None:
    hybrid, plain = (_loss(found, entry, name) for name in ("HFS+DGCNN", "DGCNN"))
    # Where DGCNN loses nothing, there is nothing to inherit.
    if hybrid is None or plain is None or plain.mean <= LOSS:
        return None
    figures = f"HFS+DGCNN loses {hybrid.mean:.1f} ± {hybrid.error:.1f}, DGCNN {plain.mean:.1f}"
    return below(entry, hybrid, figures, PART * plain.mean)


def _loss(found: Found, entry: DataSet, name: str) -> Difference | None:
    """Points lost under rotation; as many predictions changed as could have by chance gone either way."""
    known = found.rotation(entry, name)
    if known is None:
        return None
    moved, count, lost = known
    return Difference(lost.mean, 100.0 * math.sqrt(moved) / count, math.nan, lost.n)


def _local_covariance(found: Found, entry: DataSet) -> Answer | None:
    gap = found.gap(entry, "HFS-desc", "LocalCovariance")
    return above(entry, gap, told(gap)) if gap.n else None


CLAIMS: dict[str, Callable[[Found, DataSet], Answer | None]] = {
    "An HFS variant is ahead of all other methods that were run": _hfs_leads,
    "HFS-desc is ahead of local covariance, which the paper does not compare with": _local_covariance,
    "No single block suffices: all together are ahead of the best": _no_single_block,
    "The log-Hessian is the strongest single block on real data": _hessian,
    f"Removing any block but the log-Hessian costs at most {LITTLE} points": _redundant,
    f"Removing the log-Hessian costs more than {LITTLE} points on real data": _hessian_costs,
    "Accuracy rises with the number of scales, and the last step is smaller than the first": _saturates,
    f"Another range of scales changes accuracy by at most {NARROW:g} point": _insensitive,
    "HFS is not ahead of networks on rigid shape": _not_ahead,
    "No prediction of HFS changes under rotation": _invariant,
    f"A network on coordinates loses more than {LOSS:g} points under rotation": _networks_lose,
    f"HFS+DGCNN loses at most {PART:.0%} of what DGCNN loses, where it loses more than {LOSS:g}": _inherits,
}
