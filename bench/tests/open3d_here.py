"""Whether Open3D can be loaded here; where not, its tests are skipped with the reason."""

import pytest

try:
    import open3d  # noqa: F401

    _missing = None
except (ImportError, OSError) as error:  # not installed, or without a library of the system
    _missing = f"Open3D cannot be loaded ({error}): pip install 'heatfield-bench[open3d]'"

needs_open3d = pytest.mark.skipif(_missing is not None, reason=_missing or "")
