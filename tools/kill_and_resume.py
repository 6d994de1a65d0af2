"""Commands killed at random moments and started again: the same results, and nothing left behind.

    python -m tools.kill_and_resume --kills 100
    python -m tools.kill_and_resume --kills 100 --case describe --resume

Each case is a command on small generated clouds. It runs once undisturbed. Then it is killed (SIGKILL: the
process, or its whole group) one to three times, started again after each, and left to end. Half of the kills
come at a random moment of the whole run, much of which is the loading of libraries, half at a random moment
after something was kept that the next start can use.
All files of the finished command must have the bytes of those of the undisturbed one.
There must be no further file, hidden ones and the temporary folder included. Round k is made from the seed k
alone. Each kill goes to tools/results/kill_and_resume.json: command, moment, what had been written by then,
equal or not. Finished rounds are kept there, so that ``--resume`` goes on behind them; without it the file is
begun anew.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzzing import machine

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "tools" / "results" / "kill_and_resume.json"
LONGEST = 300.0  # seconds after which a command counts as hanging
PER_CLASS = 40

# Each runs in a folder of its own, beside the folder of clouds.
CASES = {
    "describe": "describe ../clouds -o table.csv --n-jobs 2",
    "describe, one thread": "describe ../clouds -o table.parquet --n-jobs 1",
    "describe, processes, per point": (
        "describe ../clouds -o table.npz --n-jobs 2 --executor processes --per-point ply"
    ),
    "train, closed form": "train ../clouds -o model --variant desc --head mlp --folds 4 --n-jobs 2",
    "train, learned": (
        "train ../clouds -o model --variant full --folds 2 --epochs 3 --n-scales 3 --budget 128 --n-jobs 1 "
        "--device cpu"
    ),
    "report": "report ../clouds -o page.html --folds 4 --head lda --embedding pca --n-jobs 1",
    "search": "search build ../clouds -o index --n-jobs 1",
}


def write_clouds(folder: Path, per_class: int = PER_CLASS, large: int = 4500) -> None:
    """Balls, rings and sheets of 100 to 300 points in three formats, and two of ``large`` points.

    The large ones take the fast path.
    """
    import heatfield as hf

    rng = np.random.default_rng(0)
    for kind in ("ball", "ring", "sheet"):
        (folder / kind).mkdir(parents=True)
        for i in range(per_class):
            m = large if i == 0 and kind != "ring" else int(rng.integers(100, 300))
            points = rng.normal(size=(m, 3))
            if kind == "ring":
                points[:, 2] *= 0.05
                points /= np.linalg.norm(points, axis=1, keepdims=True)
            elif kind == "sheet":
                points[:, 2] *= 0.02
            hf.write_points(folder / kind / f"{i:03d}.{('npy', 'ply', 'csv')[i % 3]}", points)


def start(words: str, place: Path) -> subprocess.Popen[bytes]:
    """The command in a group of its own, with caches and temporary files of its own."""
    temporary = place.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_CACHE_HOME": str(place.parent / "cache"),
        "TMPDIR": str(temporary),
        "MPLCONFIGDIR": str(place.parent / "matplotlib"),
        "TORCHINDUCTOR_CACHE_DIR": str(place.parent / "torch"),
    }
    with open(place.parent / "said.txt", "wb") as said:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "heatfield", *words.split()],
            cwd=place, env=environment, stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip


def contents(place: Path) -> dict[str, str]:
    """Every file below a folder, and every empty folder, with a hash of what is in it but for the time."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if path.is_file():
            data = re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", path.read_bytes())  # of a page
            found[name] = hashlib.sha256(data).hexdigest()
        elif not any(path.iterdir()):
            found[name] = "an empty folder"
    return found


def left_over(work: Path) -> list[str]:
    """What lies in the temporary folder, and unfinished files in the caches."""
    waste = [str(path.relative_to(work)) for path in (work / "tmp").rglob("*")]
    return waste + [str(path.relative_to(work)) for path in (work / "cache").rglob(".*")]


def kept(place: Path) -> list[Path]:
    """Features, folds and checkpoints that the next start can use."""
    return [*place.glob("*.parts/[0-9a-f]*")]


def stage(place: Path) -> str:
    """What a command had written when it was killed, in words."""
    kinds = (
        ("unfinished files", r"(.*/)?\.[^/]*\.(part|old)(/.*)?"),
        ("lock", r".*\.parts/\.heatfield-lock"),
        ("results", r".*\.parts/[0-9a-f]{32}\.npz"),
        ("checkpoints", r".*\.parts/[0-9a-f]{32}\.checkpoint"),
        ("per-point files", r"[^/]*_points/.*"),
        ("model", r"model/.*"),
    )
    seen: Counter[str] = Counter()
    for name in contents(place):
        seen[next((kind for kind, pattern in kinds if re.fullmatch(pattern, name)), name)] += 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(seen.items())) or "nothing"


def wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code, or None where it still runs after so many seconds."""
    try:
        return process.wait(timeout=max(seconds, 0.0))
    except subprocess.TimeoutExpired:
        return None


def kill(process: subprocess.Popen[bytes], group: bool) -> None:
    """SIGKILL to the process or its group; afterwards nothing of the group runs."""
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    end = time.monotonic() + 20.0
    while _alive(process.pid):
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError("a worker process goes on 20 s after its command was killed")
        time.sleep(0.02)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def fresh(work: Path) -> Path:
    """An empty folder to run in."""
    place = work / "run"
    for folder in (place, work / "tmp"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    return place


def undisturbed(words: str, work: Path, times: int = 2) -> tuple[dict[str, str], float]:
    """What the command writes, and how long it takes."""
    seconds = float("inf")
    for _ in range(times):
        place = fresh(work)
        begun = time.monotonic()
        process = start(words, place)
        if wait(process, 4 * LONGEST) != 0:
            raise SystemExit(f"heatfield {words} failed:\n{(work / 'said.txt').read_text()[-2000:]}")
        seconds = min(seconds, time.monotonic() - begun)
    return contents(place), seconds


def one_round(number: int, case: str, work: Path, expected: dict[str, str], seconds: float) -> dict[str, Any]:
    """Kill one command one to three times, let it end, compare."""
    rng = random.Random(number)
    words, place = CASES[case], fresh(work)
    kills: list[dict[str, Any]] = []
    code = None
    for _ in range(rng.choice((1, 2, 2, 3))):
        share, group, later = rng.uniform(0.1, 0.95), rng.random() < 0.5, rng.random() < 0.5
        begun = time.monotonic()
        process = start(words, place)
        if later:
            while process.poll() is None and not kept(place):
                time.sleep(0.005)
            share *= 0.4  # of the time, most of which is over by then
        code = wait(process, share * seconds)
        if code is not None:
            break  # it ended before: no kill
        kill(process, group)
        target = "group" if group else "process"
        after = round(time.monotonic() - begun, 2)
        kills.append({"after": after, "whom": target, "stage": stage(place)})
    if code is None:
        code = wait(start(words, place), LONGEST)
    said = (work / "said.txt").read_text(errors="replace")
    found = contents(place)
    differing = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
    waste = left_over(work)
    equal = code == 0 and not differing and not waste
    result: dict[str, Any] = {"round": number, "case": case, "equal": equal, "kills": kills}
    if not equal:
        result |= {"code": code, "differing": differing, "left over": waste, "said": said[-1000:]}
    return result


def save(result: dict[str, Any]) -> None:
    """In one step, with the counts."""
    rounds = result["rounds"]
    result["kills"] = sum(len(entry["kills"]) for entry in rounds)
    result["kills by case"] = {
        case: sum(len(entry["kills"]) for entry in rounds if entry["case"] == case) for case in CASES
    }
    result["rounds that differed"] = sum(not entry["equal"] for entry in rounds)
    result["date"] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    result["machine"] = machine()
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    part = RESULT.with_suffix(".part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(part, RESULT)


def run(kills: int, resume: bool, cases: list[str]) -> int:
    """Rounds until there were so many kills."""
    result: dict[str, Any] = {"commands": CASES, "rounds": []}
    if resume and RESULT.exists():
        result = {**json.loads(RESULT.read_text()), "commands": CASES}
    with tempfile.TemporaryDirectory(prefix="heatfield-kills-") as folder:
        work = Path(folder)
        write_clouds(work / "clouds")
        known = {}
        for case in cases:
            known[case] = undisturbed(CASES[case], work)
            print(f"{case}: {known[case][1]:.1f} s undisturbed, {len(known[case][0])} files", flush=True)
        begun, before = time.monotonic(), sum(len(entry["kills"]) for entry in result["rounds"])
        count = before
        while count < kills:
            number = len(result["rounds"])
            case = cases[number % len(cases)]
            entry = one_round(number, case, work, *known[case])
            result["rounds"].append(entry)
            save(result)
            count = result["kills"]
            left = (time.monotonic() - begun) / max(count - before, 1) * max(kills - count, 0)
            stages = "; ".join(f"{kill['after']} s ({kill['stage']})" for kill in entry["kills"]) or "none"
            word = "equal" if entry["equal"] else f"DIFFERENT {json.dumps(entry)}"
            print(f"{count}/{kills} kills, {left / 60:.1f} min left: {case}: {stages}: {word}", flush=True)
    print(f"{result['kills']} kills, {result['rounds that differed']} rounds with another result")
    return 1 if result["rounds that differed"] else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="in all (default 100)")
    parser.add_argument("--resume", action="store_true", help="go on behind the rounds of the result file")
    parser.add_argument("--case", choices=CASES, action="append", help="only these")
    options = parser.parse_args()
    return run(options.kills, options.resume, options.case or list(CASES))


if __name__ == "__main__":
    sys.exit(main())
