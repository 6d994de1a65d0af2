"""A fuzz test a reader: whatever the bytes, a cloud or a ReadError."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heatfield as hf
from tests.helpers import raw
from tests.helpers.dialects import DIALECTS
from tests.helpers.file_samples import SAMPLES

CONTENTS = {name: content for name, (content, _) in SAMPLES.items()}
CONTENTS |= {d.name: d.content for d in DIALECTS if d.name in ("extended.xyz", "old.h5")}
RELAXED = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def edits(draw):
    """A few cuts, copies and replacements, by shares of the length so that they fit any file."""
    share = st.floats(0, 1, exclude_max=True)
    step = st.tuples(st.sampled_from(["set", "cut", "copy", "insert"]), share, share, st.binary(max_size=9))
    return draw(st.lists(step, min_size=1, max_size=4))


def damaged(content: bytes, steps) -> bytes:
    for what, a, b, new in steps:
        i, j = sorted((int(a * (len(content) + 1)), int(b * (len(content) + 1))))
        if what == "set":
            content = content[:i] + new + content[i + len(new) :]
        elif what == "cut":
            content = content[:i] + content[min(j, i + 64) :]
        elif what == "copy":
            content = content[:j] + content[i : min(j, i + 64)] + content[j:]
        else:
            content = content[:i] + new + content[i:]
    return content


def check(path, **options) -> None:
    try:
        cloud = raw.read_cloud(path, **options)
    except hf.ReadError as error:
        message = str(error)
    else:
        assert np.isfinite(cloud.points).all()
        assert cloud.points.ndim == 2
        assert all(len(column) == len(cloud.points) for column in cloud.columns.values())
        return
    assert str(path) in message


@pytest.mark.parametrize("name", CONTENTS)
@RELAXED
@given(steps=edits())
def test_damaged_samples(tmp_path, name, steps):
    path = tmp_path / name
    path.write_bytes(damaged(CONTENTS[name], steps))
    check(path)


@pytest.mark.parametrize("kind", hf.io.FORMATS)
@RELAXED
@given(content=st.binary(min_size=1, max_size=400))
def test_any_bytes_as_any_format(tmp_path, kind, content):
    path = tmp_path / "a"
    path.write_bytes(content)
    check(path, format=kind)


@RELAXED
@given(text=st.text(alphabet='0123456789.-+eEnaif ,;\t\n"#/xyz\r_', max_size=200))
def test_text_of_numbers(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8", newline="")
    check(path)


@RELAXED
@given(
    rows=st.lists(
        st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), min_size=1, max_size=20
    )
)
def test_every_float_survives_text(tmp_path, rows):
    hf.write_points(tmp_path / "a.csv", np.array(rows))
    np.testing.assert_array_equal(raw.read_points(tmp_path / "a.csv"), np.array(rows))


def test_every_format_is_fuzzed(tmp_path):
    kinds = set()
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
        kinds.add(raw.read_cloud(tmp_path / name).format)
    assert kinds == set(hf.io.FORMATS)
