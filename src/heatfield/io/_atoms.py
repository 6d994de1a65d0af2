"""Atoms of a molecule as they are gathered from a file, and the choice among them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain as joined

import numpy as np

from ._cloud import Cloud
from ._source import Source

# Names of an atom and its residue, chain, number of the residue, letter of the alternative.
Words = tuple[str, str, str, str, str]
_BYTES = 150  # that an atom takes while it is gathered
# Residues that are a calcium ion, as the PDB, CHARMM and others name them.
CALCIUM = frozenset({"CA", "CAL", "CA2", "CA2+", "CA+2"})


@dataclass(frozen=True)
class AtomChoice:
    """Which atoms are wanted.

    ``atoms`` is "CA" (one point per residue), "all", or names such as ("N", "CA", "C").
    ``model`` counts from 1; None takes every model. ``altloc`` None takes one place per atom,
    the one of highest occupancy (the first among equals); a letter takes that one and those
    without a letter; "all" takes every place.
    """

    atoms: str | Sequence[str] = "CA"
    chain: str | None = None
    model: int | None = 1
    altloc: str | None = None

    def names(self) -> frozenset[str] | None:
        """The wanted atom names, None for all."""
        if self.atoms == "all":
            return None
        return frozenset([self.atoms] if isinstance(self.atoms, str) else self.atoms)


class _Words(dict[str, str]):
    """Words of a file without the spaces around them, one object for equal ones."""

    def __missing__(self, cell: str) -> str:
        word = self[cell] = cell.strip()
        return word


@dataclass
class Atoms:
    """Columns that grow atom by atom."""

    choice: AtomChoice
    source: Source
    seen: int = 0  # atoms in the file, wanted or not
    chains: dict[str, None] = field(default_factory=dict)  # that were met, in order
    models_seen: int = 1
    xyz: array[float] = field(default_factory=lambda: array("d"))
    numbers: array[float] = field(default_factory=lambda: array("d"))  # occupancy, B factor
    words: dict[str, list[str]] = field(
        default_factory=lambda: {k: [] for k in ("atom", "residue", "chain", "residue_number", "altloc")}
    )
    models: array[int] = field(default_factory=lambda: array("q"))
    word: _Words = field(default_factory=_Words)
    _same: dict[str, str] = field(default_factory=dict)  # one object for equal words
    _places: dict[tuple[int, str, str, str], int] = field(default_factory=dict)

    def add(
        self, model: int, words: Words, xyz: tuple[float, float, float], numbers: tuple[float, float]
    ) -> None:
        """Take an atom that was already found wanted by name, chain and model; settle alternatives.

        ``words`` are in the order of the columns of this name, ``numbers`` are occupancy and B factor.
        """
        atom, _, chain, number, altloc = words
        wanted = self.choice.altloc
        if altloc and wanted not in (None, "all", altloc):
            return
        if altloc and wanted is None:
            key = (model, chain, number, atom)
            row = self._places.get(key)
            if row is not None:
                if numbers[0] > self.numbers[2 * row]:
                    self._put(row, words, xyz, numbers)
                return
            self._places[key] = len(self.models)
        if len(self.models) % 4096 == 0:
            self.source.check_allowance(_BYTES * len(self.models), "the table of atoms", "data")
        self.models.append(model)
        self.xyz.extend(xyz)
        self.numbers.extend(numbers)
        for column, word in zip(self.words.values(), words, strict=True):
            column.append(self._same.setdefault(word, word))

    def has_room(self, count: int) -> bool:
        """Whether so many more atoms surely stay within what the file may take."""
        return _BYTES * (len(self.models) + count) <= self.source.allowance

    def add_many(self, model: int, words: list[list[str]], numbers: list[list[float]]) -> None:
        """`add` for atoms of one model, given by columns; room must have been asked for.

        ``words`` are in the order of the columns of this name, ``numbers`` are x, y, z, occupancy, B factor.
        """
        settled = 0
        for i, altloc in enumerate(words[4]) if self.choice.altloc != "all" and any(words[4]) else ():
            if altloc:
                self._extend(model, words, numbers, settled, i)
                atom, residue, chain, number, _ = (column[i] for column in words)
                x, y, z, occupancy, b_factor = (column[i] for column in numbers)
                self.add(model, (atom, residue, chain, number, altloc), (x, y, z), (occupancy, b_factor))
                settled = i + 1
        self._extend(model, words, numbers, settled, len(words[0]))

    def _extend(
        self, model: int, words: list[list[str]], numbers: list[list[float]], first: int, last: int
    ) -> None:
        """Take atoms without alternatives as they are."""
        if first == last:
            return
        own = [column[first:last] for column in numbers]
        self.models.extend([model] * (last - first))
        self.xyz.extend(joined.from_iterable(zip(*own[:3], strict=True)))
        self.numbers.extend(joined.from_iterable(zip(*own[3:], strict=True)))
        for column, own_words in zip(self.words.values(), words, strict=True):
            column.extend(own_words[first:last])

    def _put(self, row: int, words: Words, xyz: tuple[float, ...], numbers: tuple[float, ...]) -> None:
        self.xyz[3 * row : 3 * row + 3] = array("d", xyz)
        self.numbers[2 * row : 2 * row + 2] = array("d", numbers)
        for column, word in zip(self.words.values(), words, strict=True):
            column[row] = self._same.setdefault(word, word)

    def cloud(self, kind: str) -> Cloud:
        """Points and columns; an error where the file has atoms, but none that was asked for."""
        if not self.models and self.seen:
            raise self.source.error(self._why_empty())
        widest = sum(max(map(len, words), default=1) for words in self.words.values())
        self.source.check_allowance(4 * widest * len(self.models), "the names of atoms", "data")
        numbers = np.array(self.numbers, dtype=np.float64).reshape(-1, 2)
        columns = {name: np.array(words, dtype=str) for name, words in self.words.items()}
        columns |= {"occupancy": numbers[:, 0].copy(), "b_factor": numbers[:, 1].copy()}
        columns["model"] = np.array(self.models, dtype=np.int64)
        return Cloud(np.array(self.xyz, dtype=np.float64).reshape(-1, 3), columns, kind)

    def _why_empty(self) -> str:
        choice = self.choice
        counted = f"has {self.seen} atoms"
        if choice.model is not None and choice.model > self.models_seen:
            return f"{counted} in {self.models_seen} models, so there is no model {choice.model}"
        if choice.chain is not None and choice.chain not in self.chains:
            names = ", ".join(repr(c) for c in list(self.chains)[:8])
            return f"{counted}, but none of chain {choice.chain!r}; its chains are {names}"
        wanted = choice.names()
        if wanted is None:
            return f"{counted}, but none that chain, model and altloc choose"
        names = " or ".join(sorted(wanted)[:8])
        return (
            f"{counted}, but none named {names} (DNA, RNA, a ligand, water?); pass atoms='all' for every atom"
        )
