"""Writers of golden files, pages and pictures, and fuzzers: `python -m tools.NAME` from the root."""
