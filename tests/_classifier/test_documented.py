"""Shared parts of docstrings."""

import pytest

from heatfield._classifier.documented import documented


def plain():
    class Plain:
        """A class.

        Parameters
        ----------
        {first}
        own : int
            {second}
        A set such as {second} in a line stays.
        """

    return Plain


def test_parts_take_the_indentation_of_their_line():
    kind = documented(first="a : int\n    One.\n\nb : int", second="Two,\nand more.")(plain())
    expected = """A class.

        Parameters
        ----------
        a : int
            One.

        b : int
        own : int
            Two,
            and more.
        A set such as {second} in a line stays.
        """
    assert kind.__doc__ == expected


def test_what_is_missing_or_left_over_is_an_error():
    with pytest.raises(KeyError, match="second"):
        documented(first="a : int")(plain())
    with pytest.raises(ValueError, match=r"the docstring of Plain has no line \{third\}"):
        documented(first="a", second="b", third="c")(plain())


def test_without_docstrings():
    class Bare:
        pass

    assert documented(first="a : int")(Bare).__doc__ is None
