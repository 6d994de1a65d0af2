"""The paper's findings, each answered yes or no from the cells that are there."""

from __future__ import annotations

from pathlib import Path

from ._finding_checks import CLAIMS, Results
from ._jobs import Context
from ._store import Store


def findings(results: str | Path, *, budget: str = "paper") -> list[str]:
    """One sentence for each finding that the results at hand can answer.

    Parameters
    ----------
    results : path-like
    budget : str
        As of `show`.

    Returns
    -------
    sentences : list of str
    """
    if budget == "smoke":  # too little for any conclusion
        return []
    found = Results(Context(Store(results), budget))
    sentences = []
    for claim, check in CLAIMS.items():
        found.reduced.clear()
        answers = [a for entry in found.sets if (a := check(found, entry)) is not None]
        if answers:
            held = sum(a.holds for a in answers)
            word = "yes" if held == len(answers) else ("no" if held == 0 else "in part")
            told = "; ".join(f"{a.data} {'yes' if a.holds else 'no'} ({a.figures})" for a in answers)
            less = f" At a reduced budget: {', '.join(sorted(found.reduced))}." if found.reduced else ""
            sentences.append(f"{claim}: {word}, on {held} of {len(answers)} data sets. {told}.{less}")
    return sentences
