"""Known defects: each test says what has to hold, and is expected to fail until it does.

The marks are strict: whoever mends a defect takes its mark away. How each fails today is shown by
``pytest --runxfail tests/defects``.
"""

import pytest


def defect(reason, raises=AssertionError):
    """The mark of a test that fails today, with the error by which it must fail."""
    return pytest.mark.xfail(strict=True, raises=raises, reason=reason)
