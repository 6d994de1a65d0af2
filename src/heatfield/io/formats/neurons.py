"""Neurons: SWC and NML as trees of nodes, Neurolucida ASC (by MorphIO) and HDF5 as sections of points."""

from __future__ import annotations

import re
from array import array
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.optional import need
from ...options import Reading
from ..cloud import Cloud, Format
from ..limits import Source
from ..text import Numbers, first_numbers, read_numbers, read_xml

_SOMA = 1
_DEEPEST = 1000  # brackets within brackets, which MorphIO reads by recursion
_SECTION = 500  # bytes of a section inside MorphIO


def read_swc(source: Source, reading: Reading) -> Cloud:
    """Nodes in the order of the file, with ``parents`` as rows.

    Ids may be in any order and have gaps, children may come before parents, and there may
    be several roots (parent -1). A parent that does not exist (unless ``orphans="root"``), an id given
    twice and a cycle are errors.

    ``soma="drop"`` removes the nodes of type 1, and with them the stretches that join
    the cell body to its branches; ``"keep"`` treats them as any other node.
    """
    source = source.without(b"#")
    table = read_numbers(source, comments=())
    if table.values.shape[1] < 7:
        raise source.error(
            f"has {table.values.shape[1]} columns where SWC has 7: id type x y z radius parent",
            table.place(0),
        )
    values = table.values
    ids, kinds, parent_ids = (
        _integers(table, values[:, c], n) for c, n in ((0, "id"), (1, "type"), (6, "parent"))
    )
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    twice = np.flatnonzero(ranked[1:] == ranked[:-1])
    if len(twice):
        raise source.error(f"id {ranked[twice[0]]} is given twice", table.place(int(order[twice[0] + 1])))
    parents = np.full(len(ids), -1, dtype=np.int64)
    child = np.flatnonzero(parent_ids != -1)
    slot = np.minimum(np.searchsorted(ranked, parent_ids[child]), len(ids) - 1)
    missing = np.flatnonzero(ranked[slot] != parent_ids[child])
    if len(missing) and reading.orphans == "root":
        child, slot = np.delete(child, missing), np.delete(slot, missing)
    elif len(missing):
        row = int(child[missing[0]])
        raise source.error(
            f"node {ids[row]} hangs on node {parent_ids[row]}, which does not exist; orphans='root' "
            "reads such nodes as roots",
            table.place(row),
        )
    parents[child] = order[slot]
    row = _on_cycle(parents)
    if row >= 0:
        raise source.error(f"node {ids[row]} is its own ancestor", table.place(row))
    columns: dict[str, NDArray] = {
        "id": ids,
        "type": kinds,
        "radius": values[:, 5].copy(),
        "parent": parent_ids,
    }
    for c in range(7, values.shape[1]):
        columns[f"column{c + 1}"] = values[:, c].copy()
    cloud = Cloud(values[:, 2:5].copy(), columns, "swc", parents=parents)
    return without_soma(cloud) if reading.soma == "drop" else cloud


def _integers(table: Numbers, column: NDArray[np.float64], name: str) -> NDArray[np.int64]:
    whole = np.isfinite(column) & (np.abs(column) < 2**53)
    whole &= np.where(whole, column, 0.5) == np.rint(np.where(whole, column, 0.0))
    if not whole.all():
        row = int(np.argmin(whole))
        raise table.source.error(f"{name} must be an integer, got {column[row]:g}", table.place(row))
    return column.astype(np.int64)


def _on_cycle(parents: NDArray[np.int64]) -> int:
    """A node from which no root is reached, or -1. Path lengths double, so it takes log2(m) steps."""
    reach = np.where(parents < 0, np.arange(len(parents)), parents)
    for _ in range(max(1, len(parents).bit_length())):
        reach = reach[reach]
    lost = np.flatnonzero(parents[reach] >= 0)
    return int(lost[0]) if len(lost) else -1


def without_soma(cloud: Cloud) -> Cloud:
    """A skeleton without its nodes of type 1."""
    assert cloud.parents is not None
    keep = np.flatnonzero(cloud.columns["type"] != _SOMA)
    new = np.full(len(cloud.points) + 1, -1, dtype=np.int64)  # the last place answers for parent -1
    new[keep] = np.arange(len(keep))
    part = cloud.take(keep)
    return replace(part, parents=new[cloud.parents[keep]])


def read_sections(
    source: Source, reading: Reading, points: NDArray, structure: NDArray, kind: str = "hdf5"
) -> Cloud:
    """A skeleton from points (m, 4) with diameters, and sections (s, 3): first point, type, parent section.

    The outline of the cell body becomes one node at its centre; the first sections hang on it.
    """
    place = "array 'structure'" if kind == "hdf5" else "sections"
    m, starts = len(points), structure[:, 0].astype(np.int64)
    ends = np.append(starts[1:], m)
    if starts[0] != 0 or (ends <= starts).any() or ends[-1] != m:
        raise source.error("sections must start at increasing points, the first at 0", place)
    section = np.repeat(np.arange(len(starts)), ends - starts)
    above = structure[:, 2].astype(np.int64)
    if (above >= np.arange(len(starts))).any() or above.min() < -1:
        raise source.error("the parent of a section must come before it", place)
    types = structure[:, 1].astype(np.int64)
    body = types == _SOMA
    if (body[1:]).any():
        raise source.error("only the first section can be the cell body", place)
    last = np.where(above < 0, -1, ends[above] - 1)  # of the parent section
    parents = np.arange(-1, m - 1)
    parents[starts] = last
    kinds, radii = types[section], 0.5 * points[:, 3].astype(np.float64)
    xyz = points[:, :3].astype(np.float64)
    if body[0]:
        outline = int(ends[0])
        centre = xyz[:outline].mean(axis=0)
        if outline > 1:
            radii[outline - 1] = np.linalg.norm(xyz[:outline] - centre, axis=1).mean()
        xyz[outline - 1] = centre
        cut = outline - 1
        xyz, radii, kinds, parents = xyz[cut:], radii[cut:], kinds[cut:], np.maximum(parents[cut:] - cut, -1)
        parents[0] = -1
    cloud = Cloud(xyz, {"type": kinds, "radius": radii}, kind, parents=parents)
    return without_soma(cloud) if reading.soma == "drop" else cloud


def read_asc(source: Source, reading: Reading) -> Cloud:
    """Sections as MorphIO finds them; markers and spines are left out."""
    morphio = need("morphio", "Neurolucida files", "formats")
    brackets = np.frombuffer(source.data, np.uint8)
    opened = brackets == ord("(")
    depth = np.cumsum(opened.astype(np.int8) - (brackets == ord(")")), dtype=np.int32)
    if depth.max(initial=0) > _DEEPEST:
        raise source.error(f"nests more than {_DEEPEST} brackets", f"byte {int(depth.argmax())}")
    source.check_allowance(_SECTION * int(opened.sum()) // 8, "a tree of so many brackets", "data")
    if not re.search(rb"\(\s*[-+.\d]", source.data):
        raise source.error("holds no points: no bracket begins with a number")
    morphio.set_maximum_warnings(0)
    try:
        found: Any = morphio.Morphology(source.data.decode("latin-1"), "asc")
        body = np.column_stack([found.soma.points, found.soma.diameters]).astype(np.float64)
        points = np.column_stack([found.points, found.diameters]).astype(np.float64)
        types = np.asarray(found.section_types, np.int64)
        above = np.array([-1 if s.is_root else s.parent.id for s in found.sections], np.int64)
        starts = np.asarray(found.section_offsets, np.int64)[: len(types)]
    except Exception as error:  # MorphIO has an error of its own for every kind of damage
        line = re.search(r":(\d+):error", str(error))
        said = re.sub(r"\x1b\[[0-9;]*m|\$STRING\$:\d+:error", "", str(error))
        raise source.error(f"MorphIO cannot read it: {said}", f"line {line[1]}" if line else "") from None
    if not len(body) + len(points):
        raise source.error("holds no points: neither a cell body nor a branch")
    some = int(len(body) > 0)
    structure = np.column_stack([starts + len(body), types, above + some])
    if some:
        structure = np.vstack([[0, _SOMA, -1], structure])
    return read_sections(source, reading, np.vstack([body, points]), structure, "asc")


def read_nml(source: Source, _: Reading) -> Cloud:
    """Nodes of all trees, times the size of a voxel where the file says it; edges become ``parents``."""
    values: dict[str, array] = {name: array("d") for name in ("x", "y", "z", "radius")}
    values |= {name: array("q") for name in ("id", "tree")}
    ends = array("q")
    scale = [1.0, 1.0, 1.0]
    tree = 0

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal tree
        if name == "scale":
            scale[:] = (float(given[axis]) for axis in "xyz")
        elif name == "thing":
            tree = _whole(given["id"])
        elif name == "node":
            values["id"].append(_whole(given["id"]))
            for axis in "xyz":
                values[axis].append(float(given[axis]))
            values["radius"].append(float(given.get("radius", "nan")))
            values["tree"].append(tree)
        elif name == "edge":
            ends.extend((_whole(given["source"]), _whole(given["target"])))

    read_xml(source, source.data, start)
    if not values["id"]:
        raise source.error("holds no points: no element 'node'")
    table = {name: np.array(column) for name, column in values.items()}
    ids, order = np.unique(table["id"], return_index=True)
    if len(ids) < len(table["id"]):
        raise source.error("a node's id is given twice", "nodes")
    edges = np.array(ends, np.int64).reshape(-1, 2)
    slot = np.minimum(np.searchsorted(ids, edges), len(ids) - 1)
    missing = np.argwhere(ids[slot] != edges)
    if len(missing):
        row, side = missing[0]
        raise source.error(f"an edge ends at node {edges[row, side]}, which does not exist", f"edge {row}")
    points = np.column_stack([table.pop(axis) for axis in "xyz"]) * scale
    parents = _rooted(source, order[slot], len(points))
    return Cloud(points, table, "nml", parents=parents)


def _whole(word: str) -> int:
    """An id; ValueError where it is none."""
    if abs(number := int(word)) >= 2**53:
        raise ValueError
    return number


def _rooted(source: Source, edges: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """The parents of m nodes when every tree hangs on its first node; edges may run either way."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (m, m))
    count, labels = connected_components(graph, directed=False)
    if len(edges) > m - count:
        raise source.error(f"{len(edges) - m + count} edges close a loop; a skeleton has none", "edges")
    # One node more, which is joined to the first of every tree.
    rows = np.append(edges[:, 0], np.full(count, m))
    columns = np.append(edges[:, 1], np.unique(labels, return_index=True)[1])
    joined = coo_array((np.ones(len(rows)), (rows, columns)), (m + 1, m + 1))
    above = breadth_first_order(joined.tocsr(), m, directed=False)[1][:m].astype(np.int64)
    return np.where(above == m, -1, above)


def _is_asc(source: Source) -> bool:
    start = source.data[:512].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb";\s*V\d+ text file written for MicroBrightField", start):
        return True
    word = re.search(rb"\((ImageCoords|CellBody|Dendrite|Axon|Apical|Color |Sections)", source.head)
    return start[:1] in (b";", b"(") and word is not None


def _is_swc(source: Source) -> bool:
    words = first_numbers(source.head)
    return len(words) == 7 and words[6] == b"-1" and words[0].isdigit() and words[1].isdigit()


_SAMPLE = b"""# Zeichner: M\xfcller
1 1 0 0 0 3.0 -1
2 3 1.5 0 0 1.0 1
5 3 1.5 2 0 1.0 2
4 2 0 0 4 0.5 1
"""
_ASC = b"""; V3 text file written for MicroBrightField products.
("CellBody" (Color Red) (CellBody) (-1 0 0 2) (1 0 0 2) (0 1 0 2))
((Dendrite) (0 0 1 1) (0 0 2 1) (0 0 3 1) ((0 1 4 1) (0 2 5 1) | (0 -1 4 1) (0 -2 5 1)))
"""
_NML = b"""<?xml version="1.0"?>
<things><parameters><scale x="11" y="11" z="25"/></parameters>
<thing id="1" name="a &amp; b"><nodes>
<node id="7" radius="1.5" x="1" y="2" z="3"/><node id="8" radius="1" x="2" y="2" z="3"/>
<node id="3" radius="1" x="4" y="2" z="3"/></nodes>
<edges><edge source="8" target="7"/><edge source="8" target="3"/></edges></thing>
<thing id="2" name="alone"><nodes><node id="1" x="5" y="5" z="5"/></nodes><edges></edges></thing></things>
"""
SWC = Format(
    name="swc",
    suffixes=(".swc", ".eswc"),
    magic=_is_swc,
    read=read_swc,
    unmarked=True,
    sample=lambda: _SAMPLE,
    title="SWC",
    kept="id, type, radius, parent; the tree as rows",
)
ASC = Format(
    name="asc",
    suffixes=(".asc",),
    magic=_is_asc,
    read=read_asc,
    sample=lambda: _ASC,
    title="Neurolucida",
    forms="cell body and branches",
    kept="type, radius; the tree as rows",
    needs="`heatfield[formats]`",
)
NML = Format(
    name="nml",
    suffixes=(".nml",),
    magic=lambda source: re.search(rb"<things\b", source.data[:4096]) is not None,
    read=read_nml,
    sample=lambda: _NML,
    title="NML",
    forms="of webKnossos and KNOSSOS; nodes times `scale`",
    kept="id, radius, tree; the tree as rows",
)
