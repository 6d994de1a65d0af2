"""Every script can be started: what it imports from the library and from the other folders is there."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.name != "__main__.py"
]


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_can_be_imported(name):
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        library, _, part = (error.name or "").partition(".")
        ours = library in ("heatfield", "benchmarks", "tools", "tests")
        if ours or (library == "heatfield_bench" and part):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert found.__doc__
