"""What pages say of themselves."""

import json
import re
from pathlib import Path


def header(path):
    """The data in the head of a page."""
    return json.loads(re.search(r'id="header">(.*?)</script>', Path(path).read_text(), re.S)[1])
