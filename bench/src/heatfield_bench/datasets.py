"""The paper's six real data sets, read from the files that their authors publish.

What is downloaded goes on where it broke off, and is checked before it counts as there.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from heatfield import __version__
from heatfield._base.progress import progress_bar
from heatfield.datasets import Dataset, load_folder
from heatfield.datasets._dataset import need_folder, read_files, take_each
from heatfield.datasets._folder import read_csv
from heatfield.io import ReadError, need
from heatfield.sampling import random_rows, seed_from_name

__all__ = [
    "ALLEN_STRUCTURES", "FOR_SPECIES", "NEUROMORPHO_CLASSES", "load_allen", "load_atlas1",
    "load_for_species20k", "load_intra", "load_neuromorpho", "load_scop",
]  # fmt: skip

ALLEN_STRUCTURES = ("CETN2", "HIST1H2BJ", "NUP153", "RAB5A", "SLC25A17", "SMC1A", "SON")
_ALLEN = (
    "https://allencell.s3.amazonaws.com/aics/morphology_appropriate_representation_learning/"
    "preprocessed_data/other_punctate"
)
FOR_SPECIES = (
    "Pinus_sylvestris", "Fagus_sylvatica", "Acer_campestre", "Carpinus_betulus", "Quercus_faginea",
    "Picea_abies", "Acer_pseudoplatanus", "Pinus_nigra", "Tilia_cordata", "Pseudotsuga_menziesii",
    "Pinus_contorta", "Quercus_ilex", "Eucalyptus_miniata", "Ulmus_laevis", "Crataegus_monogyna",
)  # fmt: skip
_TREES, _TREE_TABLE = 13255198, "tree_metadata_dev.csv"
INTRA_CLASSES = ("vessel", "aneurysm")
NEUROMORPHO_CLASSES = (
    "basket", "bipolar", "ganglion", "granule", "medium spiny", "mitral", "Purkinje", "pyramidal", "stellate",
)  # fmt: skip
_NEURONS = "https://neuromorpho.org"
_SCOP, _SCOP_FILE = 15259912, "SCOPDataset.residue.avro.gz"


def load_allen(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = 1200,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """Interphase cells (cell_stage M0), ``per_class`` of each structure by CellId, ``budget`` points each.

    Seven intracellular structures of the Allen Institute for Cell Science, ``other_punctate``.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``manifest.csv`` (pointcloud_path, CellId, structure_name, cell_stage, split) and the PLY files.
    download : bool
        Fetch what is missing from the institute's public bucket first.
    budget : int
        Points per cell.
    per_class : int, optional
        None for all.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_allen("allen")  # doctest: +SKIP
    """
    if download:
        fetch(f"{_ALLEN}/manifest.csv", Path(root) / "manifest.csv")
    steps = "Pass root= with manifest.csv and <CellId>.ply of other_punctate, or download=True to fetch them."
    folder = need_folder(root, "Allen other_punctate", ["manifest.csv"], steps)
    rows = _columns(folder / "manifest.csv", ("CellId", "structure_name", "cell_stage"))
    chosen = [(cell, name) for cell, name, stage in rows if stage == "M0" and name in ALLEN_STRUCTURES]
    files, labels = take_each(
        [folder / bare_name(f"{cell}.ply") for cell, _ in chosen],
        [name for _, name in chosen],
        ALLEN_STRUCTURES,
        per_class,
    )
    for file in files if download else ():
        fetch(f"{_ALLEN}/{file.name}", file)
    return read_files(files, labels, ALLEN_STRUCTURES, budget=budget, **options)


def load_atlas1(root: str | Path, *, budget: int | None = 1024, **options: Any) -> Dataset:
    """ATLAS-1, one folder per class, as `load_folder` reads it, with the benchmark's budget of points.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
    budget : int, optional
        Most points per cloud.
    **options :
        Of `load_folder`.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_atlas1("atlas1")  # doctest: +SKIP
    """
    steps = "No public address is known: ask its authors, arrange one folder per class, and pass root=."
    return load_folder(need_folder(root, "ATLAS-1", [], steps), budget=budget, **options)


def load_for_species20k(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = 229,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """FOR-species20K: terrestrial scans (TLS) of 15 species, the first 229 trees of each by file name.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``tree_metadata_dev.csv`` and the files it names, such as ``train/00070.las``.
    download : bool
        Fetch and unpack Zenodo record 13255198 first, with the checksums stated there.
    budget : int
        Most points per tree.
    per_class : int, optional
        None for all trees.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_for_species20k("for_species20k")  # doctest: +SKIP
    """
    if download and not (Path(root) / _TREE_TABLE).exists():
        fetch_zenodo(_TREES, (_TREE_TABLE, ".zip"), Path(root))
        for archive in Path(root).glob("*.zip"):
            with zipfile.ZipFile(archive) as file:  # extractall keeps every member inside root
                file.extractall(root)
    steps = (
        f"Download {_TREE_TABLE} and the training trees of https://zenodo.org/records/{_TREES}, unpack them "
        "so that root/train/00070.las exists, and pass root=; or pass download=True to do that into root."
    )
    folder = need_folder(root, "FOR-species20K", [_TREE_TABLE], steps)
    rows = _columns(folder / _TREE_TABLE, ("species", "data_type", "filename"))
    trees = [(name, file) for name, kind, file in rows if kind == "TLS" and name in FOR_SPECIES]
    files, labels = take_each(
        [folder / file.lstrip("/") for _, file in trees], [name for name, _ in trees], FOR_SPECIES, per_class
    )
    return read_files(files, labels, FOR_SPECIES, budget=budget, **options)


def load_intra(root: str | Path, *, budget: int | None = 1024, **options: Any) -> Dataset:
    """IntrA: 1,694 healthy vessel segments and 215 + 116 aneurysms, with the five folds of the source.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        ``generated/vessel/ad/*.ad``, ``generated/aneurysm/ad/*.ad``, ``annotated/ad/*-_norm.ad`` and
        ``fileSplit/cls/{ann_clsSplit,negSplit}_{0..4}.txt``; the last two where present.
    budget : int, optional
        Most points per segment.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset
        ``folds[k]`` marks the files that split k of the source names.

    Notes
    -----
    An ``.ad`` file is text: x y z nx ny nz label.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_intra("IntrA")  # doctest: +SKIP
    """
    steps = (
        "IntrA is given out on request (github.com/intra3d2019/IntrA); unpack it so that "
        "root/generated/vessel/ad and root/generated/aneurysm/ad exist, and pass root=."
    )
    folder = need_folder(root, "IntrA", ["generated/vessel/ad", "generated/aneurysm/ad"], steps)
    healthy = sorted((folder / "generated/vessel/ad").glob("*.ad"))
    ill = sorted((folder / "generated/aneurysm/ad").glob("*.ad"))
    ill += sorted((folder / "annotated/ad").glob("*-_norm.ad"))
    labels = ["vessel"] * len(healthy) + ["aneurysm"] * len(ill)
    found = read_files([*healthy, *ill], labels, INTRA_CLASSES, budget=budget, dims=3, **options)
    given = range(5) if (folder / "fileSplit/cls").is_dir() else ()
    folds = tuple(_fold(folder, k, found.files) for k in given)
    return Dataset(found.clouds, found.labels, found.classes, found.files, folds)


def _fold(folder: Path, k: int, files: tuple[str, ...]) -> np.ndarray:
    names: set[str] = set()
    for stem in ("ann_clsSplit", "negSplit"):
        path = folder / "fileSplit/cls" / f"{stem}_{k}.txt"
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(path, str(error)) from None
        names |= {line.strip().replace("\\", "/").rsplit("/", 1)[-1] for line in lines}
    return np.array([Path(file).name in names for file in files])


def load_neuromorpho(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = None,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """NeuroMorpho.Org: neurons of nine classes, ``budget`` points each, uniform by arc length; microns.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        Folders named after the classes (``heatfield_bench.datasets.NEUROMORPHO_CLASSES``), with SWC files.
    per_class : int, optional
        Only the first so many of each class, by name.
    download : bool
        Fetch what is missing first. The site states no checksums.
    budget : int
        Points per neuron.
    **options :
        Of `heatfield.read_cloud`.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_neuromorpho("neurons")  # doctest: +SKIP
    """
    for name in NEUROMORPHO_CLASSES if download else ():
        _download_neurons(name, Path(root) / name, per_class)
    steps = (
        "Pass root= with one folder per class ('basket', ..., 'stellate') of .swc or .swc.gz files, or "
        "download=True to fetch them from neuromorpho.org into root."
    )
    folder = need_folder(root, "NeuroMorpho", NEUROMORPHO_CLASSES, steps)
    files, labels = [], []
    for name in NEUROMORPHO_CLASSES:
        found = sorted(f for f in (folder / name).iterdir() if f.name.lower().endswith((".swc", ".swc.gz")))
        files += found[:per_class]
        labels += [name] * len(found[:per_class])
    return read_files(files, labels, NEUROMORPHO_CLASSES, budget=budget, **options)


def _download_neurons(name: str, folder: Path, most: int | None, site: str = _NEURONS) -> None:
    page, done = 0, 0
    while True:
        query = f"{site}/api/neuron/select?q=cell_type:{quote(name.lower())}&page={page}&size=100"
        reply = fetch_json(query)
        for neuron in reply.get("_embedded", {}).get("neuronResources", []):
            if most is not None and done >= most:
                return
            file = bare_name(quote(neuron["neuron_name"]) + ".CNG.swc")
            fetch(f"{site}/dableFiles/{quote(neuron['archive'].lower())}/CNG%20version/{file}", folder / file)
            done += 1
        page += 1
        if page >= int(reply.get("page", {}).get("totalPages", 0)):
            return


def load_scop(
    root: str | Path,
    *,
    budget: int | None = 128,
    n_classes: int = 15,
    per_class: int | None = 97,
    seed: int = 0,
    download: bool = False,
) -> Dataset:
    """SCOP by ProteinShake: alpha carbons of the 15 most populated folds, 97 proteins each by identifier.

    Long chains are subsampled to ``budget`` without replacement; short ones stay as they are.

    Guide: ``heatfield docs guide/datasets``.

    Parameters
    ----------
    root : path-like
        The folder of ``SCOPDataset.residue.avro.gz``.
    download : bool
        Fetch it from Zenodo record 15259912 first, with the checksum stated there.
    budget : int, optional
        Most points per protein; None for all.
    n_classes, per_class : int
        How many of the most populated folds, and proteins of each.
    seed : int
        Of the choice of points.

    Returns
    -------
    dataset : Dataset

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_scop("scop")  # doctest: +SKIP
    """
    if download and not (Path(root) / _SCOP_FILE).exists():
        fetch_zenodo(_SCOP, (_SCOP_FILE,), Path(root))
    steps = (
        f"Download {_SCOP_FILE} from https://zenodo.org/records/{_SCOP} and pass its folder as root=, "
        "or pass download=True."
    )
    path = need_folder(root, "SCOP", [_SCOP_FILE], steps) / _SCOP_FILE
    proteins = _proteins(path)
    sizes = Counter(fold for _, fold, _ in proteins)
    classes = sorted(sizes, key=lambda fold: (-sizes[fold], fold))[:n_classes]
    clouds, labels, names = [], [], []
    for label, fold in enumerate(classes):
        for name, _, points in sorted((p for p in proteins if p[1] == fold), key=lambda p: p[0])[:per_class]:
            if budget is not None:
                rng = np.random.default_rng(seed_from_name(name, seed))
                points = points[random_rows(len(points), budget, rng)]
            clouds.append(points)
            labels.append(label)
            names.append(f"{path}#{name}")
    return Dataset(clouds, np.array(labels, dtype=np.int64), tuple(classes), tuple(names))


def _proteins(path: Path) -> list[tuple[str, str, np.ndarray]]:
    fastavro = need("fastavro", "SCOP by ProteinShake", verb="needs")
    found = []
    number = 0
    try:
        with gzip.open(path) as file:
            for number, entry in enumerate(fastavro.reader(file)):
                residue, protein = entry["residue"], entry["protein"]
                points = np.stack([np.asarray(residue[c], dtype=np.float64) for c in "xyz"], axis=1)
                if not np.isfinite(points).all():
                    problem = f"protein {protein['ID']} has coordinates that are not finite"
                    raise ReadError(path, problem, f"protein {number}")
                if protein.get("SCOP-CF") is not None:
                    found.append((str(protein["ID"]), str(protein["SCOP-CF"]), points))
    except ReadError:
        raise
    except Exception as error:  # fastavro raises many kinds of errors on a damaged record
        raise ReadError(path, f"damaged: {type(error).__name__} {error}", f"protein {number}") from None
    return found


def _columns(path: Path, names: Sequence[str]) -> list[list[str]]:
    """These columns of a table, of all rows that are whole."""
    rows = read_csv(path)
    head = [name.strip() for name in rows[0][1]] if rows else []
    missing = set(names) - set(head)
    if missing:
        raise ReadError(path, f"has no column {', '.join(sorted(missing))}", "line 1")
    return [[row[head.index(name)] for name in names] for _, row in rows[1:] if len(row) == len(head)]


# --- files from the net --------------------------------------------------------------

_PIECE = 2**20
_SECONDS = 30
_SCHEMES = ("https",)


def fetch(url: str, target: Path, checksum: str | None = None) -> Path:
    """Download ``url`` to ``target`` unless it is there; ``checksum`` is "md5:..." or "sha256:...".

    What has arrived is kept in ``target.part``; the next call asks for the rest only. A file with
    another checksum than promised is removed and reported. Certificates are always checked.
    """
    if target.exists():
        return target
    _require_https(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": f"heatfield/{__version__}"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with _opener().open(request, timeout=_SECONDS) as reply:
            resumed = reply.status == 206
            total = int(reply.headers.get("Content-Length") or 0) + (have if resumed else 0)
            with open(part, "ab" if resumed else "wb") as file:
                done = have if resumed else 0
                with progress_bar(
                    total=total or None, initial=done, unit="B", unit_scale=True, desc=target.name
                ) as bar:
                    while piece := reply.read(_PIECE):
                        file.write(piece)
                        bar.update(len(piece))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416 or not have:  # 416: the part is already the whole
            raise OSError(f"{url}: {error.code} {error.reason}") from None
        total = have
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise OSError(f"cannot reach {url} ({reason}); what has arrived is kept, try again later") from None
    if total and part.stat().st_size != total:
        raise OSError(
            f"{url} broke off after {part.stat().st_size} of {total} bytes; try again, it goes on from there"
        )
    if checksum is not None:
        kind, _, expected = checksum.partition(":")
        with open(part, "rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        if found != expected.lower():
            part.unlink()
            raise OSError(f"{url}: {kind} is {found}, expected {expected}; the download was removed")
    os.replace(part, target)
    return target


def _require_https(url: str) -> None:
    """A link that a server sent may name a file of this machine."""
    if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
        raise OSError(f"{url!r} is not fetched: only https is")


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Redirections are held to the same rule."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        try:
            _require_https(newurl)
        except OSError:
            fp.close()  # nobody else will: the connection would stay open until it is collected
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_HttpsOnly)


def bare_name(key: str) -> str:
    """The last part of a name that a server sent, so that it cannot leave the folder; OSError for none."""
    name = key.replace("\\", "/").rpartition("/")[2]
    if name in ("", ".", "..") or "\0" in name or ":" in name:
        raise OSError(f"the server names a file {key!r}, which is no file name")
    return name


def fetch_json(url: str) -> Any:
    """A reply in JSON."""
    _require_https(url)
    request = urllib.request.Request(url, headers={"User-Agent": f"heatfield/{__version__}"})
    try:
        with _opener().open(request, timeout=_SECONDS) as reply:
            return json.load(reply)
    except (urllib.error.URLError, OSError, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise OSError(f"cannot read {url} ({getattr(error, 'reason', error)})") from None


def fetch_zenodo(
    record: int, names: tuple[str, ...], folder: Path, api: str = "https://zenodo.org/api/records"
) -> None:
    """Files of a Zenodo record that end in one of ``names``, with the checksums that Zenodo states."""
    entries = fetch_json(f"{api}/{record}").get("files", [])
    wanted = [entry for entry in entries if entry["key"].endswith(names)]
    if not wanted:
        raise OSError(f"Zenodo record {record} has no file that ends in {', '.join(names)}")
    for entry in wanted:
        fetch(entry["links"]["self"], folder / bare_name(entry["key"]), entry.get("checksum"))
