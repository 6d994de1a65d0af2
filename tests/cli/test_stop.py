"""Ctrl-C: what a stopped command leaves behind, and that it does stop."""

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heatfield as hf
from heatfield._classifier.preprocessing import AnnealedMLP
from heatfield.cli import main
from tests.helpers.estimator_checks import some_clouds
from tests.helpers.process import environment

LONG = 60  # seconds after which a process that should have ended long ago counts as hanging


@pytest.fixture
def folder(tmp_path):
    """Two classes in two folders."""
    clouds, labels = some_clouds(20)
    for i, (points, label) in enumerate(zip(clouds, labels, strict=True)):
        (tmp_path / "in" / label).mkdir(parents=True, exist_ok=True)
        hf.write_points(tmp_path / "in" / label / f"c{i:02d}.npy", points)
    return tmp_path / "in"


def start(code, *words, **changes):
    """A process in a group of its own, as a shell starts it on a terminal."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment(OMP_NUM_THREADS="1", **changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.05)


def test_the_network_is_interrupted_rather_than_half_trained():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    # It learns noise without a tolerance: it would be at it for many seconds.
    network = AnnealedMLP((64,), max_iter=4000, n_iter_no_change=4000, random_state=0)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        network.fit(X, y)
    assert network.warm_start is False


def test_other_warnings_of_the_network_stay_warnings():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="Maximum iterations"):
        AnnealedMLP((4,), max_iter=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("head", ["mlp", "auto"])
def test_a_stopped_training_counts_nothing_half_trained_and_goes_on(
    folder, tmp_path, monkeypatch, capsys, head
):
    from heatfield._classifier import closed_form
    from heatfield._features.descriptor import HFSDescriptor

    words = ["--variant", "simple", "--head", head, "--folds", "3", "--scales", "3", "--epochs", "20"]
    monkeypatch.setattr("warnings.filters", [("ignore", None, Warning, None, 0)])  # 20 epochs are few
    assert main(["train", str(folder), "-o", str(tmp_path / "whole"), *words, "--quiet"]) == 0
    fit_head, transform = closed_form.fit_head, HFSDescriptor.transform
    fitted, described = [], []

    def interrupted(*given):
        fitted.append(len(fitted))
        if len(fitted) == 2:
            _thread.interrupt_main()  # in the training itself, where scikit-learn catches it
        return fit_head(*given)

    def counted(self, clouds):
        described.extend(clouds)
        return transform(self, clouds)

    monkeypatch.setattr(closed_form, "fit_head", interrupted)
    monkeypatch.setattr(HFSDescriptor, "transform", counted)
    model = tmp_path / "m"
    assert main(["train", str(folder), "-o", str(model), *words]) == 130
    assert "stopped; the same command goes on from here" in capsys.readouterr().err
    assert not model.exists()
    assert not (tmp_path / "m.report.json").exists()
    assert main(["train", str(folder), "-o", str(model), *words]) == 0
    assert "1 of 3 folds were finished before" in capsys.readouterr().err
    assert len(fitted) == 2 + 3  # folds 1, 2 (stopped); 2, 3 and the model
    assert len(described) == 20  # each cloud once
    one, two = (json.loads((tmp_path / f"{name}.report.json").read_text()) for name in ("whole", "m"))
    assert one["cross_validation"] == two["cross_validation"]
    assert not (tmp_path / "m.parts").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("by", "whom"), [("threads", "command"), ("processes", "command"), ("processes", "group")]
)
def test_describe_leaves_its_queue_when_stopped(folder, tmp_path, whom, by):
    code = f"""
import sys
from heatfield.cli import _run_shards, main
from tests.helpers.slow_shard import slow_shard, slow_shard_in_thread
_run_shards.run_shard, _run_shards.run_under_conditions = slow_shard, slow_shard_in_thread
_run_shards._FEW_BYTES = {2**26 if by == "threads" else 0}
sys.exit(main())
"""
    out = tmp_path / "f.npz"
    words = ["describe", folder, "-o", out, "--jobs", "2", "--shard", "4", "--quiet"]
    process = start(code, *words, SLOW_SHARD_FOLDER=str(tmp_path))
    wait_for(tmp_path / "begun-0", process)
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert said.strip() == "heatfield: stopped"
    assert not list(tmp_path.glob("done-*"))
    assert not out.exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_long_call_into_compiled_code_does_not_delay_the_stop(tmp_path):
    code = """
import hashlib, pathlib, sys
from heatfield.cli import _info, main
def busy(options):
    pathlib.Path(sys.argv[2]).touch()
    try:
        hashlib.pbkdf2_hmac("sha256", b"a", b"b", 400_000_000)  # many seconds without a step of Python
    finally:
        print("worked off")
_info.run = busy
sys.exit(main())
"""
    process = start(code, "info", tmp_path / "begun")
    wait_for(tmp_path / "begun", process)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=LONG)
    assert process.returncode == 130
    assert said.strip() == "heatfield: stopped"
    assert out == ""


def test_what_is_being_written_is_removed_by_a_stop(tmp_path):
    from heatfield._base.files import open_atomically, remove_unfinished

    def stopped():
        with open_atomically(tmp_path / "a.bin") as file:
            file.write(b"half")
            remove_unfinished()
            assert not list(tmp_path.iterdir())

    with pytest.raises(FileNotFoundError):
        stopped()


def test_a_stop_waits_less_than_two_seconds():
    """What is promised: what else ends a command is tested above, without a clock."""
    from heatfield.cli import _stop

    assert 0.0 < _stop._PATIENCE < 2.0
