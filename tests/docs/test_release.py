"""Files of a release: the conda recipe has the bounds of pyproject.toml, a missing file is noticed."""

import re
import tomllib
import zipfile

import pytest

import heatfield as hf
from benchmarks.lib.results import ROOT
from tools.release_content import ROOTS, check_extra, check_wheel, needed

BENCH = ROOT / "bench" / "pyproject.toml"  # not there in a source distribution of the library

CONDA_NAMES = {"lazrs": "lazrs-python", "matplotlib": "matplotlib-base", "torch": "pytorch"}


def _project(file=ROOT / "pyproject.toml"):
    return tomllib.loads(file.read_text())["project"]


def _conda(line):
    """A dependency as conda writes it."""
    name, bound = re.fullmatch(r"([\w-]+)(>=[\d.]+(?:,<[\d.]+)?)", line).groups()
    return f"{CONDA_NAMES.get(name, name)} {bound}"


def test_conda_recipe_agrees_with_the_project():
    """Filled in as conda-build does it: its own functions for files, then YAML."""
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")
    folder = ROOT / "packaging" / "conda"

    def load_file_regex(load_file, regex_pattern, from_recipe_dir):
        assert from_recipe_dir
        return re.search(regex_pattern, (folder / load_file).read_text())

    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(
        (folder / "meta.yaml").read_text()
    )
    own = {"load_file_regex": load_file_regex, "compiler": str, "stdlib": str, "PYTHON": "python"}
    recipe = yaml.safe_load(template.render(**own))
    assert "noarch" not in recipe["build"]
    assert "cxx" in recipe["requirements"]["build"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert recipe["package"] == {"name": project["project"]["name"], "version": hf.__version__}
    scripts = [f"{name} = {place}" for name, place in project["project"]["scripts"].items()]
    assert recipe["build"]["entry_points"] == scripts
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]
    needed = {line.replace(">=", " >=") for line in project["build-system"]["requires"]}
    found = {name: set(lines) for name, lines in recipe["requirements"].items()}
    assert needed <= found["host"]
    extras = project["project"]["optional-dependencies"]
    assert found["run"] == {"python >=3.11", *map(_conda, project["project"]["dependencies"])}
    assert found["run_constrained"] == {
        _conda(one) for name in ("io", "show", "torch") for one in extras[name]
    }
    assert (folder / recipe["source"]["path"] / recipe["about"]["license_file"]).is_file()


def test_every_extra_for_users_is_tried_alone():
    """Those for building, testing and measuring the library itself, and those made of others, are not."""
    script = (ROOT / "tools" / "release_check.sh").read_text()
    tried = re.search(r"\{EXTRAS:-([\w ]+)\}", script)[1].split()
    assert set(tried) == {"none", *_project()["optional-dependencies"]} - {"test", "lint", "docs", "all"}
    assert set(tried) <= NEEDED.keys()
    if BENCH.exists():
        tried = re.search(r"\{BENCH_EXTRAS:-([\w -]+)\}", script)[1].split()
        extras = _project(BENCH)["optional-dependencies"].keys() - {"all"}
        assert set(tried) == {"bench", *(f"bench-{extra}" for extra in extras)}
        assert set(tried) <= NEEDED.keys()


def test_bench_and_library_have_the_same_bounds():
    if not BENCH.exists():
        pytest.skip("the source distribution has no bench")
    own, library = _project(BENCH), _project()
    assert f"heatfield=={hf.__version__}" in own["dependencies"]
    assert pytest.importorskip("heatfield_bench").__version__ == hf.__version__
    known = {*library["dependencies"], *library["optional-dependencies"]["torch"]}
    asked = [*own["dependencies"], *own["optional-dependencies"]["torch"]]
    of_its_own = ("heatfield==", "numba")  # the bench compiles some of its baselines
    assert {line for line in asked if not line.startswith(of_its_own)} <= known
    assert own["requires-python"] == library["requires-python"]


NATIVE = {"heatfield": {"_core.abi3.so"}, "heatfield_bench": set()}


@pytest.mark.parametrize("package", ROOTS)
def test_missing_and_foreign_files_of_wheels_are_named(tmp_path, package):
    files = needed(package) | NATIVE[package]
    assert "py.typed" in needed()
    assert any(name.endswith(".js") for name in needed())
    assert not any(name.endswith((".nbi", ".nbc", ".pyc")) for name in files)

    def problems(names):
        path = tmp_path / f"{package}-0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "")
        return [line.removeprefix(f"{path.name} ") for line in check_wheel(path)]

    whole = {f"{package}/{name}" for name in files}
    assert problems(whole) == []
    for name in sorted(whole)[-2:]:
        said = "the native module" if "_core" in name else name
        assert problems(whole - {name}) == [f"lacks {said}"]
    if package == "heatfield":
        assert problems(whole | {"heatfield_bench/__init__.py"}) == ["holds heatfield_bench/__init__.py"]


def test_every_dependency_has_a_lowest_version():
    """Or tools/lowest_versions.sh would install the newest one."""
    project = _project()
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["io"], *extras["show"], *extras["torch"]]
    assert len(asked) > 10
    assert [line for line in asked if not re.match(r"[\w-]+>=\d", line)] == []


def test_the_sdist_holds_what_its_tests_use():
    """Folders and files of the root that tests name or import from."""
    left_out = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["sdist"][
        "exclude"
    ]
    used = set()
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text()
        used.update(re.findall(r'ROOT / "([\w.-]+)', text))
        used.update(re.findall(r"^ *from (tools|benchmarks|examples|tests)\b", text, re.MULTILINE))
    assert {"tools", "benchmarks", "tests", "packaging"} <= used
    hidden = {name for name in used if name.startswith(".")}  # their tests are skipped
    # The bench is a distribution of its own; tests that name it are skipped without it.
    assert used - hidden - {"bench"} <= {path.name for path in ROOT.iterdir()}
    assert {name.removeprefix("/") for name in left_out} & (used - hidden) == {"bench"}


NEEDED = {
    "none": (), "io": ("laspy", "pyarrow"), "formats": ("morphio", "msgpack", "pye57"),
    "show": ("matplotlib", "skimage"), "torch": ("torch",),
    "cluster": ("distributed", "fsspec"),
    "bench": ("heatfield_bench",), "bench-torch": ("heatfield_bench", "torch"),
    "bench-dimension": ("heatfield_bench", "skdim"), "bench-open3d": ("heatfield_bench", "open3d"),
    "bench-persistence": ("heatfield_bench", "multipers"),
}  # fmt: skip


@pytest.mark.parametrize("extra", NEEDED)
def test_what_a_release_tries_works_here(extra, monkeypatch, tmp_path, capsys):
    """So that a name that has moved is found before a release is built."""
    for module in NEEDED[extra]:
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    check_extra(extra)
    assert f"works with the extra '{extra}' alone" in capsys.readouterr().out
