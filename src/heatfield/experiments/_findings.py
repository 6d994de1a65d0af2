"""The paper's findings, each answered from the cells that are there."""

from __future__ import annotations

from pathlib import Path

from ._answers import WORDS, Answer
from ._finding_checks import CLAIMS
from ._found import Found
from ._jobs import Context
from ._store import Store


def findings(results: str | Path, *, budget: str = "paper") -> list[str]:
    """One sentence for each finding, also for those that the results at hand cannot answer.

    Parameters
    ----------
    results : path-like
    budget : str
        As of `show`.

    Returns
    -------
    sentences : list of str
        None at the smallest budget, or where there are no results.
    """
    if budget == "smoke":  # too little for any conclusion
        return []
    found = Found(Context(Store(results), budget))
    told = []
    for claim, check in CLAIMS.items():
        answers = [a for entry in found.sets if (a := check(found, entry)) is not None]
        told.append(f"{claim}: {_sentence(answers)}{found.remarks() if answers else ''}")
        found.remarks()
    return told if found.sets else []


def _sentence(answers: list[Answer]) -> str:
    if not answers:
        return "not answered, the rows that it needs were not run."
    counts = {word: sum(a.word == word for a in answers) for word in WORDS}
    first = ", ".join(f"{word} on {count}" for word, count in counts.items() if count)
    told = "; ".join(f"{a.data} {a.word}: {a.figures}" for a in answers)
    return f"{first} of {len(answers)} data sets. {told}."
