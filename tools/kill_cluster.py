"""Workers and the scheduler of a real cluster killed in the middle: the same bytes as by one process.

    python -m tools.kill_cluster --data FOLDER             # describe: every readable file below it
    python -m tools.kill_cluster --tiles FOLDER            # survey: the tiles in it, by benchmarks.survey

``dask scheduler`` and two ``dask worker`` processes run on loopback. Each case is a command in a process of
its own; what it writes is compared byte by byte with what the command writes without a cluster. Each finished
case goes to tools/results/kill_cluster.json.

describe  by the cluster; with one worker killed (SIGKILL) in the middle; with the scheduler killed in the
          middle, which must be an error with exit code 2, and the same command again with another cluster.
survey    with one worker killed while tiles are written (pass 3).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.helpers.workers import Cluster, command, end_of, wait_for
from tools.fuzzing import machine

RESULT = Path(__file__).resolve().parent / "results" / "kill_cluster.json"
LONGEST = 3600.0  # seconds until something has to happen


def digest(folder: Path, pattern: str) -> dict[str, str]:
    """Hash of every file, by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob(pattern))
        if path.is_file()
    }


def kept(name: str, case: dict[str, Any]) -> None:
    """Write a finished case, and say it."""
    found = json.loads(RESULT.read_text()) if RESULT.exists() else {"cases": {}}
    case["date"] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    found |= machine()
    found["cases"][name] = case
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{name}: {json.dumps(case)}", flush=True)


def ended(*words: object, disturb: Callable[[Any], int] | None = None) -> dict[str, Any]:
    """Run a command; ``disturb`` kills something in the middle and says how much was finished by then."""
    started = time.perf_counter()
    process = command(*words)
    finished = disturb(process) if disturb else None
    code, said = end_of(process)
    case: dict[str, Any] = {"exit_code": code, "seconds": round(time.perf_counter() - started, 1)}
    if finished is not None:
        case["finished_when_killed"] = finished
    return case | {"said": said.strip().splitlines()[-1][:300] if said.strip() else ""}


def killed(victim: Callable[[], int], done: Callable[[], int], after: int) -> Callable[[Any], int]:
    """Kill a process as soon as so many parts are finished."""

    def disturb(process: Any) -> int:
        if not wait_for(lambda: done() >= after, process, LONGEST):
            raise SystemExit("the command ended before anything could be killed")
        os.kill(victim(), signal.SIGKILL)
        return done()

    return disturb


def describe(data: Path, folder: Path) -> None:
    """All cases of ``describe``."""
    words = ("describe", data, "--quiet", "-o")
    case = ended(*words, folder / "one.csv", "--n-jobs", "2")
    expected = digest(folder, "one.*")
    rows = (folder / "one.csv").read_bytes().count(b"\n") - 1
    kept("describe, one process", case | {"rows": rows})

    def compared(name: str, case: dict[str, Any]) -> dict[str, Any]:
        own = {key.replace(name, "one", 1): value for key, value in digest(folder, f"{name}.*").items()}
        return case | {"same_bytes": own == expected, "files": len(own)}

    def parts(name: str) -> int:
        return len(list((folder / f"{name}.csv.parts").glob("*.npz")))

    cluster = Cluster()
    try:
        by = (*words, folder / "by.csv", "--executor", cluster.address)
        kept("describe, cluster", compared("by", ended(*by)))
        hurt = (*words, folder / "hurt.csv", "--executor", cluster.address)
        disturb = killed(lambda: cluster.workers[0].pid, lambda: parts("hurt"), 10)
        kept("describe, worker killed", compared("hurt", ended(*hurt, disturb=disturb)))
    finally:
        cluster.close()
    cluster, other = Cluster(), Cluster()
    try:
        lost = (*words, folder / "lost.csv", "--executor", cluster.address)
        disturb = killed(lambda: cluster.scheduler.pid, lambda: parts("lost"), 10)
        kept("describe, scheduler killed", ended(*lost, disturb=disturb) | {"kept_parts": parts("lost")})
        again = (*words, folder / "lost.csv", "--executor", other.address)
        kept("describe, after the scheduler was killed", compared("lost", ended(*again)))
    finally:
        cluster.close()
        other.close()


def survey(tiles: Path, folder: Path) -> None:
    """One survey by threads of this machine, and one by a cluster that loses a worker in pass 3."""
    paths = sorted(tiles.glob("*.las"))
    one, hurt = folder / "one", folder / "hurt"
    case = ended("survey", *paths, "-o", one, "--quiet", "--n-jobs", "2", "--memory", "6")
    expected = digest(one, "*.las")
    kept("survey, threads", case | {"tiles": len(expected)})
    cluster = Cluster()
    try:
        words = ("survey", *paths, "-o", hurt, "--quiet", "--memory", "6", "--executor", cluster.address)
        disturb = killed(
            lambda: cluster.workers[0].pid, lambda: len(list(hurt.glob("*.las"))), len(paths) // 4
        )
        case = ended(*words, disturb=disturb)
        own = digest(hurt, "*.las")
        kept("survey, worker killed in pass 3", case | {"same_bytes": own == expected, "tiles": len(own)})
    finally:
        cluster.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder of clouds for describe")
    parser.add_argument("--tiles", type=Path, help="folder of LAS tiles for survey")
    options = parser.parse_args()
    for work, source in ((describe, options.data), (survey, options.tiles)):
        if source is not None:
            with tempfile.TemporaryDirectory(prefix="heatfield-cluster-") as folder:
                work(source.resolve(), Path(folder))


if __name__ == "__main__":
    main()
