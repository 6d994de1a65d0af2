"""One cloud as one HTML page that holds everything and opens from disk in any browser."""

from ._page import view_page

__all__ = ["view_page"]
