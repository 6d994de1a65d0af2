"""Points from files and to files: one function each way, one error."""

from .._base.files import write_atomically
from .._base.optional import need
from ._cloud import Cloud
from ._detect import FORMATS, SUFFIXES
from ._error import ReadError
from ._given import columns_of, points_of_file, with_files_read
from ._las_records import Record, length_unit
from ._point_signatures import channel_names, write_signatures
from ._read import read_cloud, read_clouds, read_points
from ._remote import file_stamp, is_remote, remote_files
from ._write import WRITABLE, write_points

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "WRITABLE",
    "Cloud",
    "ReadError",
    "Record",
    "channel_names",
    "columns_of",
    "file_stamp",
    "is_remote",
    "length_unit",
    "need",
    "points_of_file",
    "read_cloud",
    "read_clouds",
    "read_points",
    "remote_files",
    "with_files_read",
    "write_atomically",
    "write_points",
    "write_signatures",
]
