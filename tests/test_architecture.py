"""The order of imports, who may import what, the length of signatures, and that nothing is written twice."""

import ast
import graphlib
import re
from collections import defaultdict

import pytest

from tests.helpers.process import BENCH, SOURCE

TREES = [root for root in (SOURCE, BENCH) if root.is_dir()]

# Each folder or module imports itself and those before it.
ORDER = (
    "_base", "channels", "options", "core", "_field_sums", "heat_body", "field", "scales", "local_type",
    "heat_signatures", "features", "sampling",
    "io", "jobs", "nn", "models", "datasets", "patterns", "plot", "view", "report", "workflows", "_survey",
    "cli",
)  # fmt: skip

# Libraries that only some folders may import.
ALLOWED = {
    "torch": {"nn"},
    "sklearn": set(ORDER[ORDER.index("features") :]),
    "dask": set(),
    "distributed": set(),  # `jobs` by `need`
}
# (file, what it imports): why it may.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("_base/point_objects.py", "options"): "a skeleton of navis or a mesh of trimesh, given for points, is",
    ("_base/point_objects.py", "sampling"): "sampled as a file is; imported when there is one",
}

# The bench may import all of the library, and the library nothing of the bench. Inside the bench, a part
# imports itself and those before it: modules that all of it uses, folders, then the experiments. These are
# its other modules and its tables, which import one another without a cycle.
BENCH_ORDER = ("base", "networks", "baselines", "datasets", "experiments")
BENCH_PARTS = {"_tools": "base", "_mlps": "base", "tables": "experiments"}
BENCH_ALLOWED = {"torch": {"networks", "_mlps"}, "dask": set(), "distributed": set()}

NATIVE = "_core"  # below all folders: built from cpp/, it imports nothing
KERNELS = {"compiled", "njit", "jit", "intrinsic", "overload", "overload_method", "vectorize", "guvectorize"}
MOST_POSITIONAL = 8


def imports(tree, package):
    """Dotted names of all imports, also inside functions; not those for type checkers alone.

    ``package`` is the package of the file, as a list of names; relative imports are resolved against it.
    """
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(id(inner) for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # "from heatfield import x" may name a folder.
            yield from (f"{module}.{a.name}" for a in node.names) if "." not in module else (module,)


def violations(root):
    """Every import under the package at ``root`` that points against the order or is not allowed."""
    found = set()
    for path in root.rglob("*.py"):
        package = [root.name, *path.relative_to(root).parts[:-1]]
        own = path.relative_to(root).parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):  # the table of public names belongs to no folder
            continue
        file = path.relative_to(root).as_posix()
        if own not in ORDER:
            found.add((file, f"folder {own} is not in ORDER"))
            continue
        for name in imports(ast.parse(path.read_text()), package):
            library, _, inner = name.partition(".")
            if library == BENCH.name:
                found.add((file, library))
            elif library != root.name:
                # A part of another library may need this one: safetensors.torch.
                found.update(
                    (file, lib) for lib in ALLOWED if lib in name.split(".") and own not in ALLOWED[lib]
                )
            elif inner not in ("__version__", NATIVE):
                folder = inner.split(".")[0]
                # Any other name of the package itself may come from any folder below the command.
                rank = ORDER.index(folder if folder in ORDER else "workflows")
                if rank > ORDER.index(own):
                    found.add((file, inner or root.name))
    return found


def bench_violations(root):
    """The same of the bench, and its experiments that import one another in a circle."""
    found, graph = set(), defaultdict(set)
    for path in root.rglob("*.py"):
        file = path.relative_to(root)
        own = file.with_suffix("").parts[0]
        if own == "__init__":  # the table of public names
            continue
        for name in imports(ast.parse(path.read_text()), [root.name, *file.parts[:-1]]):
            library, *inner = name.split(".")
            if library != root.name:
                found.update(
                    (file.as_posix(), lib)
                    for lib, parts in BENCH_ALLOWED.items()
                    if lib in name.split(".") and own not in parts
                )
            elif inner:
                if _bench_rank(inner[0]) > _bench_rank(own):
                    found.add((file.as_posix(), ".".join(inner)))
                elif _bench_rank(inner[0]) == len(BENCH_ORDER) - 1:
                    graph[".".join(file.with_suffix("").parts)].add(".".join(inner))
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.add(("circle", " -> ".join(reversed(error.args[1]))))
    return found


def _bench_rank(part):
    named = BENCH_PARTS.get(part, part if part in BENCH_ORDER else BENCH_ORDER[-1])
    return BENCH_ORDER.index(named)


def test_imports_of_the_bench_point_one_way():
    if not BENCH.is_dir():
        pytest.skip("a source distribution of the library has no bench")
    assert all((BENCH / folder).is_dir() for folder in (*BENCH_ORDER[1:3], "tables"))
    assert bench_violations(BENCH) == set()


def test_the_library_names_the_bench_in_one_place():
    """As a string, where the command looks for it; imports are checked below."""
    named = {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py") if BENCH.name in p.read_text()}
    assert named == {"cli/__init__.py"}


def test_imports_point_one_way():
    assert (SOURCE / ORDER[0]).is_dir()
    assert (SOURCE / ORDER[-1]).is_dir()
    found = violations(SOURCE)
    assert found == set(EXCEPTIONS), sorted(found ^ set(EXCEPTIONS))


@pytest.mark.parametrize(
    ("file", "code", "expected"),
    [
        ("core/a.py", "from ..scales import x", "scales"),
        ("core/fourier/a.py", "from ...features import layout", "features"),
        ("core/a.py", "def f():\n    from ..nn import HFSFull", "nn"),
        ("core/a.py", "from heatfield.plot import x", "plot"),
        ("core/a.py", "from .. import io", "io"),
        ("core/a.py", "import heatfield as hf", "heatfield"),
        ("core/a.py", "from heatfield import signatures", "signatures"),
        ("core/a.py", "import sklearn.base", "sklearn"),
        ("models/a.py", "from torch import nn", "torch"),
        ("models/a.py", "def f():\n    from safetensors.torch import save", "torch"),
        ("datasets/a.py", "import dask.array", "dask"),
        ("cli/a.py", "def f():\n    from heatfield_bench import run", "heatfield_bench"),
        ("elsewhere/a.py", "", "folder elsewhere is not in ORDER"),
        ("core/a.py", "if TYPE_CHECKING:\n    from ..nn import HFSFull", None),
        ("core/a.py", "from .. import __version__\nfrom .._base import check\nfrom . import b", None),
        ("io/formats/a.py", "from .las import x\nfrom ..limits import y", None),
        ("cli/a.py", "import heatfield as hf\nimport sklearn", None),
        ("nn/a.py", "import torch", None),
        ("__init__.py", "from .cli import main", None),
    ],
)
def test_a_reversed_import_is_found(file, code, expected, tmp_path):
    path = tmp_path / "heatfield" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    assert violations(tmp_path / "heatfield") == (set() if expected is None else {(file, expected)})


@pytest.mark.parametrize(
    ("file", "code", "expected"),
    [
        ("networks/a.py", "from ..baselines import DGCNN", ("networks/a.py", "baselines")),
        ("networks/a.py", "def f():\n    from .. import _run", ("networks/a.py", "_run")),
        ("baselines/a.py", "from heatfield_bench import METHODS", ("baselines/a.py", "METHODS")),
        ("baselines/a.py", "from ..datasets import load_scop", ("baselines/a.py", "datasets")),
        ("datasets.py", "from .tables.main import rows", ("datasets.py", "tables.main")),
        ("_tools.py", "from ._run import run", ("_tools.py", "_run")),
        ("baselines/a.py", "import torch.nn", ("baselines/a.py", "torch")),
        ("_run.py", "import distributed", ("_run.py", "distributed")),
        ("_run.py", "from .tables.main import x", ("circle", "_run -> tables.main -> _run")),
        ("networks/a.py", "import torch\nfrom .._tools import compiled", None),
        ("_mlps.py", "from torch import Tensor", None),
        ("baselines/a.py", "from ..networks import DGCNN\nimport heatfield as hf", None),
        ("_jobs.py", "from . import baselines, datasets\nfrom .tables import TABLES", None),
        ("__init__.py", "from ._run import run", None),
    ],
)
def test_a_reversed_import_of_the_bench_is_found(file, code, expected, tmp_path):
    root = tmp_path / BENCH.name
    (root / "tables").mkdir(parents=True)
    (root / "tables" / "main.py").write_text("from .._run import y")
    path = root / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(code)
    assert bench_violations(root) == (set() if expected is None else {expected})


def long_signatures(tree, limit=MOST_POSITIONAL):
    """Functions with more positional parameters than the limit; compiled ones and their parts left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if KERNELS & {ast.unparse(call).split(".")[-1] for call in calls}:
                continue
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > limit:
                yield node.name
        yield from long_signatures(node, limit)


def test_no_function_takes_more_than_eight_positional_parameters():
    found = {
        f"{path.relative_to(root.parent).as_posix()}::{name}"
        for root in TREES
        for path in root.rglob("*.py")
        for name in long_signatures(ast.parse(path.read_text()))
    }
    assert found == set(), "give them keyword-only parameters"


def test_a_long_signature_is_found():
    names = ", ".join("abcdefghi")
    code = f"""
def plain({names}): ...
def short(a, b, c, d, e, f, g, h, *, i): ...
@compiled(EXACT)
def kernel({names}):
    def inner({names}): ...
@numba.njit
def loop({names}): ...
class A:
    def method(self, {names}): ...
    def fits(self, a, b, c, d, e, f, g, h): ...
def outer():
    def nested({names}): ...
"""
    assert list(long_signatures(ast.parse(code))) == ["plain", "method", "nested"]


LINES = 6  # so many lines in a row are a piece of code of its own, which belongs in one place
# The code of the library by file ending, and how its comments begin; those of HTML and CSS look like code.
COMMENT = {".py": "#", ".js": "//", ".css": None, ".html": None}
THIN = re.compile(r"[\s{}()\[\];,:.]*")
IMPORT = re.compile(r"import\b|from \S+ import\b|\w+,$")  # also a name of a list of names
# What every docstring has: headings, the place of the options, the page, examples.
FORM = re.compile(r"-{3,}|Parameters|Returns|Attributes|Examples|Notes|\{options\}|(Guide: |>>> |\.\.\. ).*")


def lines_that_count(text, comment):
    """(number, line with its white space folded) of all lines but those that say little."""
    aside = ("/*", "*", '"""', "'''", *([comment] if comment else []))
    for number, line in enumerate(text.split("\n"), 1):
        folded = " ".join(line.split())
        if len(folded) < 3 or THIN.fullmatch(folded) or IMPORT.match(folded) or FORM.fullmatch(folded):
            continue
        if not folded.startswith(aside) or folded.startswith("*/"):
            yield number, folded


def repeated_runs(*roots, length=LINES):
    """Places "file:first-last ~ file:first-last" that share the same run of lines; docstrings count too."""
    places = defaultdict(list)
    files = [(root, path) for root in roots for path in sorted(root.rglob("*")) if path.suffix in COMMENT]
    for root, path in files:
        file = path.relative_to(root.parent).as_posix()
        lines = list(lines_that_count(path.read_text(encoding="utf-8"), COMMENT[path.suffix]))
        for i in range(len(lines) - length + 1):
            run = lines[i : i + length]
            places[tuple(line for _, line in run)].append((file, run[0][0], run[-1][0]))
    for found in places.values():
        first, *rest = found
        # Six equal lines one below the other share lines with themselves: that is one place.
        other = [p for p in rest if p[0] != first[0] or p[1] > first[2]]
        if other:
            yield " ~ ".join(f"{file}:{start}-{end}" for file, start, end in (first, *other))


def test_no_six_lines_stand_twice():
    assert list(repeated_runs(*TREES)) == [], "write it once, and use it in both places"


RUN = "".join(f"        self.part_{i} = {i} + given  # note\n" for i in range(LINES))
LESS = "".join(RUN.splitlines(keepends=True)[1:])


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        (RUN, RUN, True),
        (RUN, "x = 1\nif x:\n" + RUN, True),  # further down, and indented otherwise
        (RUN, RUN.replace("        ", "  ").replace("_2 =", "_2  ="), True),
        (RUN, RUN.replace("self.part_3", "\n# why\n)\nimport os\nself.part_3"), True),  # these do not count
        (RUN + "def f():\n    pass\n" + RUN, "", True),  # twice in one file
        (RUN, LESS, False),
        (RUN, RUN.replace("part_3", "part_9"), False),
        (RUN, LESS + "x = 1\n" + RUN[: len(RUN) - len(LESS)], False),
        ("import os\n" * 9, "import os\n" * 9, False),
        ("# a comment\n" * 9 + ")\n" * 9, "# a comment\n" * 9 + ")\n" * 9, False),
        ("    0.5,\n" * 11, "", False),  # a table of equal rows, not twice six
    ],
)
def test_a_repeated_run_is_found(one, two, found, tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "a.py").write_text(one)
    (tmp_path / "part" / "b.py").write_text(two)
    (tmp_path / "c.txt").write_text(one)  # not code
    assert bool(list(repeated_runs(tmp_path))) == found
