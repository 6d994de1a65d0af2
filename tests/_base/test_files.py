"""Files that appear whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from heatfield._base import files
from heatfield._base.files import (
    clear_unfinished,
    open_atomically,
    write_atomically,
    write_folder_atomically,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_and_its_replacement(tmp_path):
    target = tmp_path / "a.bin"
    for data in (b"one", b"another"):
        write_atomically(target, data)
        assert target.read_bytes() == data
        assert names(tmp_path) == ["a.bin"]


def test_the_name_appears_only_at_the_end(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with open_atomically(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
        (part,) = set(names(tmp_path)) - {"a.bin"}
        assert part.startswith(".a.bin.")
        assert part.endswith(".part")  # the name by which commands clear away what a killed one left
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no"), OSError("no errno")])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")

    def stopped():
        with open_atomically(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        stopped()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_full_disk_names_the_target(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError) as caught:
        write_atomically(tmp_path / "a.bin", b"x")
    assert caught.value.filename == str(tmp_path / "a.bin")
    assert caught.value.errno == errno.ENOSPC
    assert names(tmp_path) == []


def test_a_missing_folder_and_a_folder_in_the_way_name_the_target(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "none" / "a.bin", b"x")
    assert caught.value.filename == str(tmp_path / "none" / "a.bin")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_atomically(tmp_path / "folder", b"x")
    assert str(caught.value).endswith(f"{str(tmp_path / 'folder')!r}")
    assert names(tmp_path) == ["folder"]


def test_an_error_about_another_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, open_atomically(tmp_path / "a.bin"):
        (tmp_path / "other.bin").read_bytes()
    assert caught.value.filename == str(tmp_path / "other.bin")


@pytest.mark.skipif(os.name == "nt", reason="permissions and links of POSIX")
def test_permissions_are_those_of_a_new_file_and_a_link_is_replaced(tmp_path):
    umask = os.umask(0o022)
    try:
        write_atomically(tmp_path / "a.bin", b"x")
        assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == 0o644
        (tmp_path / "link").symlink_to(tmp_path / "a.bin")
        write_atomically(tmp_path / "link", b"y")
    finally:
        os.umask(umask)
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.bin").read_bytes() == b"x"


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "model"
    write_folder_atomically(target, {"a": b"1", "b": b"2"})
    write_folder_atomically(target, {"a": b"3"})
    assert names(target) == ["a"]
    assert (target / "a").read_bytes() == b"3"
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_folder_that_fails_leaves_the_older(tmp_path, monkeypatch, step):
    target = tmp_path / "model"
    write_folder_atomically(target, {"a": b"1"})
    rename = Path.rename

    def fails(self, *arguments):
        if step == "rename" and self.suffix != ".part":
            return rename(self, *arguments)
        raise OSError(errno.ENOSPC, "no space left on device")

    if step == "fsync":
        monkeypatch.setattr(files.os, "fsync", fails)
    else:
        monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="no space left"):
        write_folder_atomically(target, {"a": b"2", "b": b"3"})
    monkeypatch.undo()
    assert names(tmp_path) == ["model"]
    assert names(target) == ["a"]
    assert (target / "a").read_bytes() == b"1"


def test_a_link_to_a_folder_is_replaced_alone(tmp_path):
    write_folder_atomically(tmp_path / "first", {"a": b"1"})
    for name, points_to in (("latest", "first"), ("nowhere", "none")):
        (tmp_path / name).symlink_to(points_to)
        write_folder_atomically(tmp_path / name, {"a": b"2"})
        assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "first" / "a").read_bytes() == b"1"
    assert names(tmp_path) == ["first", "latest", "nowhere"]


def test_what_a_killed_writer_left_is_removed(tmp_path):
    """And what it moved aside gets its name back."""
    for folder in (".m.00112233.old", ".m.44556677.part"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text(folder)
    for file in (".m.89abcdef.part", ".m.mine.part"):
        (tmp_path / file).write_text("half")
    clear_unfinished(tmp_path / "m")
    assert (tmp_path / "m" / "a").read_text() == ".m.00112233.old"
    assert names(tmp_path) == [".m.mine.part", "m"]  # one of the user stays
    clear_unfinished(tmp_path / "no such folder" / "m")
