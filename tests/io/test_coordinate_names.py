"""Tables, images and data frames: which columns are coordinates, and what is no cloud at all."""

import numpy as np
import pytest

import heatfield as hf

rng = np.random.default_rng(0)
ROWS = rng.random((8, 3)).round(3)


def rows(values, mark=","):
    return "".join(mark.join(map(str, row)) + "\n" for row in values)


def shape_of(call):
    """The shape of what was read, or the message with which it was refused."""
    try:
        return call().points.shape
    except hf.ReadError as error:
        return str(error)


# What rapidSTORM writes on top of its localisations.
STORM = (
    '# <localizations insequence="true" repetitions="variable">'
    '<field identifier="Position-0-0" semantic="position in sample space in X" unit="nanometer" />'
    '<field identifier="Position-1-0" semantic="position in sample space in Y" unit="nanometer" />'
    '<field identifier="ImageNumber-0-0" syntax="integer" semantic="frame number" unit="frame" />'
    '<field identifier="Amplitude-0-0" semantic="emission strength" unit="A/D count" />'
    "</localizations>\n"
)


def test_rapidstorm(read):
    table = [[*row[:2], i, row[2]] for i, row in enumerate(ROWS)]
    found = shape_of(lambda: read("storm.txt", STORM + rows(table, " ")))
    assert isinstance(found, str) or found == (8, 2)


def test_two_points_in_a_row(read):
    content = "x0,y0,z0,x1,y1,z1\n" + rows(np.hstack([ROWS, ROWS]))
    try:
        points = read("pairs.csv", content).points
    except hf.ReadError:
        return
    assert points.shape == (8, 3)
    np.testing.assert_array_equal(points, ROWS)


def test_a_data_frame_with_units():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.random((30, 4)), columns=["X (µm)", "Y (µm)", "Z (µm)", "intensity"])
    found = hf.signatures(frame, n_scales=2).density
    np.testing.assert_array_equal(found, hf.signatures(frame.to_numpy()[:, :3], n_scales=2).density)


IMAGE = rng.integers(0, 255, (64, 64)).astype(np.uint8)


def test_an_image_in_a_file(read, as_npy):
    assert isinstance(shape_of(lambda: read("image.npy", as_npy(IMAGE))), str)


def test_an_image_in_memory():
    refused = False
    try:
        hf.signatures(IMAGE, n_scales=2)
    except ValueError:
        refused = True
    assert refused


def test_more_than_eight_dimensions_are_asked_for(read, as_npy):
    table = as_npy(rng.random((100, 12)))
    assert shape_of(lambda: read("table.npy", table, dims=12)) == (100, 12)
    assert isinstance(shape_of(lambda: read("table.npy", table)), str)


HEADERS = [
    "x [nm],y [nm],z [nm]",
    '"x [nm]","y [nm]","z [nm]"',
    "X (nm),Y (nm),Z (nm)",
    "position_x,position_y,position_z",
    "POSITION_X,POSITION_Y,POSITION_Z",
    "Position X [nm],Position Y [nm],Position Z [nm]",
    "coord_x,coord_y,coord_z",
    "x_nm,y_nm,z_nm",
    "X (µm),Y (µm),Z (µm)",
]


@pytest.mark.parametrize("header", HEADERS)
def test_names_of_coordinates(read, header):
    cloud = read("a.csv", f"frame,{header}\n" + rows(np.column_stack([np.arange(8), ROWS])))
    np.testing.assert_array_equal(cloud.points, ROWS)
    assert list(cloud.columns) == ["frame"]


def test_coordinates_named_by_an_option(read):
    cloud = read("a.csv", "frame,a,b,c\n" + rows(np.column_stack([np.arange(8), ROWS])), xyz=("c", "a", "b"))
    np.testing.assert_array_equal(cloud.points, ROWS[:, [2, 0, 1]])


def test_coordinates_named_on_the_command_line(tmp_path, command):
    (tmp_path / "a.csv").write_text("frame,a,b,c\n" + rows(np.column_stack([np.arange(8), ROWS])))
    code, said = command(
        "describe", tmp_path / "a.csv", "-o", tmp_path / "t.csv", "--xyz", "a,b,c", "--n-scales", "2"
    )
    assert code == 0, said


def test_the_message_shows_the_option(read):
    said = shape_of(lambda: read("a.csv", "frame,a,b,c\n" + rows(np.column_stack([np.arange(8), ROWS]))))
    assert isinstance(said, str)
    assert "frame" in said
    assert "xyz=" in said
