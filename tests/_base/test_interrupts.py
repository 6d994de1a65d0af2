"""A stop that falls into the loading of compiled code ends the call, not the process."""

import signal
import subprocess
import sys

import pytest

from heatfield._base.interrupts import Guard
from tests.helpers.process import environment

SCRIPT = """
import os, signal
import numpy as np
from llvmlite.binding.executionengine import ExecutionEngine
import heatfield as hf

plain, asked = ExecutionEngine._find_module_ptr, []

def stopped_once(self, pointer):
    if not asked:
        asked.append(pointer)
        os.kill(os.getpid(), signal.SIGINT)
    return plain(self, pointer)

ExecutionEngine._find_module_ptr = stopped_once
cloud = np.random.default_rng(0).normal(size=(40, 3))
try:
    hf.signatures(cloud)
except KeyboardInterrupt:
    print("stopped", len(asked), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(np.isfinite(hf.signatures(cloud).dimension).all())
"""


def test_a_stop_while_code_is_loaded_is_raised_when_it_is_loaded():
    found = subprocess.run([sys.executable, "-c", SCRIPT], env=environment(), capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["stopped", "1", "True", "True"]
    assert "ignored" not in found.stderr


@pytest.fixture
def said():
    """What a handler of SIGINT was told, with the handler set meanwhile."""
    numbers = []
    before = signal.signal(signal.SIGINT, lambda number, _: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGINT, before)


def test_outside_the_callback_a_stop_is_passed_on_at_once(said):
    guard = Guard(signal.SIGINT)
    guard.start()
    guard.start()
    signal.raise_signal(signal.SIGINT)
    assert said == [signal.SIGINT]
    guard.end()
    guard.end()
    signal.raise_signal(signal.SIGINT)
    assert said == 2 * [signal.SIGINT]


def test_inside_the_callback_a_stop_waits_and_is_passed_on_once(said):
    def _raw_object_cache_getbuffer():
        signal.raise_signal(signal.SIGINT)

    guard = Guard(signal.SIGINT)
    guard.start()
    _raw_object_cache_getbuffer()
    assert said == []
    guard.end()
    guard.pass_on()
    guard.pass_on()
    assert said == [signal.SIGINT]


@pytest.mark.usefixtures("said")
def test_a_handler_set_meanwhile_stays():
    guard = Guard(signal.SIGINT)
    guard.start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    guard.end()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    guard.start()  # nothing is raised by an ignored signal: left as it is
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    guard.end()
