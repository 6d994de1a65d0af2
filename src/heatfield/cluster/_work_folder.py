"""The folder of a survey: whose it is, which tiles go where, and what is kept in it during the work."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from ..core.costs import Costs, costs, read_costs, write_costs
from ..io import is_remote, read_cloud
from ._settings import Job, Tile

WORK = ".heatfield-survey"
_KEPT = re.compile(r"[a-z]+(-\d{3}-\d\.\d\de[-+]\d\d)?-\d{6}-([0-9a-f]{24})\.(npz|npy)|\..*\.part")
_COSTS = "costs.json"


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that means the same in every process; a URL as it is."""
    name = os.fspath(path)
    return name if is_remote(name) else os.path.abspath(name)


def dimension_of(paths: Sequence[str], max_bytes: int | None) -> int:
    """How many coordinates the points of the tiles have: 3 for LAS, else those of the first sound tile."""
    problem: Exception | None = None
    for path in paths:
        if path.lower().endswith((".las", ".laz")):
            return 3
        try:
            n = int(read_cloud(path, max_bytes=max_bytes).points.shape[1])
        except Exception as error:  # named again when the tiles are read
            problem = problem or error
            continue
        if n > 3:
            raise ValueError(f"{path!r} has points in {n} dimensions; a survey takes at most 3")
        return n
    raise ValueError(f"none of the {len(paths)} tiles can be read: {problem}")


def tiles_in(folder: Path, paths: Sequence[str], format: str | None) -> tuple[Tile, ...]:
    """Where each tile goes: under its own name, below the folders that tiles of one name are in."""
    if not paths:
        raise ValueError("there are no tiles")
    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise ValueError(f"the tile {twice[0]!r} is given twice; its points would count twice")
    local = [path.partition("://")[2] if is_remote(path) else path for path in paths]
    base = os.path.commonpath([os.path.dirname(path) or "." for path in local])
    names = [_bare(os.path.relpath(path, base)) for path in local]
    count = Counter(name.casefold() for name in names)
    tiles = []
    for number, (path, name) in enumerate(zip(paths, names, strict=True)):
        if count[name.casefold()] > 1:
            name = f"{name}-{number:06d}"
        tiles.append(Tile(number, path, str(folder.absolute() / f"{name}.{format or _suffix(path)}")))
    targets = {os.path.realpath(tile.target) for tile in tiles}
    for path in paths:
        if not is_remote(path) and os.path.realpath(path) in targets:
            raise ValueError(f"the survey would replace its own tile {path!r}; give another folder")
    return tuple(tiles)


def _bare(name: str) -> str:
    path = Path(name)
    for suffix in (".gz", path.suffix if path.suffix.lower() != ".gz" else Path(path.stem).suffix, ".copc"):
        if suffix and path.name.lower().endswith(suffix.lower()):
            path = path.with_name(path.name[: -len(suffix)])
    return str(path)


def _suffix(path: str) -> str:
    name = path.lower().removesuffix(".gz")
    return next((kind for kind in ("las", "laz") if name.endswith(f".{kind}")), "parquet")


def own_folder(folder: Path) -> None:
    """Make the folder, or take it where an earlier survey made it; a ValueError where it is another's."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write to {str(folder)!r}: it is a file, not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / WORK).is_dir():
        raise ValueError(
            f"cannot write to {str(folder)!r}: the folder exists and is not one of a survey; "
            "give another name"
        )
    (folder / WORK).mkdir(parents=True, exist_ok=True)


def fixed_costs(folder: Path) -> Costs:
    """The prices by which all workers plan: measured once, so that the next run makes the same choices."""
    place = folder / WORK / _COSTS
    found = read_costs(place)
    if found is None:
        found = costs()
        write_costs(place, found)
    return found


def clear_work(job: Job, *, finished: bool) -> None:
    """Remove what other configurations left, and all but the marks of finished tiles where all is done."""
    for file in Path(job.folder).glob("*"):
        known = _KEPT.fullmatch(file.name)
        if known is None:
            continue
        own = known[2] == job.digest
        if not own or (finished and not file.name.startswith("done-")):
            file.unlink(missing_ok=True)
    for tile in job.tiles:  # what a killed worker left of a tile
        target = Path(tile.target)
        for file in target.parent.glob(f".{escape(target.name)}.*.part"):
            file.unlink(missing_ok=True)
