"""Examples in docstrings of baselines that need an extra are skipped where it is not installed."""

import pytest


def pytest_collection_modifyitems(items):
    examples = [item for item in items if item.name.startswith("heatfield_bench.baselines.")]
    if not examples:
        return
    from heatfield_bench._tools import install, missing
    from heatfield_bench.baselines.registry import entries

    needs = {entry.kind.__name__: entry for entry in entries()}
    for item in examples:
        entry = needs.get(item.name.rsplit(".", 1)[-1])
        if entry is not None and (absent := missing(entry.extras)):
            item.add_marker(pytest.mark.skip(reason=f"needs {absent[0]}: {install(entry.needs)}"))
