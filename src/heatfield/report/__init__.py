"""Pages about many clouds: a folder as a report, and what a search found."""

from ._collection import Collection
from ._hits import hits_page
from ._page import report_page

__all__ = ["Collection", "hits_page", "report_page"]
