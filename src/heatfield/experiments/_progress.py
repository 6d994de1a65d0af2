"""What a run says: a line per job with the score so far, the cells that are done and the time left."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.summary import plural
from ._jobs import Context, Job
from ._statistics import mean_of

METRICS = {"oa": "overall accuracy", "macc": "mean class accuracy"}


@dataclass
class Progress:
    """Cells done, and how long the rest will take if cells go on to cost what they did."""

    total: int
    left: float  # cost of the cells that are to be computed
    done: int = 0
    failed: int = 0
    spent: float = 0.0
    cost: float = 0.0

    def add(self, count: int, cost: float, seconds: float) -> None:
        """Some cells were computed."""
        if count:  # the seconds of a job that failed at once say nothing of what cells cost
            self.spent += seconds
            self.cost += cost
        self.come(count, cost)

    def come(self, count: int, cost: float) -> None:
        """Some cells need not be computed: they came with another record, or by another process."""
        self.done += count
        self.left = max(0.0, self.left - cost)

    def leave(self, count: int, cost: float) -> None:
        """Some cells are being computed by another process."""
        self.total -= count
        self.left = max(0.0, self.left - cost)

    def fail(self, count: int, cost: float) -> None:
        """Some cells could not be computed."""
        self.failed += count
        self.left = max(0.0, self.left - cost)

    def words(self) -> str:
        """For the end of a line."""
        start = f"{self.done} of {plural(self.total, 'cell')}"
        if self.failed:
            start += f", {self.failed} failed"
        if self.cost == 0.0:
            return start
        minutes = self.left * self.spent / self.cost / 60.0
        shown = f"{minutes:.0f} min" if minutes >= 1.5 else f"{60.0 * minutes:.0f} s"
        return f"{start}, about {shown} left"


def title_of(job: Job) -> str:
    """Table, data set, method and budget, and what else tells the records of one table apart."""
    recipe, more = job.key.recipe, [job.key.budget]
    if "train_per_class" in recipe:
        more.append(f"{plural(recipe['train_per_class'], 'training cloud')} per class")
    if "condition" in recipe:
        more.append(recipe["condition"])
    return f"{job.key.task} / {job.key.data} / {job.key.method} ({', '.join(more)})"


def score_so_far(context: Context, job: Job) -> str:
    """The mean over the splits of a record, where it is one number; else nothing."""
    record = context.store.read(job.key)
    # Scores of other code, which stay until their cell is computed again, are not averaged with those of now.
    cells = {k: c for k, c in context.store.cells(job.key).items() if c["code"] == job.code}
    if record is None or not cells or any("scores" not in cell for cell in cells.values()):
        return ""
    metric = record["facts"]["protocol"]["metric"]
    found = mean_of({k: c["scores"]["none"][metric] for k, c in cells.items()})
    spread = f" ± {found.sd:.2f}" if found.n > 1 else ""
    return f": {METRICS.get(metric, metric)} {found.mean:.2f}{spread}, {plural(found.n, 'split')}"
