"""NeuroMorpho.Org: nine classes of neurons."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from heatfield.datasets._dataset import Dataset, need_folder, read_files

from ._fetch import bare_name, fetch, fetch_json

NEUROMORPHO_CLASSES = (
    "basket", "bipolar", "ganglion", "granule", "medium spiny", "mitral", "Purkinje", "pyramidal", "stellate",
)  # fmt: skip
_SITE = "https://neuromorpho.org"
_STEPS = (
    "Pass root= with one folder per class ('basket', ..., 'stellate') of .swc or .swc.gz files, or "
    "download=True to fetch them from neuromorpho.org into root."
)


def load_neuromorpho(
    root: str | Path,
    *,
    budget: int = 1024,
    per_class: int | None = None,
    download: bool = False,
    **options: Any,
) -> Dataset:
    """Neurons of nine classes, ``budget`` points each, uniform by arc length; microns.

    Reconstructions of NeuroMorpho.Org.

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
        Of nine classes.

    Examples
    --------
    >>> import heatfield_bench as hb
    >>> clouds, labels = hb.datasets.load_neuromorpho("neurons")  # doctest: +SKIP
    """
    if download:
        for name in NEUROMORPHO_CLASSES:
            _download(name, Path(root) / name, per_class)
    folder = need_folder(root, "NeuroMorpho", NEUROMORPHO_CLASSES, _STEPS)
    files, labels = [], []
    for name in NEUROMORPHO_CLASSES:
        found = sorted(f for f in (folder / name).iterdir() if f.name.lower().endswith((".swc", ".swc.gz")))
        files += found[:per_class]
        labels += [name] * len(found[:per_class])
    return read_files(files, labels, NEUROMORPHO_CLASSES, budget=budget, **options)


def _download(name: str, folder: Path, most: int | None, site: str = _SITE) -> None:
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
