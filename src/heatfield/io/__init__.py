"""Points from files and to files: one function each way, one error."""

from .cloud import Cloud
from .formats import FORMATS, SUFFIXES, WRITABLE
from .formats.las import Record, length_unit
from .limits import ReadError
from .read import read_cloud, read_clouds, read_points
from .write import channel_names, write_points, write_signatures

# For other parts of the package, not for users.
from .cloud import chain_words as chain_words  # isort: skip
from .read import columns_of as columns_of  # isort: skip
from .read import points_of_file as points_of_file  # isort: skip
from .read import with_files_read as with_files_read  # isort: skip
from .remote import file_stamp as file_stamp  # isort: skip
from .remote import is_remote as is_remote  # isort: skip
from .remote import remote_files as remote_files  # isort: skip

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "WRITABLE",
    "Cloud",
    "ReadError",
    "Record",
    "channel_names",
    "length_unit",
    "read_cloud",
    "read_clouds",
    "read_points",
    "write_points",
    "write_signatures",
]
