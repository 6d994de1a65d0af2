"""Every picture equals the one that was checked by eye and kept; a change in substance fails."""

import numpy as np
import pytest

import heatfield as hf
from tests.helpers.pictures import GOLDEN, PICTURES, alike, blocks, gaps, render


def kept(name):
    with np.load(GOLDEN) as golden:
        return golden[name]


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name):
    found = blocks(render(PICTURES[name](False)))
    assert alike(found, kept(name)), f"mean and largest gap: {gaps(found, kept(name))}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_deliberate_change_is_noticed(name):
    assert not alike(blocks(render(PICTURES[name](True))), kept(name))


def test_every_public_picture_is_kept():
    drawn = {name.removesuffix("_3d") for name in PICTURES}
    assert drawn == set(hf.plot.__all__)
