"""The order of imports, who may import what, the length of signatures, and that nothing is written twice."""

import ast
import graphlib
import re
from collections import defaultdict

import pytest

from tests.helpers.process import BENCH, SOURCE

TREES = [root for root in (SOURCE, BENCH) if root.is_dir()]
NATIVE = "_core"  # below all folders: built from cpp/, it imports nothing

# Each folder or module imports itself and those before it.
ORDER = (
    "_base", "core", "channels", "options", "heat_body", "field", "scales", "local_type",
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

# The bench may import all of the library, and the library nothing of the bench. The other modules of the
# bench and its tables, which are last, import one another without a cycle.
BENCH_ORDER = ("_tools", "_mlps", "networks", "baselines", "datasets", "experiments")
BENCH_ALLOWED = {"torch": {"networks", "_mlps"}, "dask": set(), "distributed": set()}


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
    """(file, what it imports) wherever that points against the order, is not allowed, or closes a circle."""
    bench = root.name == BENCH.name
    order, allowed = (BENCH_ORDER, BENCH_ALLOWED) if bench else (ORDER, ALLOWED)
    # Any other name of the package itself: of the experiments, or a public name, below the command.
    others = order.index("experiments" if bench else "workflows")
    found, graph = set(), defaultdict(set)
    for path in root.rglob("*.py"):
        file = path.relative_to(root)
        own = file.parts[0].removesuffix(".py")
        if own in ("__init__", "__main__"):  # the table of public names belongs to no folder
            continue
        if own not in order and not bench:
            found.add((file.as_posix(), f"folder {own} is not in ORDER"))
            continue
        rank = order.index(own) if own in order else others
        for name in imports(ast.parse(path.read_text()), [root.name, *file.parts[:-1]]):
            library, _, inner = name.partition(".")
            part = inner.split(".")[0]
            above = order.index(part) if part in order else others
            if library != root.name:
                if library == BENCH.name:
                    found.add((file.as_posix(), library))
                # A part of another library may need this one: safetensors.torch.
                words = name.split(".")
                found.update(
                    (file.as_posix(), lib) for lib in allowed if lib in words and own not in allowed[lib]
                )
            elif inner in ("__version__", NATIVE) or (bench and not inner):
                continue
            elif above > rank:
                found.add((file.as_posix(), inner or root.name))
            elif bench and above == rank == others:
                graph[".".join(file.with_suffix("").parts)].add(inner)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.add(("circle", " -> ".join(reversed(error.args[1]))))
    return found


def test_imports_point_one_way():
    assert all((SOURCE / folder).is_dir() for folder in (ORDER[0], ORDER[-1]))
    found = violations(SOURCE)
    assert found == set(EXCEPTIONS), sorted(found ^ set(EXCEPTIONS))
    named = {p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.py") if BENCH.name in p.read_text()}
    assert named == {"cli/__init__.py"}, "the library names the bench in one place"


def test_imports_of_the_bench_point_one_way():
    if not BENCH.is_dir():
        pytest.skip("a source distribution of the library has no bench")
    assert all((BENCH / folder).is_dir() for folder in ("networks", "baselines", "tables"))
    assert violations(BENCH) == set()


@pytest.mark.parametrize(
    ("package", "file", "code", "expected"),
    [
        ("heatfield", "core/a.py", "from ..scales import x", "scales"),
        ("heatfield", "core/fourier/a.py", "def f():\n    from ...features import layout", "features"),
        ("heatfield", "core/a.py", "import heatfield as hf", "heatfield"),
        ("heatfield", "core/a.py", "from heatfield import signatures", "signatures"),
        ("heatfield", "models/a.py", "from safetensors.torch import save", "torch"),
        ("heatfield", "cli/a.py", "from heatfield_bench import run", "heatfield_bench"),
        ("heatfield", "elsewhere/a.py", "", "folder elsewhere is not in ORDER"),
        ("heatfield", "core/a.py", "if TYPE_CHECKING:\n    from ..nn import HFSFull", None),
        ("heatfield", "core/a.py", "from .. import __version__\nfrom .._base import check", None),
        ("heatfield_bench", "networks/a.py", "def f():\n    from .. import _run", "_run"),
        ("heatfield_bench", "datasets.py", "from .tables.main import rows", "tables.main"),
        ("heatfield_bench", "baselines/a.py", "import torch.nn", "torch"),
        ("heatfield_bench", "_run.py", "from .tables.main import x", "_run -> tables.main -> _run"),
        ("heatfield_bench", "_jobs.py", "from . import baselines\nfrom .tables import TABLES", None),
    ],
)
def test_a_reversed_import_is_found(package, file, code, expected, tmp_path):
    root = tmp_path / package
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(code)
    if package == BENCH.name:
        (root / "tables").mkdir()
        (root / "tables" / "main.py").write_text("from .._run import y")
    found = {what for _, what in violations(root)}
    assert found == (set() if expected is None else {expected})


def positional(function):
    """Names of the positional parameters, without self."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_no_function_takes_nine_positional_parameters():
    """Those that Numba compiles in the bench have no others."""
    found = [
        f"{path.relative_to(root.parent).as_posix()}::{node.name}"
        for root in TREES
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and len(positional(node)) > 8
        if not re.search("compiled|njit", " ".join(map(ast.unparse, node.decorator_list)))
    ]
    assert found == [], "give them keyword-only parameters"


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
        (RUN, "x = 1\nif x:\n" + RUN.replace("        ", "  "), True),  # further down, indented otherwise
        (RUN, RUN.replace("self.part_3", "\n# why\n)\nimport os\nself.part_3"), True),  # these do not count
        (RUN + "def f():\n    pass\n" + RUN, "", True),  # twice in one file
        (RUN, LESS, False),
        (RUN, RUN.replace("part_3", "part_9"), False),
        ("# a comment\n" * 9 + "import os\n" * 9, "# a comment\n" * 9 + "import os\n" * 9, False),
        ("    0.5,\n" * 11, "", False),  # a table of equal rows, not twice six
    ],
)
def test_a_repeated_run_is_found(one, two, found, tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "a.py").write_text(one)
    (tmp_path / "part" / "b.py").write_text(two)
    (tmp_path / "c.txt").write_text(one)  # not code
    assert bool(list(repeated_runs(tmp_path))) == found
