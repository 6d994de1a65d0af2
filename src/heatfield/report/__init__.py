"""Pages about many clouds: a folder as a report, and what a search found."""

from ._collection import Collection, Separation, separate
from ._page import hits_page, report_page

__all__ = ["Collection", "Separation", "hits_page", "report_page", "separate"]
