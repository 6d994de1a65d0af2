"""Options: declared once, taken by estimators and functions, checked, and written into docstrings."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest
from sklearn.base import BaseEstimator, clone

from heatfield.options import (
    Head,
    check_options,
    choices_of,
    count,
    names,
    number,
    one_of,
    option,
    options,
    takes,
    values_of,
)


@options
class Size:
    """How large."""

    width: int = option(text="Columns.", check=count(1), default=3)
    kind: str = option(text="Of what kind.", choices=("round", "flat"), default="round", kw_only=False)
    share: float | None = option(text="How much of it.", check=number(above=0, below=1), default=None)


@options
class Colour:
    """Which colour, and how many."""

    colour: str = option(text="A word " + "that is long " * 12 + "indeed.", default="red")
    width: int = option(text="Columns.", check=count(1), default=3)


@takes(Size, Colour)
def paint(path, times=2, *, size, colour, label=None):
    """Paint something.

    Parameters
    ----------
    path : path-like
    times : int
    label : str, optional
    {options}

    Returns
    -------
    kind : what is called like an option
    """
    return path, times, size, colour, label


# --- functions -----------------------------------------------------------------------


def test_a_function_gets_one_object_per_group():
    path, times, size, colour, label = paint("a", 5, "flat", colour="blue", label="x")
    assert (path, times, label) == ("a", 5, "x")
    assert (size.kind, size.width, size.share, colour.colour) == ("flat", 3, None, "blue")
    _, _, size, colour, _ = paint("a", width=7, share=None)  # an option of both
    assert (size.width, colour.width) == (7, 7)


def test_the_signature_names_every_option_once():
    parameters = inspect.signature(paint).parameters
    assert list(parameters) == ["path", "times", "label", "width", "kind", "share", "colour"]
    assert parameters["kind"].default == "round"
    assert paint.groups == (Size, Colour)
    assert paint.__name__ == "paint"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widht": 1}, "paint() has no option 'widht'; did you mean 'width'?"),
        ({"xyz": 1}, "paint() has no option 'xyz'; it has path, times, label, width, kind, share, colour"),
        ({"size": 1}, "paint() has no option 'size'"),
    ],
)
def test_unknown_options_are_named(given, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        paint("a", **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": 0}, "width must be an integer of at least 1, got 0"),
        ({"kind": "square"}, "kind must be one of 'round', 'flat', got 'square'"),
        ({"share": 2.0}, "share must be a number above 0 and below 1, got 2.0"),
    ],
)
def test_wrong_values_are_named(given, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        paint("a", **given)
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        check_options(Size(**given))


# --- docstrings ----------------------------------------------------------------------


def test_a_docstring_lists_the_options():
    lines = inspect.getdoc(paint).splitlines()
    assert "{options}" not in paint.__doc__
    at = lines.index("label : str, optional")
    assert lines[at + 1 : at + 7] == [
        "width : int, default 3",
        "    Columns.",
        'kind : "round", "flat", default \'round\'',
        "    Of what kind.",
        "share : float, optional",
        "    How much of it.",
    ]
    assert all(len(line) <= 110 for line in lines)
    assert lines[lines.index("colour : str, default 'red'") + 2].startswith("    ")


def test_a_docstring_may_describe_an_option_itself():
    @options
    class Own(Size, BaseEstimator):
        """An estimator.

        Parameters
        ----------
        width : int
            In its own words.
        {options}
        """

    doc = inspect.getdoc(Own)
    assert doc.count("width :") == 1
    assert "In its own words." in doc
    assert 'kind : "round", "flat"' in doc


# --- estimators ----------------------------------------------------------------------


@options
class Estimator(Size, Colour, BaseEstimator):
    """Something with options of two groups, and its own.

    Parameters
    ----------
    {options}
    """

    depth: int = option(text="How deep.", check=count(0), default=1)


def test_constructors_only_store():
    made = Estimator("flat", width=-5, colour=3)
    assert (made.kind, made.width, made.colour, made.depth) == ("flat", -5, 3, 1)
    assert made.get_params() == {"kind": "flat", "width": -5, "share": None, "colour": 3, "depth": 1}
    assert clone(made).get_params() == made.get_params()
    assert repr(made) == "Estimator(colour=3, kind='flat', width=-5)"
    assert made != clone(made)  # as estimators of scikit-learn
    with pytest.raises(TypeError, match="widht"):
        Estimator(widht=1)


def test_values_are_those_of_their_groups():
    made = Estimator(width=4, depth=9)
    assert values_of(made, Size) == {"width": 4, "kind": "round", "share": None}
    assert check_options(made, Colour) == {"colour": "red", "width": 4}
    assert check_options(made)["depth"] == 9
    assert all(f"\n{name} :" in inspect.getdoc(Estimator) for name in made.get_params())
    made.set_params(depth=-1)
    with pytest.raises(ValueError, match="depth must be an integer of at least 0, got -1"):
        check_options(made)


# --- checks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (count(2), (1, 1.5, "x", True)),
        (number(above=0), (0, "x", float("nan"), float("inf"))),
        (number(least=0, below=1), (-0.1, 1.0)),
        (one_of(("a", "b")), ("c", 1, ["a"])),
    ],
)
def test_checks_name_the_option_and_the_value(check, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=rf"^knob must be .*, got {re.escape(repr(value))[:10]}"):
            check(value, "knob")


def test_checks_give_the_value_back():
    assert count(2)(3, "knob") == 3
    assert number(above=0)(0.5, "knob") == 0.5
    assert one_of(("a", "b"))("b", "knob") == "b"
    assert names(["a", "b"], "knob") == ("a", "b")
    with pytest.raises(ValueError, match=r"knob must be .*, got the string 'hds'; pass \('hds',\)"):
        names("hds", "knob")


def test_every_option_has_a_sentence():
    from heatfield import options as module

    assert choices_of(Head, "head") == ("auto", "lda", "svm", "mlp")
    groups = [g for g in vars(module).values() if inspect.isclass(g) and hasattr(g, "__dataclass_fields__")]
    assert len(groups) > 8
    for group in groups:
        for entry in fields(group):
            assert re.match(r"[A-Za-z0-9].*\.$", entry.metadata["text"]), (group, entry.name)
            value, check = entry.default, entry.metadata["check"]
            assert value is None or check is None or check(value, entry.name) == value, (group, entry.name)
