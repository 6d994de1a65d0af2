"""Points from files and to files: one function each way, one error."""

from .._base.files import write_atomically
from .._base.optional import need
from ._cloud import Cloud
from ._detect import FORMATS, SUFFIXES
from ._error import ReadError
from ._las_records import Record, length_unit
from ._point_signatures import channel_names, write_signatures
from ._read import read_cloud, read_clouds, read_points
from ._write import WRITABLE, write_points

# For other parts of the package, not for users.
from ._given import columns_of as columns_of  # isort: skip
from ._given import points_of_file as points_of_file  # isort: skip
from ._given import with_files_read as with_files_read  # isort: skip
from ._remote import file_stamp as file_stamp  # isort: skip
from ._remote import is_remote as is_remote  # isort: skip
from ._remote import remote_files as remote_files  # isort: skip

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "WRITABLE",
    "Cloud",
    "ReadError",
    "Record",
    "channel_names",
    "length_unit",
    "need",
    "read_cloud",
    "read_clouds",
    "read_points",
    "write_atomically",
    "write_points",
    "write_signatures",
]
