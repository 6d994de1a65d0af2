"""Networks of the baselines."""
