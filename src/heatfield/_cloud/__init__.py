"""From points to an arranged cloud: kd order, blocks, a tree of boxes, spacing and diameter."""
