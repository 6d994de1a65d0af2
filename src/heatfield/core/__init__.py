"""From points to sums over pairs, and from sums to geometry."""
