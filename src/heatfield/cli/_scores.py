"""Scores of a cross-validation: accuracies with their deviation, and the confusion matrix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ._ours import is_picture, is_scores, may_replace, remove_ours
from ._pages import save_picture


def scores(labels: np.ndarray, predicted: np.ndarray, folds: np.ndarray) -> dict[str, Any]:
    """Accuracy, mean accuracy over classes (mACC) and macro F1, fold by fold; the confusion matrix of all."""
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score

    classes = np.unique(labels)
    kinds = {
        "accuracy": accuracy_score,
        "mACC": balanced_accuracy_score,
        "macro_F1": lambda true, found: f1_score(true, found, average="macro", zero_division=0.0),
    }
    out: dict[str, Any] = {"folds": int(folds.max()) + 1, "classes": classes.tolist()}
    for name, score in kinds.items():
        values = [float(score(labels[folds == k], predicted[folds == k])) for k in range(out["folds"])]
        out[name] = {"mean": float(np.mean(values)), "std": float(np.std(values)), "by_fold": values}
    matrix = confusion_matrix(labels, predicted, labels=classes)
    out["confusion"] = matrix.tolist()
    out["recall"] = dict(
        zip(map(str, classes.tolist()), (matrix.diagonal() / matrix.sum(axis=1)).tolist(), strict=True)
    )
    return out


def printed(found: dict[str, Any]) -> str:
    """The scores as a few lines of text."""
    lines = [
        f"{name.replace('_', ' ')} {100 * found[name]['mean']:.1f} ± {100 * found[name]['std']:.1f} %"
        for name in ("accuracy", "mACC", "macro_F1")
    ]
    worst = sorted((item for item in found["recall"].items() if item[1] < 1.0), key=lambda item: item[1])[:3]
    hardest = ", ".join(f"{name} ({100 * share:.0f} % found)" for name, share in worst)
    return f"{found['folds']} folds: " + ", ".join(lines) + (f"\nhardest classes: {hardest}" if worst else "")


def time_left(seconds: float, done: int, folds: int) -> str:
    """How long the folds that are left will take if they take as long as those before."""
    if done == 0 or done >= folds:
        return ""
    minutes, rest = divmod(round(seconds / done * (folds - done)), 60)
    return f", about {minutes} min {rest:02d} s left for all folds"


def check_scores(out: Path) -> None:
    """A ValueError where the scores would have to replace a file of someone else."""
    path, picture = beside(out)
    may_replace(path, is_scores, "the report of a training")
    may_replace(picture, is_picture, "a picture of this library")


def beside(out: Path) -> tuple[Path, Path]:
    """The report, and the picture of the confusion matrix."""
    return out.with_name(out.name + ".report.json"), out.with_name(out.name + ".confusion.png")


def write_scores(out: Path, report: dict[str, Any], quiet: bool) -> None:
    """MODEL.report.json, and a picture where matplotlib is at hand; none stays of an older training."""
    from .._base.files import write_atomically

    found = report.get("cross_validation")
    path, picture = beside(out)
    remove_ours(picture, is_picture)
    if "cross_validation" not in report:
        remove_ours(path, is_scores)
        return
    write_atomically(path, (json.dumps(report, indent=1) + "\n").encode())
    if found is None:
        return
    if not quiet:
        print(printed(found), f"figures -> {path}", sep="\n")
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("Agg")
    from ..plot import confusion_matrix

    save_picture(confusion_matrix(found["confusion"], found["classes"]).figure, picture, dpi=120)
    if not quiet:
        print(f"confusion matrix -> {picture}")
