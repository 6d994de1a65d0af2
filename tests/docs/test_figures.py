"""Measured figures in the pages: from result files, with the script that made them, and none without."""

import re

import pytest

from benchmarks.lib.results import RESULTS, ROOT
from tools.site import figures

PAGES = {page.relative_to(ROOT).as_posix(): page for page in figures.pages()}
SCRIPTS = {path.stem for path in RESULTS.parent.glob("*.py")}


@pytest.mark.parametrize("name", PAGES)
def test_blocks_are_those_of_the_result_files(name):
    text = PAGES[name].read_text()
    assert figures.filled(text) == text, "run python -m tools.write_docs"


def test_a_figure_that_was_changed_is_noticed():
    text = PAGES["docs/guide/local_type.md"].read_text()
    assert figures.filled(text.replace("| 0.989 |", "| 0.998 |", 1)) == text
    with pytest.raises(KeyError, match="unheard"):
        figures.filled("<!-- figures: unheard -->\n<!-- end of figures -->")


@pytest.mark.parametrize("block", [name for name, (result, _) in figures.BLOCKS.items() if result])
def test_each_block_is_beside_its_script_and_file(block):
    found = [page for page in PAGES.values() if f"<!-- figures: {block} -->" in page.read_text()]
    assert len(found) == 1
    text, result = found[0].read_text(), figures.BLOCKS[block][0]
    assert result.name in text
    script = "examples/theorem1.py" if result == figures.THEOREM else f"benchmarks.{result.stem}"
    assert f"python {script}" in text or f"python -m {script}" in text


@pytest.mark.parametrize("name", PAGES)
def test_scripts_and_result_files_of_pages_exist(name):
    text = PAGES[name].read_text()
    for script in set(re.findall(r"python -m benchmarks\.(\w+)", text)):
        assert script in SCRIPTS
        if (RESULTS / f"{script}.json").exists():
            assert f"benchmarks/results/{script}.json" in text, script
    for path in re.findall(r"(?:benchmarks|tools)/results/\w+\.json", text):
        assert (ROOT / path).is_file(), path


# The page of `describe` has its table of speed rewritten elsewhere.
@pytest.mark.parametrize("name", [name for name in PAGES if name != "docs/guide/describe.md"])
def test_no_measurement_is_typed_by_hand(name):
    """A date is the sign of one: it stands in blocks only."""
    text = re.sub(r"<!-- figures.*?<!-- end of figures -->", "", PAGES[name].read_text(), flags=re.S)
    assert not re.findall(r"20\d\d-\d\d-\d\d", text)
    assert "@@" not in text
