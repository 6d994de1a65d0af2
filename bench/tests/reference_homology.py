"""Homology over two elements by plain linear algebra: the specification of the fast code."""

import itertools

import numpy as np


def reduced(rows):
    """Row echelon form over two elements, without zero rows."""
    rows = np.array(rows, dtype=bool)
    done = 0
    for column in range(rows.shape[1]):
        hits = np.flatnonzero(rows[done:, column]) + done
        if len(hits) == 0:
            continue
        rows[[done, hits[0]]] = rows[[hits[0], done]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != done]] ^= rows[done]
        done += 1
        if done == len(rows):
            break
    return rows[:done]


def rank(rows):
    return len(reduced(rows))


def kernel(matrix):
    """Rows v with v @ matrix = 0 over two elements, a basis."""
    matrix = np.array(matrix, dtype=bool)
    width = matrix.shape[1]
    if len(matrix) == 0:
        return np.zeros((0, 0), bool)
    both = reduced(np.hstack([matrix, np.eye(len(matrix), dtype=bool)]))
    return both[~both[:, :width].any(axis=1), width:]


class Module:
    """The homology of one degree of a bifiltration: spaces at (radius, codensity), and maps between them."""

    def __init__(self, complex_, degree):
        cells = [[tuple(row) for row in part.tolist()] for part in complex_.simplices]
        self.values = [np.stack(v, axis=1) for v in zip(complex_.radius, complex_.codensity, strict=True)]
        self.degree, self.count = degree, len(cells[degree])
        place = {cell: i for i, cell in enumerate(cells[degree])}
        self.up = np.zeros((len(cells[degree + 1]), self.count), bool)
        for i, cell in enumerate(cells[degree + 1]):
            for face in itertools.combinations(cell, degree + 1):
                self.up[i, place[face]] = True
        below = {cell: i for i, cell in enumerate(cells[degree - 1])} if degree else {}
        self.down = np.zeros((self.count, len(below)), bool)
        if degree:
            for i, cell in enumerate(cells[degree]):
                for face in itertools.combinations(cell, degree):
                    self.down[i, below[face]] = True

    def cycles(self, x):
        """A basis of the cycles of the complex at x."""
        here = np.flatnonzero((self.values[self.degree] <= x).all(axis=1))
        small = kernel(self.down[here]) if self.degree else np.eye(len(here), dtype=bool)
        out = np.zeros((len(small), self.count), bool)
        out[:, here] = small
        return out

    def boundaries(self, x):
        return reduced(self.up[(self.values[self.degree + 1] <= x).all(axis=1)])

    def rank(self, x, y):
        """The rank of the map of homology from x to y >= x."""
        ends = self.boundaries(y)
        return rank(np.vstack([self.cycles(x), ends])) - len(ends)

    def generalised_rank(self, points):
        """The rank of the map from the limit to the colimit over a connected set of points.

        Straight from the definition. The limit: one cycle per point, so that for x <= y the two differ by
        a boundary at y. The colimit: all cycles of all points, modulo boundaries at each point and modulo
        the difference of a cycle at x and the same cycle at y >= x.
        """
        points = [tuple(p) for p in points]
        pairs = [(i, j) for i, x in enumerate(points) for j, y in enumerate(points)
                 if i != j and x[0] <= y[0] and x[1] <= y[1]]  # fmt: skip
        cycles = [self.cycles(p) for p in points]
        ends = [self.boundaries(p) for p in points]
        n = self.count
        # Unknowns: coefficients of cycles of each point, and of boundaries for each pair.
        sizes = [len(c) for c in cycles] + [len(ends[j]) for _, j in pairs]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        equations = np.zeros((starts[-1], n * len(pairs)), bool)
        for e, (i, j) in enumerate(pairs):
            columns = slice(n * e, n * (e + 1))
            equations[starts[i] : starts[i + 1], columns] ^= cycles[i]
            equations[starts[j] : starts[j + 1], columns] ^= cycles[j]
            k = len(points) + e
            equations[starts[k] : starts[k + 1], columns] ^= ends[j]
        sections = kernel(equations)[:, : starts[len(points)]]
        # All of the limit is sent to the colimit by way of any one point: the first.
        first = (sections[:, : starts[1]].astype(int) @ cycles[0].astype(int) % 2).astype(bool)
        width = n * len(points)
        relations = []
        for i in range(len(points)):
            for row in ends[i]:
                relations.append(np.zeros(width, bool))
                relations[-1][n * i : n * (i + 1)] = row
        for i, j in pairs:
            for row in cycles[i]:
                relations.append(np.zeros(width, bool))
                relations[-1][n * i : n * (i + 1)] ^= row
                relations[-1][n * j : n * (j + 1)] ^= row
        relations = reduced(np.array(relations).reshape(-1, width))
        image = np.zeros((len(first), width), bool)
        image[:, :n] = first
        return rank(np.vstack([relations, image])) - len(relations)
