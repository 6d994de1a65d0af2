"""What the registry says of each method, and that the package is light."""

import inspect
import json
import re
from inspect import Parameter

import pytest
from sklearn.base import clone

import heatfield_bench as hb
from heatfield_bench import _tools
from heatfield_bench.baselines import registry
from tests.helpers.process import run_python


def test_import_loads_nothing_heavy():
    code = "import heatfield_bench.baselines, json, sys; print(json.dumps(list(sys.modules)))"
    heavy = {"numpy", "scipy", "numba", "sklearn", "torch", "open3d", "multipers", "gudhi", "xgboost"}
    assert heavy.isdisjoint(json.loads(run_python(code)))


def test_every_method_says_its_recipe_or_need():
    words = hb.baselines.available()
    assert list(words) == list(registry.classes())
    assert all(words.values())
    assert set(dir(hb.baselines)) == {"available", *words} == set(hb.baselines.__all__)


@pytest.mark.parametrize("name", registry.classes())
def test_every_parameter_is_explicit_and_documented(name):
    """Shared parts of docstrings are filled in."""
    kind = getattr(hb.baselines, name)
    params = inspect.signature(kind).parameters
    assert {p.kind for p in params.values()} <= {Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY}
    assert sorted(kind().get_params(deep=False)) == sorted(params)
    text = inspect.cleandoc(kind.__doc__)
    assert not re.search(r"^ *\{\w+\}$", text, re.MULTILINE)
    section = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
    heads = [line.split(" :")[0] for line in section.splitlines() if not line.startswith(" ")]
    documented = [word for head in heads for word in head.split(", ")]
    assert sorted(documented) == sorted(params)
    assert ">>> " in text.split("Examples\n--------\n")[1]
    given = clone(kind().set_params(n_jobs=2) if "n_jobs" in params else kind())
    assert type(given) is kind
    assert given.get_params().keys() == kind().get_params().keys()


def test_networks_say_their_size():
    pytest.importorskip("torch")
    words = hb.baselines.available()
    counts = {"PointNet": "3,480,049", "PointNet2": "1,475,688", "DGCNN": "1,809,576"}
    for name, count in (counts | {"PointTransformer": "2,153,904", "VNDGCNN": "2,899,830"}).items():
        assert words[name].endswith(f"; {count} parameters")
    assert hb.baselines.PointNet2.parameter_count(40, grouping="msg") == 1_747_368
    with pytest.raises(ValueError, match="n_classes must be an integer of at least 2, got 1"):
        hb.baselines.DGCNN.parameter_count(1)


def test_what_is_missing_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setitem(_tools.EXTRAS, "torch", ("torch", "no_such_library"))
    message = "DGCNN needs no_such_library: pip install 'heatfield-bench[torch]'"
    assert hb.baselines.available()["DGCNN"] == message


def test_an_unknown_name_is_said():
    with pytest.raises(AttributeError, match=r"^module 'heatfield_bench\.baselines' has no attribute 'Poi"):
        hb.baselines.PointNet3  # noqa: B018


def test_without_torch_the_error_names_the_command():
    code = """
from importlib.machinery import PathFinder
plain = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda cls, name, *rest: None if name == "torch" else plain(name, *rest))
import heatfield_bench as hb
print(hb.baselines.available()["DGCNN"])
try:
    hb.baselines.DGCNN().fit([[[0.0], [1.0]]] * 2, [0, 1])
except ImportError as error:
    print(error)
"""
    assert run_python(code).splitlines() == [
        "DGCNN needs torch: pip install 'heatfield-bench[torch]'",
        "DGCNN needs torch: pip install 'heatfield-bench[torch]'",
    ]
