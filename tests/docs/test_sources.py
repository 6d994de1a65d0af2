"""Links between the sources lead somewhere, words are spelt right, generated pages are up to date."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lib.results import DOCS, RESULTS, ROOT
from heatfield.cli import main
from tools import write_docs
from tools.site import figures, public
from tools.site.mathml import to_mathml

# Written when the site is built; the API pages are checked by name.
GENERATED = {"reference/commands.md", "reference/columns.md", "reference/paper.md", "_static/scales.gif"}
PAGES = sorted(
    p
    for p in DOCS.rglob("*.md")
    if p.relative_to(DOCS).parts[0] not in ("_build", "api", "tutorial", "gallery")
)
ROOT_PAGES = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
] + [page for page in [ROOT / "bench" / "README.md"] if page.exists()]


def _links(text):
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def _leads_somewhere(page, link):
    """Whether the target of a relative link is a file, a generated page, a tutorial or an example."""
    target = link.split("#")[0]
    if not target or re.match(r"[a-z]+:", target):
        return True
    path = (DOCS / target[1:] if target.startswith("/") else page.parent / target).resolve()
    if path.exists() or path.with_name(path.name + ".md").exists():
        return True
    if not path.is_relative_to(DOCS):
        return False
    inside = path.relative_to(DOCS).as_posix()
    if found := re.fullmatch(r"(tutorial|gallery)/(plot_\w+|index)(\.rst|\.md)?", inside):
        return found[2] == "index" or (ROOT / "examples" / found[1] / f"{found[2]}.py").exists()
    return inside in GENERATED or inside == "api/index"


@pytest.mark.parametrize("page", [*PAGES, *ROOT_PAGES], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    dead = [link for link in _links(page.read_text()) if not _leads_somewhere(page, link)]
    assert not dead


def test_commands_of_the_readme_run(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(code, {})
    lines = re.findall(r"^heatfield .*", text, re.M)
    assert len(lines) == 2
    for line in lines:
        assert main(shlex.split(line, comments=True)[1:]) == 0
    assert (tmp_path / "view.html").stat().st_size > 10_000


def test_a_dead_link_is_noticed():
    page = DOCS / "index.md"
    assert _leads_somewhere(page, "guide/view.md#controls")
    for link in ("guide/gone.md", "tutorial/plot_gone.rst", "../gone.md", "api/gone"):
        assert not _leads_somewhere(page, link), link


def test_roles_name_public_things():
    names = {one.full: one.value for one in public.all_names()} | dict.fromkeys(public.modules())
    for page in PAGES:
        for target in re.findall(r"\{py:\w+\}`(?:[^`<]*<)?([\w.]+)>?`", page.read_text()):
            owner, _, member = target.rpartition(".")
            assert target in names or hasattr(names.get(owner), member), f"{page.name}: {target}"


def test_every_page_of_the_theory_is_listed():
    """The guide and the results list whatever there is; these are in an order of their own."""
    listed = (DOCS / "theory" / "index.md").read_text().split("```")[1].split()
    assert {p.stem for p in (DOCS / "theory").glob("*.md")} - {"index"} <= set(listed)


def test_page_of_the_native_part_lists_every_file():
    listed = set(re.findall(r"`([a-z]+\.[ch]pp)`", (DOCS / "develop" / "native.md").read_text()))
    assert listed == {path.name for path in (ROOT / "cpp").iterdir()}


def test_formulas_can_be_converted():
    count = 0
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for tex in re.findall(r"\$\$(.+?)\$\$", text, flags=re.S) + re.findall(
            r"(?<!\$)\$([^$\n]+)\$(?!\$)", text
        ):
            assert to_mathml(tex).startswith("<math"), (page.name, tex)
            count += 1
    assert count > 40
    assert to_mathml(r"\lVert x \rVert^2").count('<mo stretchy="false">‖</mo>') == 2  # bars of one height
    with pytest.raises(ValueError, match=r"\\unheardof"):
        to_mathml(r"\unheardof{x}")


def test_result_pages_are_those_of_the_files(monkeypatch, tmp_path):
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(write_docs, "DOCS", tmp_path)
    write_docs.main()
    for name in ("experiments", "learned", "speed"):
        found = (tmp_path / "results" / f"{name}.md").read_text()
        assert found == (DOCS / "results" / f"{name}.md").read_text(), name


def test_examples_say_what_they_show():
    found = sorted((ROOT / "examples").glob("*/plot_*.py"))
    assert len(found) > 15
    for path in found:
        lines = path.read_text().split("\n")
        assert lines[0] == '"""', path.name
        assert set(lines[2]) == {"="}, path.name
        assert len(lines[2]) >= len(lines[1]), path.name
        assert str(ROOT) not in path.read_text(), path.name


def test_spelling(tmp_path):
    """codespell knows common misspellings; what it takes for one and is none stands in pyproject.toml."""
    pytest.importorskip("codespell_lib")
    command = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml")]
    files = [*PAGES, *ROOT_PAGES, *(ROOT / "examples").rglob("*.py"), *(ROOT / "tools" / "site").glob("*.py")]
    files += sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "bench" / "src").rglob("*.py")])
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == "", done.stdout
    assert done.returncode == 0, done.stderr
    wrong = Path(tmp_path / "wrong.md")
    wrong.write_text("This is teh neigbourhood.\n")
    done = subprocess.run([*command, str(wrong)], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode > 0
    assert "teh" in done.stdout


# --- measured figures: from result files, with the script that made them ---------------

BY_HAND = {page.relative_to(ROOT).as_posix(): page for page in figures.pages()}
SCRIPTS = {path.stem for path in RESULTS.parent.glob("*.py")}


@pytest.mark.parametrize("name", BY_HAND)
def test_blocks_are_those_of_the_result_files(name):
    text = BY_HAND[name].read_text()
    assert figures.filled(text) == text, "run python -m tools.write_docs"


def test_a_figure_that_was_changed_is_noticed():
    text = BY_HAND["docs/guide/local_type.md"].read_text()
    assert figures.filled(text.replace("| 0.989 |", "| 0.998 |", 1)) == text
    with pytest.raises(KeyError, match="unheard"):
        figures.filled("<!-- figures: unheard -->\n<!-- end of figures -->")


@pytest.mark.parametrize("block", [name for name, (result, _) in figures.BLOCKS.items() if result])
def test_each_block_is_beside_its_script_and_file(block):
    found = [page for page in BY_HAND.values() if f"<!-- figures: {block} -->" in page.read_text()]
    assert len(found) == 1
    text, result = found[0].read_text(), figures.BLOCKS[block][0]
    assert result.name in text
    script = "examples/theorem1.py" if result == figures.THEOREM else f"benchmarks.{result.stem}"
    assert f"python {script}" in text or f"python -m {script}" in text


@pytest.mark.parametrize("name", BY_HAND)
def test_scripts_and_result_files_of_pages_exist(name):
    text = BY_HAND[name].read_text()
    for script in set(re.findall(r"python -m benchmarks\.(\w+)", text)):
        assert script in SCRIPTS
        if (RESULTS / f"{script}.json").exists():
            assert f"benchmarks/results/{script}.json" in text, script
    for path in re.findall(r"(?:benchmarks|tools)/results/\w+\.json", text):
        assert (ROOT / path).is_file(), path


# The page of `describe` has its table of speed rewritten elsewhere.
@pytest.mark.parametrize("name", [name for name in BY_HAND if name != "docs/guide/describe.md"])
def test_no_measurement_is_typed_by_hand(name):
    """A date is the sign of one: it stands in blocks only."""
    text = re.sub(r"<!-- figures.*?<!-- end of figures -->", "", BY_HAND[name].read_text(), flags=re.S)
    assert not re.findall(r"20\d\d-\d\d-\d\d", text)
    assert "@@" not in text
