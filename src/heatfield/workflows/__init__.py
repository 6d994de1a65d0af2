"""Whole jobs on files: describe, train, predict, report, search. The verbs of the command call these."""
