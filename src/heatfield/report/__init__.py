"""A folder of clouds as one page: what is in it, what tells the classes apart, which clouds are unusual."""

from ._collection import Collection
from ._page import report_page

__all__ = ["Collection", "report_page"]
