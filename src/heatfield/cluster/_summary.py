"""The result of a survey: of the whole cloud, and of what was done."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._base.check import Array
from .._base.files import write_atomically
from .._base.summary import Summarised, Summary, plural, shown

NAME = "survey.json"


@dataclass(repr=False)
class Survey(Summarised):
    """One cloud made of tiles: its global signatures, its descriptor, and how it was computed.

    Guide: ``heatfield docs guide/cluster``.

    Attributes
    ----------
    points : int
        In all tiles; those of tiles that could not be read are missing.
    scales : (T,)
        Absolute diffusion times, the same for all tiles.
    spacing, diameter : float
        r_nn and the exact largest distance. The spacing is NaN where scales were given.
    energy, response, roughness, relative_roughness : (T,)
    hds : dict
        ``composition`` and ``contrast`` (T, K), ``centers``, ``sigma``.
    descriptor : dict of str to float
        The descriptor "desc" of the whole; percentiles err by at most ``percentile_error`` of themselves.
    plan : list of dict
        For every scale: how it was computed, its halo or grid, and how many points were summed directly.
    tiles : list of dict
        ``path``, ``target``, ``points`` (owned) and ``in_file`` of every tile.
    errors : list of (file, place, problem)
    settings : dict
        Options of the survey.
    digest, version : str
        Of options and tiles; of the library.
    percentile_error : float
    seconds : dict of str to float
        By pass.
    steps : dict of str to float
        Of the last pass by step, added up over tiles: halo, the ways of summing, signatures (read off the
        sums, in the order of the file), statistics, writing.

    Examples
    --------
    >>> import tempfile, heatfield as hf
    >>> from pathlib import Path
    >>> points, _ = hf.datasets.make_mixed_shape()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, part in (("a", points[:200]), ("b", points[200:400])):
    ...         hf.write_points(f"{folder}/{name}.parquet", part)
    ...     tiles = sorted(Path(folder).glob("*.parquet"))
    ...     survey = hf.cluster.survey(tiles, f"{folder}/out", scales=[0.01, 0.04])
    ...     again = hf.cluster.Survey.read(Path(folder, "out"))
    ...     again.write(Path(folder))
    >>> again.points, again.energy.shape
    (400, (2,))
    """

    points: int
    scales: Array
    spacing: float
    diameter: float
    energy: Array
    response: Array
    roughness: Array
    relative_roughness: Array
    hds: dict[str, Any]
    descriptor: dict[str, float]
    plan: list[dict[str, Any]]
    tiles: list[dict[str, Any]]
    errors: list[tuple[str, str, str]]
    settings: dict[str, Any]
    digest: str
    version: str
    percentile_error: float
    seconds: dict[str, float] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """``survey.json``, in one step.

        Parameters
        ----------
        folder : Path
        """
        text = json.dumps(vars(self), default=_plain, indent=1, sort_keys=True)
        write_atomically(folder / NAME, (text + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> Survey | None:
        """What `write` wrote; None where there is nothing, or something else.

        Parameters
        ----------
        folder : Path

        Returns
        -------
        survey : Survey or None
        """
        try:
            with open(folder / NAME, "rb") as file:
                found = json.loads(file.read())
            for name in ("scales", "energy", "response", "roughness", "relative_roughness"):
                found[name] = np.array(found[name], dtype=float)
            found["errors"] = [(str(a), str(b), str(c)) for a, b, c in found["errors"]]
            found["hds"] = {k: v if k == "sigma" else np.array(v, float) for k, v in found["hds"].items()}
            return cls(**found)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def _summary(self) -> Summary:
        lines: list[tuple[str, str | list[str]]] = [
            ("scales", shown(f"{np.sqrt(t):.4g}" for t in self.scales) + " (sqrt(t))"),
            ("spacing, diameter", f"{self.spacing:.4g}, {self.diameter:.6g}"),
            ("plan", [f"scale {entry['scale']}: {entry['reason']}" for entry in self.plan]),
        ]
        if self.errors:
            lines.append(("errors", [f"{file}: {problem}" for file, _, problem in self.errors[:10]]))
        title = f"Survey of {plural(self.points, 'point')} in {plural(len(self.tiles), 'tile')}"
        return Summary(title, lines, [])


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
