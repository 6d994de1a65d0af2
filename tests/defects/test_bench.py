"""`bench`: files of the user, and records and caches that are damaged."""

import shutil

import numpy as np
import pytest

import heatfield as hf
from heatfield.cli import main
from tests.defects import defect

PAGES = [f"tables{part}.{kind}" for part in ("", "-smoke") for kind in ("md", "tex", "html")]
FIGURES = ["figure1.png", "figure2.png"]


def words(folder, results):
    """A table of one cell."""
    return [
        "bench", "main", "--methods", "HFS-desc, LDA", "--sets", "mine", "--data", f"mine={folder}",
        "--results", str(results), "--quiet",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clouds")
    rng = np.random.default_rng(0)
    for name, flat in (("flat", 0.05), ("round", 1.0)):
        (folder / name).mkdir()
        for k in range(6):
            hf.write_points(folder / name / f"{k}.npy", rng.normal(size=(20, 3)) * [1, 1, flat])
    return folder


@pytest.fixture(scope="module")
def kept(clouds, tmp_path_factory):
    """Results of a first run."""
    folder = tmp_path_factory.mktemp("kept") / "results"
    assert main(words(clouds, folder)) == 0
    return folder


@pytest.fixture
def results(kept, tmp_path):
    """A copy of them."""
    return shutil.copytree(kept, tmp_path / "results")


@pytest.mark.parametrize("names", [PAGES, FIGURES], ids=["pages", "figures"])
@defect("they are replaced")
def test_files_of_the_user_stay(results, command, names):
    for name in names:
        (results / name).write_text("mine")
    more = ["--figures"] if names is FIGURES else []
    command("bench", "--show", *more, "--budget", "smoke", "--results", results)
    assert [name for name in names if (results / name).read_bytes() != b"mine"] == []


DAMAGES = {"of another kind": b"{}", "of nothing": b"null", "too deep": 20_000 * b"[", "cut off": None}


@pytest.mark.parametrize("damage", DAMAGES)
@defect("errors of Python, or no way on")
def test_what_is_damaged_is_computed_again(clouds, results, command, damage):
    """File by file of all that a run keeps: the next run ends well, whatever it says."""
    found = {}
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if not content or path.name in PAGES:
            continue
        path.write_bytes(content[: len(content) // 2] if DAMAGES[damage] is None else DAMAGES[damage])
        try:
            found[path.relative_to(results).as_posix()] = command(*words(clouds, results))
        except Exception as error:
            found[path.relative_to(results).as_posix()] = (repr(error), "")
        path.write_bytes(content)
    assert found
    assert {name: said for name, said in found.items() if said[0] != 0} == {}
