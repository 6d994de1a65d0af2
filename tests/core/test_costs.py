"""Measured costs: kept in a file, measured again where it is broken."""

import json
import os

import pytest

from heatfield.core import costs as _costs
from heatfield.core import measure_costs
from heatfield.core.costs import Costs


def test_costs_are_measured_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_costs, "_known", None)
    calls = []
    monkeypatch.setattr(measure_costs, "measured_costs", lambda: calls.append(1) or Costs(pair=3e-9))
    assert _costs.costs(measure=False) == Costs()
    assert _costs.costs().pair == 3e-9
    monkeypatch.setattr(_costs, "_known", None)
    assert _costs.costs().pair == 3e-9
    assert calls == [1]
    stored = json.loads(_costs.cache_file().read_text())
    assert stored["pair"] == 3e-9


FORGED = [
    100_000 * "[",
    100_000 * '{"a":',
    json.dumps({"schema": _costs.SCHEMA, **dict.fromkeys(Costs.__dataclass_fields__, 10**400)}),
    json.dumps({"schema": _costs.SCHEMA, **{name: float("nan") for name in Costs.__dataclass_fields__}}),
]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": 1, "pair": "x"}', '{"schema": 0}', *FORGED])
def test_a_broken_cost_file_is_measured_again(text, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_costs, "_known", None)
    monkeypatch.setattr(measure_costs, "measured_costs", lambda: Costs(ring=2e-9))
    _costs.cache_file().parent.mkdir()
    _costs.cache_file().write_text(text)
    assert _costs.costs().ring == 2e-9


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(_costs, "_known", None)
    monkeypatch.setattr(measure_costs, "measured_costs", lambda: Costs(ring=2e-9))
    _costs.cache_file().parent.mkdir()
    os.mkfifo(_costs.cache_file())
    assert _costs.costs().ring == 2e-9


def test_costs_without_a_place_to_write(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(_costs, "_known", None)
    monkeypatch.setattr(measure_costs, "measured_costs", Costs)
    assert _costs.costs() == Costs()


def test_measured_costs_are_sane():
    found = measure_costs.measured_costs()
    for field in ("pair", "ring", "target", "read", "fourier"):
        assert 0.1 < getattr(found, field) / getattr(Costs, field) < 10.0
