"""Files named by URLs: bodies and listings that do not end. The ones here end, but late."""

import io

import pytest

import heatfield as hf


class Endless(io.RawIOBase):
    """A body that goes on for 64 MiB, and counts what was taken of it."""

    taken = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        size = min(len(buffer), 2**16, 2**26 - self.taken)
        buffer[:size] = size * b"1"
        self.taken += size
        return size


def test_a_body_longer_than_allowed(memory, monkeypatch):
    memory.pipe("/shelf/a.csv", b"x,y,z\n1,2,3\n")
    body = Endless()
    monkeypatch.setattr(type(memory), "_open", lambda *_, **__: body)
    monkeypatch.setattr(type(memory), "info", lambda *_, **__: {"type": "file", "size": None})
    with pytest.raises(hf.ReadError):
        hf.read_points("memory://shelf/a.csv", max_bytes=100_000)
    assert body.taken <= 2**20


def test_a_listing_that_links_to_itself(memory, monkeypatch, command, tmp_path):
    """Every folder holds a cloud and a folder, 200 deep."""
    deepest = 0

    def listed(_self, path, detail=True, **_more):
        nonlocal deepest
        path = "/" + path.strip("/")
        deepest = max(deepest, path.count("/"))
        found = [{"name": f"{path}/a.npy", "size": 10, "type": "file"}]
        if deepest < 200:
            found.append({"name": f"{path}/sub", "size": 0, "type": "directory"})
        return found if detail else [entry["name"] for entry in found]

    def info(_self, path, **_more):
        kind = "file" if path.endswith(".npy") else "directory"
        return {"name": path, "size": 10, "type": kind}

    memory.pipe("/shelf/a.npy", b"nothing")
    monkeypatch.setattr(type(memory), "find", pytest.importorskip("fsspec").AbstractFileSystem.find)
    monkeypatch.setattr(type(memory), "ls", listed)
    monkeypatch.setattr(type(memory), "info", info)
    command("describe", "memory://shelf", "-o", tmp_path / "t.csv", "--quiet")
    assert deepest < 150
