"""`HFSIndex`: clouds in other units."""

import numpy as np
import pytest

import heatfield as hf
from tests.defects import defect

clouds = [np.random.default_rng(i).normal(size=(60, 3)) for i in range(6)]


def index_with(factor):
    """An index to which the same clouds were added in another unit; None where they are refused."""
    index = hf.HFSIndex("desc").build(clouds, names=[f"large {i}" for i in range(6)])
    try:
        return index.add([factor * c for c in clouds], names=[f"small {i}" for i in range(6)])
    except ValueError:
        return None


@defect("their rows are beyond single precision")
@pytest.mark.filterwarnings("ignore")
def test_clouds_in_another_unit_find_themselves():
    index = index_with(1e-6)
    if index is not None:
        hits = index.query([1e-6 * c for c in clouds], k=1)
        assert [names[0] for names in hits.names] == [f"small {i}" for i in range(6)]


@defect("rows that are no finite numbers are saved")
@pytest.mark.filterwarnings("ignore")
def test_what_was_saved_can_be_loaded(tmp_path):
    index = index_with(1e-8)
    if index is not None:
        index.save(tmp_path / "index")
        try:
            length = len(hf.HFSIndex.load(tmp_path / "index"))
        except ValueError as error:
            length = str(error)
        assert length == 12
