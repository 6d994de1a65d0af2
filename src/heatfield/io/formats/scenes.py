"""glTF, GLB and 3MF: meshes that are placed in a scene, some of them several times.

Read here and not by a library: every count, every reference and the sum of what is placed has to be checked
before memory is taken, after which the reading itself is one line for each array.
"""

from __future__ import annotations

import base64
import json
import os
import posixpath
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ...options import Reading
from ..cloud import Cloud, Format, kept_sample
from ..limits import Source, allowance, damage, local_bytes, open_zip
from ..remote import is_remote, remote_bytes
from ..text import read_xml, shown

Matrix = NDArray[np.float64]
_MOST_PLACED = 50_000
_DEEPEST = 64
_OBJECT = 600  # bytes of an object of 3MF in Python
_NESTED = 72  # bytes of an empty object of JSON in Python
_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES, _STRIP, _FAN = 4, 5, 6  # of the modes
_PACKED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")


@dataclass(frozen=True)
class _Part:
    """Points and triangles in coordinates of their own."""

    points: NDArray[Any]
    faces: NDArray[np.int64]


def _placed(source: Source, parts: Iterable[tuple[_Part, Matrix]], kind: str) -> Cloud:
    """All parts in the coordinates of the scene; ``parts`` are matrices for columns (x, y, z, 1)."""
    points, faces, m, total = [], [], 0, 0
    for part, matrix in parts:
        total += 24 * (len(part.points) + len(part.faces))
        source.check_allowance(total, "the scene", "data")
        points.append(part.points @ matrix[:3, :3].T + matrix[:3, 3])
        faces.append(part.faces + m)
        m += len(part.points)
        corners = part.faces
        if len(corners) and not 0 <= corners.min() <= corners.max() < len(part.points):
            raise source.error(
                f"a triangle has a corner that is none of {len(part.points)} vertices", "faces"
            )
    if not m:
        raise source.error("holds no points: no mesh is placed in its scene")
    joined = np.concatenate(faces)
    return Cloud(np.concatenate(points), {}, kind, faces=joined if len(joined) else None)


def _walk(
    source: Source, roots: Iterable[Any], below: Callable[[Any], Iterable[tuple[Any, Matrix]]]
) -> Iterator[tuple[Any, Matrix]]:
    """Every object that is reached from the roots (objects and their matrices), once for each way to it."""
    stack = [(*root, 0) for root in roots]
    for _ in range(_MOST_PLACED):
        if not stack:
            return
        one, matrix, depth = stack.pop()
        yield one, matrix
        if depth == _DEEPEST:
            raise source.error(f"nests more than {_DEEPEST} deep; does an object contain itself?", "scene")
        stack += [(child, matrix @ own, depth + 1) for child, own in below(one)]
    raise source.error(f"places more than {_MOST_PLACED} objects", "scene")


# --- glTF


def read_gltf(source: Source, reading: Reading) -> Cloud:
    """Vertices and triangles of the default scene, as its nodes place them."""
    text, blob = _chunks(source)
    # What JSON unfolds to; the numbers of data URIs take no more than they did.
    nested = _NESTED * (text.count(b"{") + text.count(b"["))
    source.check_allowance(nested, "its JSON", "JSON")
    with damage(source, "damaged: its JSON makes no sense", "JSON"):
        tree = json.loads(text)
        for name in tree.get("extensionsRequired", ()):
            if name in _PACKED:
                raise source.error(f"is compressed by {name}, which is not read; save it without")
        return _Gltf(source, reading, tree, blob).cloud()


def _chunks(source: Source) -> tuple[bytes, bytes]:
    """The JSON, and the binary chunk of a GLB."""
    data = source.data
    if not data.startswith(b"glTF"):
        return data, b""
    if len(data) < 20:
        raise source.error("ends inside the header of 20 bytes", f"byte {len(data)}")
    version, _, length, kind = struct.unpack_from("<I I I 4s", data, 4)
    if version != 2 or kind != b"JSON":
        raise source.error(f"has version {version} of GLB; version 2 can be read", "byte 4")
    source.check_count(length, 1, 20, "bytes of JSON", "byte 12")
    at = 20 + length
    if len(data) < at + 8:
        return data[20:at], b""
    (size,) = struct.unpack_from("<I", data, at)
    source.check_count(size, 1, at + 8, "bytes of data", f"byte {at}")
    return data[20:at], data[at + 8 : at + 8 + size]


class _Gltf:
    """The tree of JSON, and the buffers that it names."""

    def __init__(self, source: Source, reading: Reading, tree: Any, blob: bytes) -> None:
        self.source, self.reading, self.tree, self.blob = source, reading, tree, blob
        self.buffers: dict[int, bytes] = {}

    def cloud(self) -> Cloud:
        """Every mesh of the scene in its place."""
        nodes = self.tree.get("nodes", [])
        scenes = self.tree.get("scenes")
        if scenes:
            roots = scenes[self.tree.get("scene", 0)].get("nodes", [])
        else:
            children = {child for node in nodes for child in node.get("children", ())}
            roots = [i for i in range(len(nodes)) if i not in children]

        def below(node: int) -> list[tuple[int, Matrix]]:
            return [(int(i), _of_node(nodes[i])) for i in nodes[node].get("children", ())]

        def parts() -> Iterator[tuple[_Part, Matrix]]:
            seen: dict[int, list[_Part]] = {}
            start = [(int(i), _of_node(nodes[i])) for i in roots]
            for node, matrix in _walk(self.source, start, below):
                mesh = nodes[node].get("mesh")
                if mesh is not None:
                    if mesh not in seen:
                        seen[mesh] = list(self.mesh(self.tree["meshes"][mesh]["primitives"]))
                    yield from ((part, matrix) for part in seen[mesh])

        return _placed(self.source, parts(), "gltf")

    def mesh(self, primitives: list[Any]) -> Iterator[_Part]:
        """One part for each array of positions; several primitives may share one."""
        faces: dict[int, list[NDArray[np.int64]]] = {}
        for one in primitives:
            where = one["attributes"]["POSITION"]
            corners = self.numbers(one["indices"]) if "indices" in one else None
            if corners is None:
                corners = np.arange(len(self.numbers(where)))
            triangles = _triangles(corners.ravel().astype(np.int64), one.get("mode", _TRIANGLES))
            faces.setdefault(where, []).append(triangles)
        for where, found in faces.items():
            points = self.numbers(where)
            if points.shape[1] != 3:
                raise self.source.error("positions must have three coordinates", f"accessor {where}")
            yield _Part(points, np.concatenate(found))

    def numbers(self, number: int) -> NDArray[Any]:
        """The values of an accessor, (count, width)."""
        one, place = self.tree["accessors"][number], f"accessor {number}"
        if "sparse" in one or "bufferView" not in one:
            raise self.source.error("is sparse or has no data, which is not read", place)
        view = self.tree["bufferViews"][one["bufferView"]]
        data = self.buffer(view["buffer"])
        dtype, width = np.dtype(_TYPES[one["componentType"]]), _WIDTHS[one["type"]]
        count, start = one["count"], view.get("byteOffset", 0) + one.get("byteOffset", 0)
        whole = width * dtype.itemsize
        stride = view.get("byteStride", whole)
        end = min(len(data), view.get("byteOffset", 0) + view["byteLength"])
        if any(type(n) is not int or n < 0 for n in (count, start, stride, end)):
            raise self.source.error("has a count or a place that is not an integer", place)
        if count and start + (count - 1) * stride + whole > end:
            raise self.source.error(f"claims {count} values, more than its buffer holds", place)
        if not count:
            return np.empty((0, width))
        values = np.ndarray((count, width), dtype, data, start, (stride, dtype.itemsize))
        self.source.check_allowance(8 * count * width, f"its {count} values", place)
        if one.get("normalized") and dtype.kind != "f":
            return np.maximum(values / np.iinfo(dtype).max, -1.0)
        return values.astype(np.float64) if dtype.kind == "f" else values

    def buffer(self, number: int) -> bytes:
        """The bytes of a buffer: in the file, in the JSON, or beside the file."""
        if number not in self.buffers:
            uri = self.tree["buffers"][number].get("uri")
            if uri is None:
                data = self.blob
            elif uri.startswith("data:"):
                data = base64.b64decode(uri.partition(",")[2], validate=True)
            else:
                data = self.beside(unquote(uri))
            self.buffers[number] = data
        return self.buffers[number]

    def beside(self, name: str) -> bytes:
        """A file in the folder of this one, or below."""
        parts = name.split("/")
        if not set(parts).isdisjoint(("", ".", "..")) or set(name) & set("\\:\0"):
            raise self.source.error(f"refers to {shown(name)}, which is not a file beside it", "buffers")
        path, most = self.source.path, self.reading.max_bytes
        if is_remote(path):
            data = remote_bytes(posixpath.join(posixpath.dirname(path), name), most)
        else:
            data = local_bytes(os.path.join(os.path.dirname(path), *parts), most)
        allowed = allowance(len(self.source.data) + len(data), most)
        self.source = replace(self.source, allowance=max(self.source.allowance, allowed))
        return data


def _of_node(node: dict[str, Any]) -> Matrix:
    """The matrix of a node: given by columns, or as translation, rotation (x, y, z, w) and scale."""
    if "matrix" in node:
        return np.array(node["matrix"], np.float64).reshape(4, 4).T
    x, y, z, w = map(float, node.get("rotation", (0, 0, 0, 1)))
    turned = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = turned * np.array(node.get("scale", (1, 1, 1)), np.float64).reshape(3)
    matrix[:3, 3] = np.array(node.get("translation", (0, 0, 0)), np.float64).reshape(3)
    return matrix


def _triangles(corners: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Triangles of a primitive; points and lines have none."""
    k = len(corners)
    if mode == _TRIANGLES:
        return corners[: k - k % 3].reshape(-1, 3)
    if mode in (_STRIP, _FAN) and k > 2:
        first = corners[:-2] if mode == _STRIP else np.full(k - 2, corners[0])
        return np.column_stack([first, corners[1:-1], corners[2:]])
    return np.empty((0, 3), np.int64)


# --- 3MF


@dataclass
class _Object:
    """A mesh, or what it is put together from: keys of other objects and their matrices."""

    points: array = field(default_factory=lambda: array("d"))
    faces: array = field(default_factory=lambda: array("q"))
    components: list[tuple[tuple[str, str], Matrix]] = field(default_factory=list)

    def part(self) -> _Part:
        """The mesh as arrays."""
        points, faces = np.array(self.points, np.float64), np.array(self.faces, np.int64)
        return _Part(points.reshape(-1, 3), faces.reshape(-1, 3))


def read_3mf(source: Source, _: Reading) -> Cloud:
    """Vertices and triangles of the objects that are to be built, where they are to stand."""
    objects: dict[tuple[str, str], _Object] = {}
    build: list[tuple[tuple[str, str], Matrix]] = []
    with open_zip(source) as archive:
        models = [one for one in archive.infolist() if one.filename.lower().endswith(".model")]
        source.check_allowance(sum(one.file_size for one in models), "its models", "archive")
        # The main model, whose items are built; others hold objects that it names.
        models.sort(key=lambda one: one.filename.lower() != "3d/3dmodel.model")
        for number, one in enumerate(models):
            with archive.open(one) as file:
                content = file.read(one.file_size)
            _read_model(source, content, one.filename, objects, build if number == 0 else [])

    def found(key: tuple[str, str]) -> _Object:
        if key not in objects:
            raise source.error(f"places object {shown(key[1])}, which does not exist", shown(key[0])[1:-1])
        return objects[key]

    parts = {key: one.part() for key, one in objects.items()}
    walked = _walk(source, build, lambda key: found(key).components)
    return _placed(source, ((parts[key], matrix) for key, matrix in walked if found(key)), "3mf")


def _read_model(
    source: Source,
    content: bytes,
    path: str,
    objects: dict[tuple[str, str], _Object],
    build: list[tuple[tuple[str, str], Matrix]],
) -> None:
    """The objects of one model, and the items that it builds."""
    last = _Object()

    def start(name: str, given: dict[str, str]) -> None:
        nonlocal last
        if name == "vertex":
            last.points.extend([float(given[axis]) for axis in "xyz"])
        elif name == "triangle":
            last.faces.extend([_corner(given[corner]) for corner in ("v1", "v2", "v3")])
        elif name == "object":
            last = objects[path, given["id"]] = _Object()
        elif name in ("component", "item"):
            other = next((v.lstrip("/") for k, v in given.items() if k.rpartition(":")[2] == "path"), path)
            entry = ((other, given["objectid"]), _of_item(given.get("transform", "")))
            (last.components if name == "component" else build).append(entry)

    # Every object, component and item names an object.
    source.check_allowance(_OBJECT * content.count(b"object"), "its list of objects", path)
    read_xml(source, content, start, place=path)


def _corner(word: str) -> int:
    if not 0 <= (number := int(word)) < 2**62:
        raise ValueError
    return number


def _of_item(words: str) -> Matrix:
    """A transform of 3MF: twelve numbers, which multiply rows from the right."""
    matrix = np.eye(4)
    if words:
        matrix[:3] = np.array(words.split(), np.float64).reshape(4, 3).T
    return matrix


# --- entries


def _is_gltf(source: Source) -> bool:
    start = source.data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"glTF") or (start.startswith(b"{") and b'"asset"' in source.data)


# A square in a node, and in another below it, moved and twice as large.
_GLB = kept_sample(
    b"c-n1J(Q1P*6wSKd*n{MG47Ht<F&JIhz)|X`(iia|)z}6!N)kJY6!z)6iFMPmpmNW>x#yf*voE6e2|`H0=MLVFFj%*kNJ$lbvRZ",
    b"tkLb8fOjNJztpYJU!Q_3kM>^_zN;uiBN>q0v@Cs6yvEiS1%TsqPND>6YfW9%frH>xT@xGae3Bx6Xy<0eLl6k0WQA)#|dL$~%Kw",
    b"O}Pv?AT+Xlwi9?8QkK}AoL?YSZgJH48}8-nwoR&$VduUR^rmXYx10mEu&w(^{T8ZPPvLswYKu;xSmNjTn}re{dX0-eOpekIoyc",
    b"F`JZJvVDSbl;c~HBY_Ku+$1}2bv9>!Yx}toq^dM*Rf%0HOkmucRoz1UX9Cskn3k)}SHVnzKtY^3@ul^d1*Z0dfzQ%gpAbrm!=o",
    b"b9|;I*p0",
)
# A triangle as an item, and turned and moved as the component of another.
_3MF = kept_sample(
    b"c-nPRO-}+b5M4lx;b2T8@#3NO?sgZ#K~t84-nek^V4}t>OM#kgOWH00W1@F|n19P@SH2Y5bUN+4nb(<4zgIhG1m(C4zAw({F=%",
    b"d`!Fs$^(lTjZ?iW*Lp2NAwsaHwT-*S9^`g%C227z0raMQXYt)WmumWN)_F1Vr@(}pYA!EqSjZc?Y-h6>4T2MeC(TrkTtMgW$kg",
    b"D2KbZwN8jgo)IIf@fM8HL_u*go~fbVw7gK&|Hp5rZgkXC~lLei4&@sQH9Q!0U9-UWtl~M2+SB+NC4;@HQ)p@6M(?eEO%(Hu{oM",
    b"|aD>sq%Qq*<rYYWUD!rOvdu=4E=yhr}PvtmwOiLBbV(&I<`oOamxO=w^Eb;H8q)cTyCzmc%WU3^5mE%|)P>EV5u2X47N(*2^F^",
    b"bTY6XlFi+wGoqBi05XSyz+}3Z4%W$}JOH6y)DsnaD4m_@XEEey>t()b_XCa(q^T-A(v6z~A;;2e{tRjQ!r>k+W7|e!yN--RTEO",
    b"EznN",
)
GLTF = Format(
    name="gltf",
    suffixes=(".glb", ".gltf"),
    magic=_is_gltf,
    read=read_gltf,
    sample=_GLB,
    title="glTF 2, GLB",
    forms="the default scene, buffers inside or beside the file; no Draco",
    kept="triangles",
)
THREE_MF = Format(
    name="3mf",
    suffixes=(".3mf",),
    magic=lambda source: source.data.startswith(b"PK\3\4") and b".model" in source.data[-65_536:],
    read=read_3mf,
    sample=_3MF,
    title="3MF",
    forms="items of the build, with components",
    kept="triangles",
)
