"""Points from files and to files: one function each way, one error."""

from ._cloud import Cloud
from ._detect import FORMATS
from ._error import ReadError
from ._read import read_cloud, read_points
from ._write import WRITABLE, write_points

__all__ = ["FORMATS", "WRITABLE", "Cloud", "ReadError", "read_cloud", "read_points", "write_points"]
