"""What users can call, type and read leaves or changes only together with a row of the changelog."""

import doctest
import json

import pytest

pytest.importorskip("torch")  # without it `heatfield.nn` has no public names

from tools import inventory

KEPT = json.loads(inventory.KEPT.read_text("utf-8"))
ROWS = inventory.changelog_rows(inventory.CHANGELOG.read_text("utf-8"))
REMEDY = "run `python -m tools.inventory`, and add a row to 'Names that changed' in CHANGELOG.md"


@pytest.fixture(scope="module")
def now():
    return inventory.inventory()


def test_changes_are_noted(now):
    found = inventory.unnoted(KEPT["entries"], KEPT["changes"], now)
    assert not found, "\n".join([f"{len(found)} public names differ: {REMEDY}", *found])


def test_only_changes_are_noted(now):
    assert KEPT["changes"] == inventory.difference(KEPT["entries"], now), REMEDY


def test_changes_have_a_row_in_the_changelog():
    found = inventory.unexplained(KEPT["changes"], ROWS)
    assert not found, "\n".join([f"{len(found)} changes are not explained: {REMEDY}", *found])


def test_rows_of_the_changelog_have_a_change():
    found = inventory.dead_rows(KEPT["changes"], ROWS)
    assert not found, f"no change belongs to these rows of CHANGELOG.md: {found}"


def test_every_kind_is_in_the_inventory(now):
    text = json.dumps(now)
    assert " at 0x" not in text  # nothing of the machine
    assert str(inventory.ROOT) not in text
    kinds = {key.partition(":")[0] for key in now}
    assert kinds >= {"python", "object", "command", "format", "extra", "dependency", "script"}
    assert kinds >= {"plot", "page", "example", "features", "bench", "published"}


def test_the_examples_of_the_tool():
    assert doctest.testmod(inventory).failed == 0


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("python:heatfield.signatures", None, "not there"),
        ("command:survey --c-min", "--c-min; float; default 0.1", "default 0.1"),
        ("python:heatfield.added", "function()", "not there -> function()"),
    ],
    ids=["removed name", "changed default", "added name"],
)
def test_a_change_is_found(key, value, line):
    entries = KEPT["entries"]
    changed = {k: v for k, v in {**entries, key: value}.items() if v is not None}
    (found,) = inventory.unnoted(entries, {}, changed)
    assert found.startswith(f"{key}: ")
    assert line in found
    noted = inventory.difference(entries, changed)
    assert noted == {key: value}
    assert inventory.unnoted(entries, noted, changed) == []
    assert inventory.unnoted(entries, noted, entries) != []  # taken back, but still noted
    assert inventory.dead_rows(noted, {key: "why", "extra:gone": "why"}) == ["extra:gone"]
    assert inventory.unexplained(noted, {}) == [key]
    assert inventory.unexplained(noted, {key: ""}) == [key]  # a row has to say something
    assert inventory.unexplained(noted, {key: "why"}) == []
    assert inventory.unexplained(noted, {f"{key[:-3]}*": "why"}) == []
