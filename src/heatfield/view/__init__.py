"""One cloud as one page: everything in it, opened from disk by any browser."""

from ._page import view_page

__all__ = ["view_page"]
