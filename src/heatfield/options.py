"""Every option once: its type, its default, its check and its help text.

An option is a field of one of the groups below. Estimators inherit the groups that they take, functions that
work on files take them as keywords (`takes`); the parsers of the command line and the lists of parameters in
the documentation are made of them.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

from ._base.check import as_lengths, check_choice, check_count, check_dtype, check_number, thread_count
from .channels import CHANNELS, table_channels

C = TypeVar("C", bound=type)
R = TypeVar("R")
Check = Callable[[Any, str], Any]

SKELETON_POINTS = 1024  # of a skeleton or a mesh, where no other number is asked for


# --- how options are declared --------------------------------------------------------


def option(
    text: str,
    check: Check | None = None,
    *,
    default: Any,
    choices: Sequence[str] = (),
    kw_only: bool = True,
    on_command: bool = True,
    compare: bool = True,
) -> Any:
    """An option: what it means, the check that its value must pass unless it is None, and its default.

    Options that are not ``on_command`` are for Python only.
    """
    if choices and check is None:
        check = one_of(choices)
    notes = {"text": text, "check": check, "choices": tuple(choices), "on_command": on_command}
    return field(default=default, kw_only=kw_only, compare=compare, metadata=notes)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
def options(kind: C) -> C:
    """Decorate a group of options, or an estimator that has some.

    Its constructor only stores them, as scikit-learn wants it; `check_options` checks them. A line
    ``{options}`` in its docstring becomes the list of those that the docstring does not describe itself.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(kind)
    owners = [*made.__mro__[1:], made]
    order = [name for owner in owners for name in vars(owner).get("__annotations__", {})]
    entries = sorted(fields(made), key=lambda entry: order.index(entry.name))
    made.__doc__ = _with_options(kind.__doc__, entries)
    return made


def count(least: int) -> Check:
    """An integer of at least ``least``."""
    return lambda value, name: check_count(value, name, least)


def number(above: float | None = None, least: float | None = None, below: float | None = None) -> Check:
    """A finite number within bounds."""
    return lambda value, name: check_number(value, name, above=above, least=least, below=below)


def one_of(choices: Sequence[str]) -> Check:
    """One of a few words."""
    return lambda value, name: check_choice(value, name, choices)


def names(value: Any, name: str) -> tuple[str, ...]:
    """Words, not the letters of one."""
    if isinstance(value, str):
        raise ValueError(f"{name} must be a sequence of names, got the string {value!r}; pass ({value!r},)")
    found = tuple(value)
    if not all(isinstance(word, str) for word in found):
        raise ValueError(f"{name} must be names, got {value!r}")
    return found


def _jobs(value: Any, _: str) -> Any:
    thread_count(value)
    return value


def check_options(given: Any, *groups: type) -> dict[str, Any]:
    """The checked values of an object's options, of the groups or all; a ValueError repeats a wrong one."""
    chosen = [entry for group in groups for entry in fields(group)] or fields(given)
    out = {}
    for entry in chosen:
        value, check = getattr(given, entry.name), entry.metadata.get("check")
        out[entry.name] = value if check is None or value is None else check(value, entry.name)
    return out


def choices_of(group: type, name: str) -> tuple[str, ...]:
    """The words that an option may be."""
    return next(entry.metadata["choices"] for entry in fields(group) if entry.name == name)


def values_of(given: Any, *groups: type) -> dict[str, Any]:
    """The options of some groups as an object holds them, unchecked."""
    return {entry.name: getattr(given, entry.name) for group in groups for entry in fields(group)}


def takes(*groups: type, leave_out: Sequence[str] = ()) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Decorate a function that has a parameter for each group, of the group's name in small letters.

    It is called with the options themselves, as keywords; they are checked before it runs. Options that are
    left out keep their defaults.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        declared = inspect.signature(function)
        into = {group.__name__.lower(): group for group in groups}
        entries = {e.name: e for group in groups for e in fields(group) if e.name not in leave_out}
        parameters = [p for name, p in declared.parameters.items() if name not in into]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=e.default, annotation=e.type)
            for name, e in entries.items()
        ]
        known = [p.name for p in parameters]
        plain = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        positional = [name for name, entry in entries.items() if not entry.kw_only]

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> R:
            given |= zip(positional, arguments[len(plain) :], strict=False)
            arguments = arguments[: len(plain)]
            for name in given:
                if name not in known:
                    close = difflib.get_close_matches(name, known, 1)
                    hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(known)}"
                    raise TypeError(f"{function.__name__}() has no option {name!r}{hint}")
            filled = {}
            for name, group in into.items():  # groups may share an option
                filled[name] = group(**{e.name: given[e.name] for e in fields(group) if e.name in given})
                vars(filled[name]).update(check_options(filled[name]))
            own = {name: value for name, value in given.items() if name not in entries}
            return function(*arguments, **own, **filled)

        call.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__doc__ = _with_options(function.__doc__, list(entries.values()))
        call.groups = groups  # type: ignore[attr-defined]
        return call

    return decorate


def _with_options(text: str | None, entries: Sequence[Field[Any]]) -> str | None:
    """A docstring whose line ``{options}`` is replaced by the entries that it does not describe itself."""
    if not text or "{options}" not in text:
        return text
    all_lines = text.splitlines()
    mark = next(i for i, line in enumerate(all_lines) if "{options}" in line)
    indent = all_lines[mark].partition("{")[0]
    headings = [i for i, line in enumerate(all_lines) if line.strip() and not line.strip(" -")]
    first = max((i for i in headings if i < mark), default=0)  # of the section that the mark stands in
    last = min((i for i in headings if i > mark), default=len(all_lines))
    described = {
        word.strip()
        for line in all_lines[first:last]
        if line.startswith(indent) and not line[len(indent) :].startswith(" ") and " :" in line
        for word in line.partition(" :")[0].split(",")
    }
    lines = []
    for entry in entries:
        if entry.name not in described:
            lines.append(f"{indent}{entry.name} : {_type_words(entry)}")
            lines += textwrap.wrap(
                entry.metadata["text"], 106, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    "
            )
    return text.replace(f"{indent}{{options}}", "\n".join(lines))


def _type_words(entry: Field[Any]) -> str:
    if entry.metadata["choices"]:
        words = ", ".join(f'"{choice}"' for choice in entry.metadata["choices"])
    else:
        words = str(entry.type).replace(" | None", "")
    return f"{words}, default {entry.default!r}" if entry.default is not None else f"{words}, optional"


# --- the options ---------------------------------------------------------------------


@options
class Lengths:
    """Lengths that all clouds share."""

    lengths: Sequence[float] | None = option(
        "Lengths sqrt(t) in the unit of the data, shared by all clouds (default: chosen from the clouds).",
        lambda value, _: as_lengths(value, least=2),
        default=None,
    )


@options
class Schedule:
    """Diffusion times of each cloud."""

    n_scales: int = option("Number of diffusion times.", count(2), default=8)
    c_min: float = option(
        "Smallest time, divided by the squared mean nearest-neighbour distance.", default=0.05
    )
    c_max: float = option("Largest time, divided by the squared diameter of the cloud.", default=0.25)


@options
class Scales(Lengths, Schedule):
    """Diffusion times."""


def _lengths_of_many(value: Any, _: str) -> Any:
    """ "shared", or lengths."""
    if isinstance(value, str) and value != "shared":
        raise ValueError(f"lengths must be 'shared' or a list of positive numbers, got {value!r}")
    return value if isinstance(value, str) else as_lengths(value, least=2)


@options
class ScalesOfMany(Schedule):
    """Diffusion times."""

    lengths: Sequence[float] | str | None = option(
        "Lengths sqrt(t) in the unit of the data for all clouds, or 'shared': learnt from the training"
        " clouds, equal ratios between the medians of their own first and last lengths (default: each cloud"
        " has its own).",
        _lengths_of_many,
        default=None,
    )


@options
class Tolerance:
    """Accuracy of the sums over pairs of points."""

    tol: float | None = option(
        "Error tolerance of the fast path at every point (default: 1e-6; 1e-5 in single precision).",
        default=None,
    )


@options
class Sums(Tolerance):
    """How sums over pairs of points are computed."""

    method: str = option(
        "All pairs (dense), sums to the tolerance (fast), or whichever is faster (auto).",
        choices=("auto", "dense", "fast"),
        default="auto",
    )
    dtype: str = option(
        "Precision of the sums over pairs.", lambda value, _: check_dtype(value).name,
        choices=("float64", "float32"), default="float64",
    )  # fmt: skip


@options
class Seed:
    """Random numbers."""

    random_state: int | None = option("Seed for networks, trees, folds and subsampling.", count(0), default=0)


@options
class Threads:
    """Number of cores."""

    n_jobs: int | None = option(
        "Number of threads or processes; -1 uses all cores.", _jobs,
        compare=False, default=-1,
    )  # fmt: skip


CLOSED_FORMS = ("simple", "desc", "joint", "oriented")


@options
class Outliers:
    """Points far from all others."""

    isolated: str | None = option(
        "Points whose nearest other point is more than twice as far away as that of 90 % of the points: leave"
        " them out of features and scales (drop), or keep them (default: keep in the paper's variants, drop"
        " otherwise).",
        choices=("drop", "keep"),
        default=None,
    )


@options
class Features(ScalesOfMany, Sums, Outliers):
    """Features of a cloud."""

    variant: str = option(
        "The paper's HFS-simple (216 features in 3D at 8 scales) or HFS-desc (336, adds the spectrum of the"
        " log-Hessian); joint (744) adds how the signatures vary together, oriented (1068) how well the axes"
        " of neighbours agree.",
        choices=CLOSED_FORMS,
        kw_only=False,
        default="joint",
    )
    blocks: Sequence[str] | None = option(
        "Use only these blocks of the variant, e.g. global,hds,dimension (default: all).", names, default=None
    )
    transition: str | None = option(
        "Scale transition by finite differences, as in the paper, or in closed form (default:"
        " difference for the paper's variants, exact for joint and oriented).",
        choices=("difference", "exact"),
        default=None,
    )


@options
class ClosedForm(Features):
    """Features of a cloud."""

    variant: str = option(
        "Descriptor, see HFSDescriptor; auto is joint or oriented, whichever is better by cross-validation on"
        " the training set.",
        choices=("auto", *CLOSED_FORMS),
        kw_only=False,
        default="auto",
    )


@options
class AnyVariant(Features):
    """Features of a cloud, pooled in closed form or by a network."""

    variant: str = option(
        "Closed form: joint, oriented, or the paper's simple and desc (HFSClassifier). Learned pooling: the"
        " paper's HFS-full (full) and HFS+DGCNN (dgcnn), which need torch (HFSNetworkClassifier). auto"
        " is joint or oriented, whichever is better by cross-validation on the training set.",
        choices=("auto", *CLOSED_FORMS, "full", "dgcnn"),
        kw_only=False,
        default="auto",
    )


@options
class Spectrum:
    """The heat dimension spectrum."""

    hds_centers: Sequence[float] | None = option(
        "Bin centres of the heat dimension spectrum (default: 0, 1, ..., n).", on_command=False, default=None
    )
    hds_sigma: float = option("Width of its bins.", number(above=0), on_command=False, default=0.5)


_EPOCHS = "Passes over the training set (default: at most 3000 for the mlp head, 250 for learned variants)."


@options
class Head(Seed):
    """Classification of the features."""

    head: str = option(
        "The paper's network (mlp), linear discriminant analysis (lda), support vector machine (svm), or the"
        " best of them by cross-validation on the training set (auto; tries mlp from 1,000 clouds on).",
        choices=("auto", "lda", "svm", "mlp"),
        default="auto",
    )
    normalise: str = option(
        "Scale features to mean 0 and deviation 1 (standard), or replace them by normal scores of their rank"
        " in the training set (rank; robust to long tails); both are clipped to -3..3. auto is standard; with"
        " head auto, lda tries both.",
        choices=("auto", "standard", "rank"),
        default="auto",
    )
    inner_folds: int = option("Folds of the cross-validation that chooses the head.", count(2), default=5)
    epochs: int | None = option(_EPOCHS, count(1), default=None)


@options
class Regression(Seed):
    """Regression on the features."""

    head: str = option(
        "Ridge regression (ridge), support vector regression (svm), or the better of the two by"
        " cross-validation on the training set (auto), which also chooses the regularisation.",
        default="auto",
        choices=("auto", "ridge", "svm"),
    )
    inner_folds: int = option("Folds of the cross-validation that chooses the head.", count(2), default=5)


@options
class Watched:
    """Progress and checkpoint of the training."""

    checkpoint: str | Path | None = option(
        "File written after every epoch. If it exists, training resumes from it and ends with the same"
        " weights as an uninterrupted run.",
        on_command=False,
        default=None,
    )
    progress: bool | None = option(
        "Show loss, score and time left (default: on a terminal).", on_command=False, default=None
    )


@options
class Learned(ScalesOfMany, Sums, Outliers, Watched):
    """Features of every point, and the network that pools them."""

    variant: str = option(
        "The paper's HFS-full, a network over the points pooled by mean and maximum (heatfield.nn.HFSFull),"
        " or its HFS+DGCNN (heatfield.nn.HFSDGCNN), which is not invariant under rotation.",
        choices=("full", "dgcnn"),
        kw_only=False,
        default="full",
    )
    blocks: Sequence[str] | None = option(
        "Per cloud: global, log_global, hds; per point: density, log_density, dimension, transition,"
        " spectrum, gradient, neighbourhood (default: the paper's, i.e. all but the logarithms, gradient"
        " and neighbourhood).",
        names,
        default=None,
    )
    transition: str | None = option(
        "Scale transition by finite differences, as in the paper (the default), or in closed form.",
        choices=("difference", "exact"), default=None,
    )  # fmt: skip
    cache: str | Path | None = option(
        "Folder that caches the features of the training clouds.", on_command=False, default=None
    )


@options
class Device:
    """Device of the network."""

    device: str = option("cpu, cuda, ...; auto uses a GPU if there is one.", default="auto")


@options
class Prediction(Device):
    """What is predicted, and on which device."""

    chain: str | None = option(
        "Molecules: one chain, or 'each' to treat every chain as a cloud (default: as in training).",
        default=None,
    )


@options
class Optimisation(Seed, Device):
    """Training of the network; defaults depend on the variant."""

    network: Mapping[str, Any] | None = option(
        "Overrides of the network's arguments.", on_command=False, default=None
    )
    epochs: int | None = option(_EPOCHS, count(1), default=None)
    batch_size: int | None = option("Clouds per step (default 32).", count(2), default=None)
    optimizer: str | None = option(
        "Optimizer (default: adam for full, sgd for dgcnn).", choices=("adam", "sgd"), default=None
    )
    learning_rate: float | None = option(
        "Initial learning rate (default: 1e-3 for full, 0.1 for dgcnn).", number(above=0), default=None
    )
    final_rate: float | None = option(
        "Final learning rate (default: 0 for full, 1e-3 for dgcnn).", number(least=0), default=None
    )
    weight_decay: float | None = option(
        "Weight decay (default: 0 for full, 1e-4 for dgcnn).", number(least=0), default=None
    )
    augment: bool | None = option(
        "dgcnn: rotate, scale, shift and jitter the coordinates in every epoch (default: on).",
        default=None,
    )
    validation: float | None = option(
        "Fraction of every class held out for validation (default: none).",
        number(above=0, below=1),
        default=None,
    )
    patience: int | None = option(
        "Stop after this many epochs without a better validation loss; the best weights are used.",
        count(1),
        default=None,
    )
    train_points: int | None = option(
        "Points drawn from each cloud in every epoch (default: all); prediction always uses all.",
        count(1),
        default=None,
    )
    whole_epochs: int | None = option(
        "With train_points: number of final epochs that use all points (default: 15 %).",
        count(0),
        default=None,
    )


@options
class Training(Optimisation):
    """Training of the network; defaults depend on the variant."""

    label_smoothing: float | None = option(
        "Label smoothing: total target probability of the wrong classes (default: 0 for full, 0.2 for"
        " dgcnn).",
        number(least=0, below=1),
        default=None,
    )
    class_weight: str | Mapping[Any, float] | None = option(
        "Weight of each class in the loss, or 'balanced' (default: equal weights).", default=None
    )


def _folds(value: Any, name: str) -> int:
    if check_count(value, name, 0) == 1:
        raise ValueError(f"{name} must be at least 2, or 0 for no validation, got {value!r}")
    return int(value)


@options
class Folds:
    """Validation of the model."""

    folds: int = option(
        "Folds of the cross-validation, by file or by group of files; fewer if a class has fewer; 0 for"
        " none.",
        _folds,
        default=5,
    )


@options
class Limits:
    """Limits on files."""

    invalid: str = option(
        "NaN or infinite points: raise an error, or drop them.", choices=("raise", "drop"), default="raise"
    )
    max_bytes: int | None = option(
        "Maximum decompressed size of a file in bytes (default: depends on the file size, at least 16 MiB).",
        count(1),
        default=None,
    )


@options
class Reading(Limits):
    """Reading files as points."""

    budget: int | None = option(
        "Maximum number of points per cloud (default: all; 1,024 on skeletons and meshes).",
        count(1),
        default=None,
    )
    nodes: bool = option(
        "Use the nodes of skeletons and the vertices of meshes instead of points sampled evenly by arc"
        " length or area.",
        default=False,
    )
    sampling: str = option(
        "How points are sampled for the budget; auto is by arc length on skeletons, by area on meshes, and"
        " random otherwise.",
        choices=("auto", "random", "farthest", "voxel"),
        default="auto",
    )
    seed: int = option("Seed of the sampling, combined with the file name.", count(0), default=0)
    dims: int | None = option(
        "Coordinates per point, if column names do not tell (default: in a folder, as in most files).",
        count(1),
        default=None,
    )
    xyz: Sequence[str] | None = option(
        "Names of the coordinate columns (default: x, y, z or similar, such as 'Position X [nm]').",
        names,
        default=None,
    )
    atoms: str | Sequence[str] = option("Molecules: CA, all, or atom names such as N,CA,C.", default="CA")
    chain: str | None = option("Molecules: read only this chain (default: all).", default=None)
    model: int | None = option(
        "Molecules: number of the model, from 1; in Python, None reads all.", count(1), default=1
    )
    altloc: str | None = option(
        "Molecules: alternative location (default: the one with the highest occupancy).", default=None
    )
    orphans: str = option(
        "Neurons: a node whose parent is missing raises an error, or becomes a root.",
        choices=("raise", "root"),
        default="raise",
    )
    soma: str = option(
        "Neurons: keep or drop the nodes of the cell body.", choices=("keep", "drop"), default="keep"
    )


@options
class Local(Threads):
    """Cores and progress."""

    progress: bool | None = option(
        "Show progress bars (default: for work of more than two seconds).", default=None
    )


@options
class Run(Local):
    """Workers and progress."""

    executor: Any = option(
        "Where tasks run: threads, processes, local:N or the address of a Dask scheduler; in Python also a"
        " Dask client or any concurrent.futures executor (default: this machine).",
        default=None,
    )


@options
class PointFiles:
    """Files with signatures at every point."""

    point_channels: Sequence[str] | None = option(
        f"Signatures to write: {', '.join(c.name for c in table_channels())} (the default), local_type,"
        f" {', '.join(c.name for c in CHANNELS if c.in_table and c.on_request)}.",
        names,
        default=None,
    )
    point_dtype: str = option(
        "Precision of these columns.", choices=("float32", "float64"), default="float32"
    )


@options
class Retrieval:
    """Comparison of clouds in an index."""

    metric: str = option(
        "Euclidean or cosine distance of standardised descriptors, or distance of linear discriminants"
        " learned from the classes.",
        choices=("euclidean", "cosine", "learned"),
        default="euclidean",
    )
    random_state: int = option(
        "Seed of the sample that standardises more than 50,000 clouds, and of an evaluation.",
        count(0),
        default=0,
    )


@options
class Report:
    """The page about a folder."""

    folds: int = option(
        "Folds of the cross-validation; fewer if a class has fewer clouds.", count(2), default=5
    )
    embedding: str = option(
        "Map of the clouds: principal components or UMAP; auto uses UMAP if it is installed.",
        choices=("auto", "pca", "umap"),
        default="auto",
    )


@options
class View:
    """The page about one cloud."""

    most_points: int = option(
        "Maximum number of points drawn, chosen at random; signatures are those in the whole cloud.",
        count(1),
        default=200_000,
    )
    theme: str = option("Initial colours of the page.", choices=("auto", "dark", "light"), default="auto")


@options
class Pattern:
    """The test of a point pattern."""

    simulations: int = option("Number of simulated patterns.", count(1), default=999)
    distances: Sequence[float] | None = option(
        "Distances to test (default: 24, from a fifth of the mean spacing to a quarter of the window's"
        " shortest side). Do not choose them after looking at the pattern.",
        default=None,
    )
    lengths: Sequence[float] | None = option(
        "Lengths sqrt(t) in the unit of the data, instead of distances (distance = 2 sqrt(t)).",
        lambda value, _: as_lengths(value),
        default=None,
    )
    statistic: str = option(
        "The heat response C2(t), the logarithm of the smoothed density of pairs, or both curves in one"
        " test. The response alone has little power against regular patterns: fewer pairs lower E2 and its"
        " slope.",
        choices=("both", "response", "pairs"),
        default="both",
    )
    level: float = option("Significance level of the test.", number(above=0, below=1), default=0.05)
    random_state: int = option("Seed of the simulations.", count(0), default=0)


def _class_weight(value: Any, name: str) -> Any:
    """ "balanced", a weight for each class, or "none", which is None."""
    if isinstance(value, str):
        return None if check_choice(value, name, ("balanced", "none")) == "none" else value
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be 'balanced', 'none' or a mapping of weights, got {value!r}")
    return value


@options
class PointTraining(Lengths, Tolerance, Seed):
    """Training on labelled points."""

    blocks: Sequence[str] | None = option(
        "Some of density (its logarithm), dimension, transition, spectrum, shape (linearity, planarity,"
        " sphericity, verticality), direction (verticality of the direction of largest extent), gradient,"
        " fine (the above at the smallest length divided by sqrt(10)), neighbourhood (variation of the others"
        " around a point; several times slower than all others together) and height (above the lowest"
        " points of the grid cell) (default: all but neighbourhood).",
        names,
        default=None,
    )
    columns: Sequence[str] | None = option(
        "File columns to use as additional features, such as intensity or return_number.", names, default=None
    )
    cell: float | None = option(
        "Cell size of the ground grid for height features (default: four times the largest length).",
        number(above=0),
        default=None,
    )
    iterations: int = option("Trees per class.", count(1), default=150)
    class_weight: str | Mapping[Any, float] | None = option(
        "Class weights: balanced, none, or in Python a mapping.", _class_weight, default="balanced"
    )
    points_per_class: int = option(
        "Maximum number of training points per class, drawn evenly from the clouds.", count(1), default=50_000
    )


@options
class PointValidation(Folds):
    """Validation on labelled points."""

    test_points: int = option(
        "Maximum number of points per file used for validation.", count(1), default=200_000
    )


@options
class Tiling(Limits):
    """Tiles of one cloud."""

    overlap: str = option(
        "Where tiles overlap: use every point of every file (keep), or only those in the tile whose centre is"
        " nearest (drop).",
        choices=("keep", "drop"),
        default="keep",
    )
    format: str | None = option(
        "Format of the output tiles (default: as the input, Parquet for formats other than LAS and LAZ).",
        choices=("las", "laz", "parquet"),
        default=None,
    )
    memory: float | None = option(
        "Memory limit in GiB: of all tasks together on this machine, of each task on a cluster (default: half"
        " of the machine's memory, or the workers' limit).",
        number(above=0),
        default=None,
    )
