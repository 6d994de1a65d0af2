"""Train a method on splits of a data set and score it on test clouds, as they are and after changes."""

from __future__ import annotations

import hashlib
import io
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, recall_score
from threadpoolctl import threadpool_limits

import heatfield
from heatfield import HFSClassifier, HFSDescriptor
from heatfield._base.check import Array, HeatFieldWarning
from heatfield._base.files import write_atomically
from heatfield.features.layout import ROUND_OFF, Layout
from heatfield.models.heads import Readout, Scaling
from heatfield.models.read_out import Candidate, Prepared, RoundOffScaler, fit_classifier, magnitudes
from heatfield.options import Head

from ._methods import Method, epochs_within, made, name_of
from ._sets import Loaded

# Splits of a descriptor row that are trained together.
TOGETHER = 20
MOST_KEPT = 32  # tables of features


class Kept(dict[str, Any]):
    """Features by what they are of: the last ones in memory, those of descriptors in a folder too."""

    def __init__(self, folder: str | Path | None = None) -> None:
        super().__init__()
        self.folder = None if folder is None else Path(folder)

    def of(self, name: str, compute: Callable[[], Any]) -> Any:
        """What was kept under a name, or computed now and kept."""
        if name not in self:
            self[name] = compute()
            while len(self) > MOST_KEPT:
                del self[next(iter(self))]  # the oldest
        return self[name]

    def stored(self, name: str, compute: Callable[[], tuple[Array, Seconds]]) -> tuple[Array, Seconds]:
        """`of`, from a file of the folder where this code of the library wrote one."""

        def read_or_write() -> tuple[Array, Seconds]:
            if self.folder is None:
                return compute()
            place = self.folder / f"{hashlib.sha256(f'{source_hash()} {name}'.encode()).hexdigest()[:32]}.npz"
            if place.exists():
                with np.load(place) as file:
                    return file["table"], {what: float(file[what]) for what in file if what != "table"}
            table, seconds = compute()
            content = io.BytesIO()
            np.savez(content, allow_pickle=False, table=table, **seconds)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(place, content.getvalue())
            return table, seconds

        return self.of(name, read_or_write)


Seconds = dict[str, float]


@cache
def source_hash() -> str:
    """Of all code of the library, native and Python: features of other code are computed again."""
    root, digest = Path(heatfield.__file__).parent, hashlib.sha256()
    for file in sorted([*root.rglob("*.py"), *root.glob("*.so")]):
        digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def evaluate(
    method: Method,
    recipe: dict[str, Any],
    data: Loaded,
    splits: Sequence[int],
    changes: Sequence[Change],
    kept: Kept | None = None,
    *,
    n_jobs: int = 1,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Scores of each split: ``scores`` by change, ``seconds``, and what else is known.

    A recipe with ``train_per_class`` trains on that many clouds of each class only, nested: fewer are always
    among more. ``kept`` holds features from one call to the next; without, nothing is taken from before.
    """
    run = _descriptor if method.family == "descriptor" else _estimator
    for split, said, more in run(method, recipe, data, splits, changes, kept, n_jobs):
        truth = data.labels[data.tests[split]]
        found: dict[str, Any] = {
            "scores": {c.label: scores(truth, p) for c, p in zip(changes, said, strict=True)},
            "train": int(train_rows(data, split, recipe).sum()),
            "test": len(truth),
            "seed": split,
        }
        if len(changes) > 1:
            found["changed"] = {
                c.label: int((p != said[0]).sum()) for c, p in zip(changes[1:], said[1:], strict=True)
            }
        yield split, found | more


def scores(labels: NDArray, predicted: NDArray) -> dict[str, float]:
    """Overall accuracy, mean accuracy over classes and macro-F1, in percent.

    Examples
    --------
    >>> import numpy as np
    >>> scores(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    {'oa': 75.0, 'macc': 50.0, 'f1': 42.857}
    """
    classes = np.unique(labels)
    with_ = {"labels": classes, "average": "macro", "zero_division": 0.0}
    found = {
        "oa": accuracy_score(labels, predicted),
        "macc": recall_score(labels, predicted, **with_),
        "f1": f1_score(labels, predicted, **with_),
    }
    return {name: round(100.0 * float(value), 3) for name, value in found.items()}


def train_rows(data: Loaded, split: int, recipe: dict[str, Any]) -> NDArray[np.bool_]:
    """The training clouds of a split."""
    train = ~data.tests[split]
    count = recipe.get("train_per_class")
    if count is None:
        return train
    kept = np.zeros_like(train)
    rng = np.random.default_rng(np.random.SeedSequence([int(data.content[:8], 16), split]))
    for label in np.unique(data.labels):
        kept[rng.permutation(np.flatnonzero(train & (data.labels == label)))[:count]] = True
    return kept


Found = Iterator[tuple[int, list[NDArray], dict[str, Any]]]


def _descriptor(
    method: Method, recipe: dict[str, Any], data: Loaded, splits: Sequence[int],
    changes: Sequence[Change], kept: Kept | None, n_jobs: int,
) -> Found:  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeatFieldWarning)  # gaps are counted in the record
        tables = [features_of(method, data, change, kept, n_jobs=n_jobs) for change in changes]
    features, seconds = tables[0]
    layout = layout_of(method, data.n_dims, features.shape[1])
    known: dict[str, Any] = {
        "columns": features.shape[1],
        "imputed_clouds": int((~np.isfinite(features)).any(axis=1).sum()),
    }
    if len(changes) > 1:
        known["deviation"] = {
            c.label: _deviation(features, t) for c, (t, _) in zip(changes[1:], tables[1:], strict=True)
        }
    for first in range(0, len(splits), TOGETHER):
        chosen = splits[first : first + TOGETHER]
        results = read_out(
            recipe, layout, [t for t, _ in tables], data.labels, [data.tests[k] for k in chosen],
            list(chosen), trains=[train_rows(data, k, recipe) for k in chosen], n_dims=data.n_dims,
        )  # fmt: skip
        for split, (said, took, more) in zip(chosen, results, strict=True):
            taken = {name: round(value, 3) for name, value in seconds.items()} | took
            yield split, said, known | {"seconds": taken} | more


def _deviation(features: Array, after: Array) -> float:
    """The paper's check: the mean over clouds of |F(X) - F(RX)| / |F(X)|, over features that are defined."""
    both = np.isfinite(features) & np.isfinite(after)
    size = np.sqrt((np.where(both, features, 0.0) ** 2).sum(axis=1))
    gap = np.sqrt((np.where(both, features - after, 0.0) ** 2).sum(axis=1))
    known = size > 0
    return float((gap[known] / size[known]).mean()) if known.any() else float("nan")


def _estimator(
    method: Method, recipe: dict[str, Any], data: Loaded, splits: Sequence[int],
    changes: Sequence[Change], kept: Kept | None, n_jobs: int,
) -> Found:  # fmt: skip
    learned = method.family == "learned"
    clouds = {change: changed(data.clouds, change) for change in changes}
    options = dict(recipe["options"])

    def compute() -> tuple[Any, float]:
        started = time.perf_counter()
        first = made(method.kind, options, random_state=0, progress=False, n_jobs=n_jobs)
        return first.point_table(data.clouds), time.perf_counter() - started

    kept = Kept() if kept is None else kept
    table, took = kept.of(f"{data.content} points {options}", compute) if learned else (None, 0.0)
    for split in splits:
        test = data.tests[split]
        train = train_rows(data, split, recipe)
        if "steps" in recipe:
            options["epochs"] = epochs_within(recipe["steps"], int(train.sum()), method.epochs)
        model = made(method.kind, options, random_state=split, progress=False, n_jobs=n_jobs)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", HeatFieldWarning)  # changed clouds are unlike the training clouds
            started = time.perf_counter()
            if table is not None:
                model.fit_features(table.take(train), data.labels[train], n_dims=data.n_dims)
            else:
                model.fit([data.clouds[i] for i in np.flatnonzero(train)], data.labels[train])
            fitted = time.perf_counter()
            said = []
            for change in changes:
                if table is not None and change == NONE:
                    said.append(model.predict_features(table.take(test)))
                else:
                    said.append(np.asarray(model.predict([clouds[change][i] for i in np.flatnonzero(test)])))
            end = time.perf_counter()
        seconds = {"extract": took, "train": fitted - started, "predict": (end - fitted) / len(changes)}
        more: dict[str, Any] = {"seconds": {k: round(v, 3) for k, v in seconds.items()}}
        history = getattr(model, "history_", None)
        if history and method.family != "classifier":  # of one's own: it may be anything
            more |= {"epochs": len(history), "train_accuracy": round(100.0 * history[-1]["accuracy"], 3)}
        yield split, said, more


def descriptor_of(method: Method, n_dims: int) -> Any:
    """The estimator that describes clouds of a descriptor method, all its blocks."""
    found = method.kind(**method.options)
    return found._fit_dims(n_dims) if isinstance(found, HFSDescriptor) else found


def layout_of(method: Method, n_dims: int, width: int = 0) -> Layout:
    """The columns that a descriptor method reads, named as they are in its own table.

    A class of the user's own may have no layout: then it has ``width`` columns, none of them in a block.
    """
    descriptor = descriptor_of(method, n_dims)
    if not hasattr(descriptor, "layout"):
        return Layout(tuple(f"column_{i}" for i in range(width)), {})
    return _chosen(method, descriptor.layout())[0]


def features_of(
    method: Method, data: Loaded, change: Change, kept: Kept | None = None, *, n_jobs: int = 1
) -> tuple[Array, Seconds]:
    """Descriptors (N, columns) of all clouds after a change, and seconds of the clock and of all cores."""

    def compute() -> tuple[Array, Seconds]:
        clouds = changed(data.clouds, change)
        descriptor = made(method.kind, method.options, n_jobs=n_jobs)
        started, used = time.perf_counter(), time.process_time()
        table = np.asarray(descriptor.fit_transform(clouds), dtype=np.float64)
        seconds = {"extract": time.perf_counter() - started, "extract_cpu": time.process_time() - used}
        if table.ndim != 2 or len(table) != len(clouds) or not table.shape[1]:
            wanted = f"a row for each of {len(clouds)} clouds"
            raise ValueError(f"fit_transform of {method.name!r} must give {wanted}, got shape {table.shape}")
        return table, seconds

    name = f"{data.content} {name_of(method.kind)} {dict(method.options)} {change.label}"
    table, seconds = (Kept() if kept is None else kept).stored(name, compute)
    if method.blocks is None:
        return table, seconds
    return table[:, _chosen(method, descriptor_of(method, data.n_dims).layout())[1]], seconds


def _chosen(method: Method, whole: Layout) -> tuple[Layout, Any]:
    if method.blocks is None:
        return whole, slice(None)
    columns: dict[str, slice] = {}
    at: list[int] = []
    for block, place in whole.columns.items():
        if block in method.blocks:
            columns[block] = slice(len(at), len(at) + place.stop - place.start)
            at += range(place.start, place.stop)
    return Layout(tuple(whole.names[i] for i in at), columns), at


def read_out(
    recipe: dict[str, Any], layout: Layout, tables: Sequence[Array], labels: NDArray,
    tests: Sequence[NDArray[np.bool_]], seeds: Sequence[int],
    *, trains: Sequence[NDArray[np.bool_]] | None = None, n_dims: int = 3,
) -> list[tuple[list[NDArray], Seconds, dict[str, Any]]]:  # fmt: skip
    """Train on the first table, split by split, and predict the test rows of all tables.

    The first table holds the clouds as they are; the others are the same clouds after a change. For each
    split the labels of the test rows by every table, seconds, and what "auto" chose.
    """
    chosen = [~test for test in tests] if trains is None else list(trains)
    started, used = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        rows, known = [tables[0][train] for train in chosen], [labels[train] for train in chosen]
        if recipe["head"] in ("auto", "default"):
            models = [_chosen_head(recipe, n_dims, *pair) for pair in zip(rows, known, strict=True)]
        else:
            models = [(head, {}) for head in _heads(recipe, layout, rows, known, seeds)]
        spent = {"train": time.perf_counter() - started, "train_cpu": time.process_time() - used}
        spent = {name: round(value / len(chosen), 3) for name, value in spent.items()}
        found = []
        for (predict, more), test in zip(models, tests, strict=True):
            started = time.perf_counter()
            said = [predict(table[test]) for table in tables]
            seconds = (time.perf_counter() - started) / len(tables)
            found.append((said, spent | {"predict": round(seconds, 4)}, more))
    return found


Predict = Callable[[Array], NDArray]


def _heads(
    recipe: dict[str, Any], layout: Layout, tables: list[Array], labels: list[NDArray], seeds: Sequence[int]
) -> list[Predict]:
    """For each table a function from rows to labels."""
    scaler = RoundOffScaler(ROUND_OFF[np.dtype(np.float64)], magnitudes(layout))
    classes = np.unique(np.concatenate(labels))
    training = [
        Prepared.of(table, np.searchsorted(classes, own), scaler, recipe.get("normalise", "standard"))
        for table, own in zip(tables, labels, strict=True)
    ]
    if recipe["head"] == "mlp":
        from ._mlps import train_mlps

        rows, known = [own.rows for own in training], [own.target for own in training]
        networks = train_mlps(rows, known, len(classes), seeds, max_epochs=recipe["epochs"])
        pairs = zip(training, networks, strict=True)
        return [partial(_by_network, own.scaling, network, classes) for own, network in pairs]
    found: list[Predict] = []
    for own, seed in zip(training, seeds, strict=True):
        head = fit_classifier(Candidate("", recipe["head"]), own, Head(random_state=seed), None)
        found.append(partial(_by_head, Readout(own.scaling, head), classes))
    return found


def _by_network(scaling: Scaling, network: Any, classes: NDArray, rows: Array) -> NDArray:
    return classes[network.scores(scaling.rows(rows)).argmax(axis=1)]


def _by_head(readout: Readout, classes: NDArray, rows: Array) -> NDArray:
    return classes[readout.predict(rows)]


def _chosen_head(
    recipe: dict[str, Any], n_dims: int, table: Array, labels: NDArray
) -> tuple[Predict, dict[str, Any]]:
    """What the library itself chooses, and its name."""
    options = {} if recipe["head"] == "default" else recipe["options"]
    model = HFSClassifier(**options, head="auto").fit_features(table, labels, n_dims=n_dims)
    scores = model.head_scores_
    return model.predict_features, {"chosen": max(scores, key=scores.__getitem__)}


@dataclass(frozen=True)
class Change:
    """A change of clouds, and how strong it is.

    ``rotation``: each cloud by its own rotation (Haar measure). ``noise``: Gaussian, with the level times the
    root mean square distance from the centroid as standard deviation. ``missing``: the level is the
    share of points that is left out at random. ``outliers``: so many points, as a share, are added uniformly
    in the box of the cloud. ``none``: as it is.
    """

    name: str
    level: float = 0.0

    @property
    def label(self) -> str:
        """As records and tables name it."""
        return self.name if self.level == 0.0 else f"{self.name} {self.level:g}"


NONE = Change("none")
ROTATION = Change("rotation")
ROBUSTNESS = (
    *(Change("noise", level) for level in (0.01, 0.03, 0.1)),
    *(Change("missing", level) for level in (0.25, 0.5, 0.75)),
    *(Change("outliers", level) for level in (0.01, 0.05, 0.2)),
)


def changed(clouds: list[Array], change: Change) -> list[Array]:
    """The clouds after the change; that of a cloud depends on its number alone.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = np.random.default_rng(0).normal(size=(40, 3))
    >>> turned, = changed([cloud], ROTATION)
    >>> bool(np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(cloud, axis=1)))
    True
    >>> [len(changed([cloud], Change(*c))[0]) for c in (("missing", 0.25), ("outliers", 0.05))]
    [30, 42]
    """
    if change.name == "none":
        return clouds
    seed = zlib.crc32(change.label.encode())
    return [
        _one_changed(cloud, change, np.random.default_rng(np.random.SeedSequence([seed, number])))
        for number, cloud in enumerate(clouds)
    ]


def _one_changed(cloud: Array, change: Change, rng: Generator) -> Array:
    level, (m, n) = change.level, cloud.shape
    if change.name == "rotation":
        return cloud @ haar_rotation(n, rng).T
    if change.name == "noise":
        size = np.sqrt(((cloud - cloud.mean(axis=0)) ** 2).sum(axis=1).mean())
        return cloud + level * size * rng.normal(size=cloud.shape)
    if change.name == "missing":
        return cloud[np.sort(rng.permutation(m)[: max(1, round((1.0 - level) * m))])]
    return np.concatenate([cloud, rng.uniform(cloud.min(axis=0), cloud.max(axis=0), (round(level * m), n))])


def haar_rotation(n: int, rng: Generator) -> Array:
    """A rotation of n dimensions, uniform by the Haar measure: the paper's recipe."""
    q, r = np.linalg.qr(rng.normal(size=(n, n)))
    q = q * np.sign(np.diag(r))
    if np.linalg.det(q) < 0:
        q[:, 0] = -q[:, 0]
    return q


def alignment(clouds: list[Array]) -> float:
    """The norm of the mean principal axis: 1 where all clouds point the same way, near 0 where none do.

    The sign of each axis is that with a positive last coordinate (the up axis of scans); the paper fixes
    a hemisphere without saying which.
    """
    axes = []
    for cloud in clouds:
        if len(cloud) < 2:
            continue
        _, vectors = np.linalg.eigh(np.cov(cloud.T))
        axis = vectors[:, -1]
        axes.append(axis if axis[-1] >= 0 else -axis)
    return float(np.linalg.norm(np.mean(axes, axis=0)))
