"""PDB, mmCIF and XYZ as simulation programs, archives and chemists write them."""

import pytest

import heatfield as hf
from tests.helpers import raw


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def atom(
    serial=1,
    name=" CA ",
    residue="ALA",
    x=1.0,
    *,
    record="ATOM  ",
    chain="A",
    number=1,
    element="",
    pushed=False,
):
    """A line of a PDB file; ``pushed``: a long serial moves the rest to the right, as printf does."""
    text = (
        f"{record}{serial:>5}" if pushed or len(str(serial)) < 6 else f"{record[:5].rstrip():<5}{serial:>6}"
    )
    if not pushed:
        text = text[:11].ljust(11) if len(str(serial)) < 6 else text[:11]
    tail = f" {name}{' '}{residue:<4}{chain}{number:>4}    {x:8.3f}{2.0:8.3f}{3.0:8.3f}{1.0:6.2f}{0.0:6.2f}"
    return (text + tail).ljust(76) + f"{element:>2}\n"


def points_of(path, **options):
    return raw.read_points(path, **options)[:, 0].tolist()


def test_names_in_column_13_inside_amino_acids(put):
    """CHARMM and MDAnalysis write "CA  " from column 13 and no element."""
    lines = [
        atom(i, "CA  ", residue, x=i, number=i) for i, residue in enumerate(("ALA", "HSD", "GLYP", "XYZ"), 1)
    ]
    assert points_of(put("a.pdb", "".join(lines).encode())) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "line",
    [
        atom(9, "CA  ", "CA", record="HETATM"),
        atom(9, "CA  ", "CAL"),
        atom(9, "CA  ", "CA", record="HETATM", element="CA"),
        atom(9, " CA ", "CA", record="HETATM"),
        atom(9, "CA  ", "LIG", record="HETATM"),
    ],
)
def test_calcium_where_residue_or_element_says_so(put, line):
    content = atom(1, x=1) + line + atom(10, "CA  ", "MSE", x=2, record="HETATM", number=2)
    assert points_of(put("a.pdb", content.encode())) == [1, 2]


def test_frames_divided_by_end(put):
    frames = [atom(1, x=k) + atom(2, x=k + 0.5) + ("TER\nEND\n" if k < 3 else "END   \n") for k in (1, 2, 3)]
    path = put("a.pdb", ("CRYST1\n" + "".join(frames)).encode())
    assert points_of(path) == [1, 1.5]
    assert points_of(path, model=3) == [3, 3.5]
    assert len(points_of(path, model=None)) == 6
    with pytest.raises(hf.ReadError, match="6 atoms in 3 models, so there is no model 4"):
        raw.read_points(path, model=4)
    named = "".join(f"MODEL {k}\n{atom(1, x=k)}ENDMDL\nEND\n" for k in (1, 2))
    assert points_of(put("b.pdb", named.encode()), model=2) == [2]
    assert points_of(put("b.pdb", named.encode()), model=None) == [1, 2]


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("record", ["ATOM  ", "HETATM"])
def test_serials_of_six_digits(put, pushed, record):
    if record == "HETATM" and not pushed:  # there is no blank to use: the serial takes the one after it
        lines = atom(99999, x=1) + "HETATM100000 CA  MSE A   2       2.000   2.000   3.000  1.00  0.00\n"
    else:
        lines = "".join(
            atom(s, x=s - 99998, record=record, residue="MSE", pushed=pushed) for s in (99999, 100000)
        )
    cloud = raw.read_cloud(put("a.pdb", lines.encode()))
    assert cloud.points.tolist() == [[1, 2, 3], [2, 2, 3]]
    assert cloud.columns["atom"].tolist() == ["CA", "CA"]
    assert cloud.columns["residue"].tolist()[1] == "MSE"


def test_hybrid_36(put):
    lines = (
        atom("99999", x=1, number="9999")
        + atom("A0000", x=2, number="A000")
        + atom("A0001", x=3, number="A001")
    )
    cloud = raw.read_cloud(put("a.pdb", lines.encode()))
    assert cloud.points[:, 0].tolist() == [1, 2, 3]
    assert cloud.columns["residue_number"].tolist() == ["9999", "10000", "10001"]


CIF = """data_a
loop_
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.auth_asym_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
{}"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdb", atom(1, " P  ", "DA") + atom(2, " C1'", "DA") + atom(3, " O  ", "HOH", record="HETATM")),
        ("a.cif", CIF.format('P P DA A 1 2 3\nC "C1\'" DA A 1 2 3\nO O HOH A 1 2 3\n')),
    ],
)
def test_no_alpha_carbon_is_an_error_that_says_what_to_do(put, name, content):
    path = put(name, content.encode())
    with pytest.raises(hf.ReadError, match=r"has 3 atoms, but none named CA .*atoms='all'"):
        raw.read_points(path)
    assert len(raw.read_points(path, atoms="all")) == 3
    with pytest.raises(hf.ReadError, match="none of chain 'Q'; its chains are 'A'"):
        raw.read_points(path, chain="Q", atoms="all")
    with pytest.raises(hf.ReadError, match="no model 2"):
        raw.read_points(path, model=2)


def test_describe_lists_a_molecule_without_alpha_carbons(put, tmp_path, capsys):
    from heatfield.cli import main

    put("dna.pdb", (atom(1, " P  ", "DA") + atom(2, " C1'", "DA")).encode())
    put("fold.pdb", "".join(atom(i, x=i**1.5, number=i) for i in range(1, 9)).encode())
    table = tmp_path / "t.csv"
    assert main(["describe", str(tmp_path), "-o", str(table), "--n-jobs", "1", "--quiet"]) == 1
    errors = (tmp_path / "t.errors.csv").read_text()
    assert "dna.pdb" in errors
    assert "atoms='all'" in errors
    assert "fold.pdb" in table.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.pdb", atom(1).replace("   1.000", "     1_0"), "line 1: no coordinates in"),
        ("a.cif", CIF.format("C CA GLY A 1_0 2 3\n"), "atom 1: no coordinates: x is '1_0'"),
        ("b.cif", CIF.format("C CA GLY A 1 2 ?\n"), "atom 1: no coordinates"),
    ],
)
def test_digits_with_underscores_are_no_numbers(put, name, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_points(put(name, content.encode()))


def test_cif_numbers_with_their_uncertainty(put):
    assert raw.read_points(put("a.cif", CIF.format("C CA GLY A 1.25(3) -2.5(10) 3\n").encode())).tolist() == [
        [1.25, -2.5, 3]
    ]


WATER = b"3\nwater, by hand\nO  0.0 0.0 0.1\nH  0.0 0.75 -0.5\nH  0.0 -0.75 -0.5\n"


@pytest.mark.parametrize(
    "content",
    [
        WATER,
        WATER.replace(b"water, by hand", b""),
        WATER.replace(b"water, by hand", b"-76.4 1.0"),
        WATER.replace(b"O ", b"8 ").replace(b"H ", b"1 "),
        WATER.replace(b"O ", b"8 ").replace(b"H ", b"1 ").replace(b"water, by hand", b""),
        WATER.replace(b"\n", b"\r\n"),
        b"  3 \n\n O\t0.0 0.0 0.1\n H 0.0 0.75 -0.5\n H 0.0 -0.75 -0.5\n\n\n",
        WATER.replace(b"0.1\n", b"0.1 -0.8\n").replace(b"-0.5\n", b"-0.5 0.4\n"),
        WATER.replace(b"O ", b"O1 ").replace(b"H ", b"Hw"),
    ],
)
def test_xyz_of_chemistry(put, content):
    cloud = raw.read_cloud(put("a.xyz", content))
    assert cloud.points.tolist() == [[0, 0, 0.1], [0, 0.75, -0.5], [0, -0.75, -0.5]]
    assert cloud.columns["element"].tolist()[0] in ("O", "8", "O1")


def test_xyz_frames_are_models(put):
    path = put("a.xyz", WATER + WATER.replace(b"0.1", b"9.5") + b"\n")
    assert raw.read_points(path)[0, 2] == 0.1
    assert raw.read_points(path, model=2)[0, 2] == 9.5
    cloud = raw.read_cloud(path, model=None)
    assert cloud.columns["model"].tolist() == [1, 1, 1, 2, 2, 2]
    with pytest.raises(hf.ReadError, match="2 models, so there is no model 3"):
        raw.read_points(path, model=3)


def test_extended_xyz(put):
    comment = b'Lattice="5 0 0 0 5 0 0 0 5" Properties=species:S:1:forces:R:3:pos:R:3:tag:I:1 energy=-1'
    rows = b"Si 9 9 9 1 2 3 7\nO 8 8 8 4 5 6 -1\n"
    cloud = raw.read_cloud(put("a.xyz", b"2\n" + comment + b"\n" + rows))
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.columns["element"].tolist() == ["Si", "O"]
    assert cloud.columns["forces_1"].tolist() == [9, 8]
    assert cloud.columns["tag"].tolist() == [7, -1]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (WATER.replace(b"3\n", b"4\n", 1), "claims 4 atoms|ends"),
        (WATER.replace(b"0.75", b"x"), "line 4.*'x' is not a number"),
        (WATER.replace(b"0.0 0.75 -0.5", b"0.0 0.75"), "line 4"),
    ],
)
def test_xyz_errors(put, content, problem):
    with pytest.raises(hf.ReadError, match=problem):
        raw.read_points(put("a.xyz", content))


def test_tables_stay_tables(put):
    """A plain table of numbers, and PTS with its count, are not chemistry."""
    assert raw.read_points(put("a.xyz", b"1 2 3\n4 5 6\n7 8 9\n")).tolist() == [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
    ]
    assert raw.read_points(put("a.pts", b"2\n1 2 3 4\n5 6 7 8\n")).tolist() == [[1, 2, 3], [5, 6, 7]]
    assert raw.read_points(put("b.xyz", b"2\n1 2 3\n5 6 7\n")).tolist() == [[1, 2, 3], [5, 6, 7]]
    assert raw.read_points(put("c.xyz", b"1.5 2 3 4\n5 6 7 8\n")).tolist() == [[1.5, 2, 3], [5, 6, 7]]


def test_a_superscript_is_no_atomic_number(put):
    """Found by fuzzing: str.isdigit() says yes, int() says no."""
    path = put("a.pts", "2\n1 2 3 100 255 0 0\n\u00b3 5 6 200 0 255 0\n".encode("latin-1"))
    with pytest.raises(hf.ReadError, match=r"line 3: column 1: '\u00b3' is not a number"):
        raw.read_cloud(path)


def test_columns_of_different_loops(read):
    """A tag outside of the loop of atoms has a value of its own."""
    content = "data_x\n_atom_site.Cartn_z 5\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n"
    with pytest.raises(hf.ReadError, match="_atom_site: Cartn_z has 1 values for 2 atoms"):
        read("a.cif", content + "1 0 0\n2 1 1\n")
