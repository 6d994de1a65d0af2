"""Requirements of some extras, for ``pip install -r``: packages are added without building the library again.

    python tools/extras.py pyproject.toml io,show,test > FILE

An extra that names other extras of the same distribution is followed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def requirements(project: Path, extras: list[str]) -> list[str]:
    """What the extras need, each once, without the distribution itself."""
    told = tomllib.loads(project.read_text())["project"]
    found: dict[str, None] = {}
    for extra in extras:
        for line in told["optional-dependencies"][extra]:
            own = re.fullmatch(rf"{told['name']}\[(.+)\]", line)
            more = requirements(project, own[1].split(",")) if own else [line]
            found |= dict.fromkeys(line for line in more if not re.match(r"heatfield(-bench)?\b", line))
    return list(found)


if __name__ == "__main__":
    print(*requirements(Path(sys.argv[1]), sys.argv[2].split(",")), sep="\n")
