"""Examples in docstrings that need an extra are skipped where it is not installed."""

import importlib.util

import pytest

_NEEDED = {
    "GRIL": ("gudhi", "xgboost"),
    "GraphCode": ("gudhi", "torch"),
    "MPImage": ("gudhi", "xgboost", "multipers"),
    "MPLandscape": ("gudhi", "xgboost"),
    "MPSignedMeasure": ("gudhi", "xgboost"),
}


def pytest_collection_modifyitems(items):
    for item in items:
        name = item.name.rsplit(".", 1)[-1]
        if item.name.startswith("heatfield_bench.baselines.") and name in _NEEDED:
            missing = [library for library in _NEEDED[name] if importlib.util.find_spec(library) is None]
            if missing:
                item.add_marker(
                    pytest.mark.skip(
                        reason=f"needs {missing[0]}: pip install 'heatfield-bench[persistence,torch]'"
                    )
                )
