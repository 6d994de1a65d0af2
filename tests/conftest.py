"""Compiled code is cached by source file, and a function does not notice when a function
that it calls changes. The cache of a test run is therefore keyed by all of the source."""

import hashlib
import os
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "heatfield"
_digest = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(SOURCE.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"heatfield-tests-{_digest}"))
os.environ.setdefault("MPLBACKEND", "Agg")
