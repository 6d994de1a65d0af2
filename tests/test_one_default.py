"""One word, one default: functions, estimators and verbs have the options of `heatfield.options`."""

import argparse
import inspect
import re
from dataclasses import fields, is_dataclass

import pytest

import heatfield as hf
from heatfield import options as declared
from heatfield.cli import VERBS, Parser, functions_of
from heatfield.cli.parsing import flag_of
from tools.site import public

GROUPS = [
    group for group in vars(declared).values()
    if is_dataclass(group) and group.__module__ == declared.__name__
]  # fmt: skip
OPTIONS = {entry.name: entry for group in [*GROUPS, declared.Features] for entry in fields(group)}

# (owner, word): the other default, and why.
EXCEPTIONS = {
    ("heatfield.HFSClassifier", "variant"): ("auto", "classifiers choose"),
    ("heatfield.train_files", "variant"): ("auto", "classifiers choose"),
    ("heatfield.HFSRegressor", "variant"): ("auto", "regressors choose"),
    ("heatfield.HFSNetworkClassifier", "variant"): ("full", "of the two networks"),
    ("heatfield.HFSNetworkRegressor", "variant"): ("full", "of the two networks"),
    ("heatfield.HFSNetworkClassifier", "class_weight"): (None, "the paper's; rare labels of points need it"),
    ("heatfield.train_files", "class_weight"): (None, "the paper's"),
    ("heatfield.read_points", "columns"): (False, "whether they are wanted"),
    ("heatfield.io.read_points", "columns"): (False, "whether they are wanted"),
    ("heatfield.plot.dimension_over_scales", "columns"): (4, "of the figure"),
    ("heatfield.nn.HFSDGCNN", "embedding"): (1024, "the width of a layer"),
    ("heatfield.nn.HFSDGCNN", "head"): ((512, 256), "widths of layers"),
    ("heatfield.nn.HFSFull", "head"): (256, "the width of a layer"),
    ("heatfield.nn.ClosedFormFeatures", "dtype"): ("torch.float32", "of tensors"),
    ("heatfield.nn.HeatFeatures", "transition"): ("difference", "the paper's"),
}
# Arguments of verbs that no function has: what is printed, and two ways to give one window.
OF_VERBS = {"quiet", "evaluate", "polygon"}


def functions():
    """Name and value of all that is public and called: functions, classes, and methods of classes.

    A frozen dataclass holds results, whatever its fields are called.
    """
    for one in public.all_names():
        if one.module.partition(".")[0] != "heatfield" or not callable(one.value):
            continue
        if getattr(getattr(one.value, "__dataclass_params__", None), "frozen", False):
            continue
        yield one.full, one.value
        if inspect.isclass(one.value):
            for name, method in vars(one.value).items():
                if inspect.isfunction(method) and not name.startswith("_"):
                    yield f"{one.full}.{name}", method


def other_defaults(name, value):
    """Parameters that are called as an option is, and have another default."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # of an exception, which Python itself defines
        return
    for one in parameters:
        if one.name not in OPTIONS or one.default is one.empty:
            continue
        expected = OPTIONS[one.name].default
        if one.default != expected or type(one.default) is not type(expected):
            plain = one.default is None or isinstance(one.default, (int, str, tuple))
            found = one.default if plain else str(one.default)
            if EXCEPTIONS.get((name, one.name), (object(),))[0] != found:
                yield f"{name}: {one.name}={one.default!r}, the option has {expected!r}"


def test_an_option_of_two_groups_has_one_default():
    for group in GROUPS:
        for entry in fields(group):
            same = entry.default == OPTIONS[entry.name].default
            assert same or entry.name in ("variant", "class_weight"), (group, entry.name)
            assert entry.metadata["text"].endswith(".")


def test_functions_and_estimators_have_the_options_defaults():
    assert len(list(functions())) > 100
    assert [line for name, value in functions() for line in other_defaults(name, value)] == []


def test_another_default_is_found():
    def function(points, *, n_scales=9, budget=None, random_state=False): ...

    assert list(other_defaults("function", function)) == [
        "function: n_scales=9, the option has 8",
        "function: random_state=False, the option has 0",
    ]


# The command line.


def parsers(verb):
    """Parser and function of a verb, or of each of its own verbs; add_VERB names the functions."""
    add_arguments, _ = functions_of(verb)
    parser = Parser(prog=verb)
    add_arguments(parser)
    names = re.findall(r"`(\w+)`", add_arguments.__doc__)
    for word, own in (parser.below() or {verb: parser}).items():
        name = next((n for n in names if n.startswith(f"{word}_")), names[0] if names else None)
        yield own, getattr(hf, name) if name else None


@pytest.mark.parametrize("verb", sorted({*VERBS} - {"bench"}))
def test_flags_have_names_and_defaults_of_parameters(verb):
    for parser, function in parsers(verb):
        known = {} if function is None else dict(inspect.signature(function).parameters)
        flags = {a.dest: a for a in parser._actions if not isinstance(a, argparse._HelpAction)}
        grouped = {entry.name for group in getattr(function, "groups", ()) for entry in fields(group)}
        for name, action in flags.items():
            if name in grouped:
                assert action.default is argparse.SUPPRESS, name
                assert flag_of(name) in action.option_strings
            elif action.option_strings and name not in OF_VERBS and function is not None:
                assert name in known, f"{parser.prog}: {name} is no parameter of {function.__name__}"
                if action.default is not None:
                    assert action.default == known[name].default, name
        for group in getattr(function, "groups", ()):
            offered = {entry.name for entry in fields(group) if entry.metadata["on_command"]} & set(known)
            assert offered <= set(flags), f"{parser.prog}: {sorted(offered - set(flags))} cannot be given"
