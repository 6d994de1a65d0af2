"""The cache of compiled code: where nothing can be written, and which folder is trusted."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from heatfield._base import compile as _jit
from tests.helpers.process import SOURCE, apart, copy_package


@pytest.fixture
def locked_package():
    """A copy of the package in a folder that cannot be written, beside one for temporary files that can."""
    with tempfile.TemporaryDirectory() as name:
        locked, temporary = Path(name) / "locked", Path(name) / "temporary"
        copy_package(locked)
        temporary.mkdir()
        folders = [locked, *(path for path in locked.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        yield locked, temporary
        for folder in folders:
            folder.chmod(0o755)


def run_locked(code, locked, temporary):
    """Run where neither the package nor the home can be written.

    Permissions do not bind root, so root gives up its capabilities first.
    """
    start = [sys.executable, "-S", "-c"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        start = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *start]
    environment = {"PYTHONPATH": apart(locked), "HOME": str(locked), "TMPDIR": str(temporary)}
    options = {"env": {**environment, "PATH": os.environ["PATH"]}, "capture_output": True, "text": True}
    probe = f"import os; os.mkdir({str(locked / 'probe')!r})"
    if shutil.which(start[0]) is None:
        pytest.skip("root cannot give up its capabilities without setpriv")
    if "PermissionError" not in subprocess.run([*start, probe], **options).stderr:
        pytest.skip("this file system does not keep a folder from being written")
    done = subprocess.run([*start, code], **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_works_where_neither_package_nor_home_can_be_written(locked_package):
    locked, temporary = locked_package
    code = (
        "import numpy as np; from heatfield._base.select import percentile; "
        "print(percentile(np.arange(3.0), 0, 3, 0.5))"
    )
    expected = [1.0, 1]
    assert list(ast.literal_eval(run_locked(code, locked, temporary))) == expected
    assert not list(locked.rglob("__pycache__"))

    # The machine code went to the private folder, and the next process takes it from there.
    (folder,) = temporary.glob("heatfield-cache-*")
    compiled = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}
    assert compiled
    assert list(ast.literal_eval(run_locked(code, locked, temporary))) == expected
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")} == compiled


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
class TestPrivateCache:
    """What lies in the cache is unpickled: only a folder that no one else can write is trusted."""

    def place(self, temporary):
        return temporary / f"heatfield-cache-{os.getuid()}"

    def test_is_made_for_this_user_alone(self, temporary):
        assert _jit._private_cache() == self.place(temporary)
        assert self.place(temporary).stat().st_mode & 0o777 == 0o700
        assert _jit._private_cache() == self.place(temporary)  # and is found again

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
    def test_writable_for_others_is_refused(self, temporary, mode):
        self.place(temporary).mkdir()
        self.place(temporary).chmod(mode)
        assert _jit._private_cache() is None

    def test_of_another_user_is_refused(self, temporary, monkeypatch):
        other = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: other)
        (temporary / f"heatfield-cache-{other}").mkdir(mode=0o700)
        assert _jit._private_cache() is None

    def test_link_is_refused(self, temporary):
        (temporary / "elsewhere").mkdir(mode=0o700)
        self.place(temporary).symlink_to(temporary / "elsewhere")
        assert _jit._private_cache() is None

    def test_file_in_its_place_is_refused(self, temporary):
        self.place(temporary).touch()
        assert _jit._private_cache() is None

    def test_no_temporary_directory_at_all(self, monkeypatch):
        def none():
            raise FileNotFoundError("No usable temporary directory found")

        monkeypatch.setattr(tempfile, "gettempdir", none)
        assert _jit._private_cache() is None


def test_without_any_cache_it_still_compiles(monkeypatch):
    """Numba refuses to cache; then the function is compiled for this process only."""
    plain = _jit.numba.njit

    def refuses_to_cache(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(*args, **options)

    monkeypatch.setattr(_jit.numba, "njit", refuses_to_cache)
    monkeypatch.setattr(_jit, "_private_cache", lambda: None)
    assert _jit.compiled()(lambda x: 2 * x)(21) == 42


INNER = "from heatfield._base.compile import compiled\n@compiled()\ndef inner(x):\n    return x + {}\n"
OUTER = """
from heatfield._base.compile import compiled
from heatfield._base.inner import inner
@compiled()
def outer(x):
    return 2.0 * inner(x)
"""


def test_compiled_code_belongs_to_the_source_it_can_depend_on(tmp_path):
    """A changed helper is noticed; the same source again is not compiled again; compiling is said once."""
    package = tmp_path / "here" / "heatfield"
    environment = {"PYTHONPATH": apart(package.parent), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def install(number):
        shutil.rmtree(package, ignore_errors=True)
        copy_package(package.parent)
        (package / "_base" / "inner.py").write_text(INNER.format(number))
        (package / "_base" / "outer.py").write_text(OUTER)

    def run():
        code = "from heatfield._base.outer import outer; print(outer(1.0))"
        done = subprocess.run(
            [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return float(done.stdout), done.stderr

    def kept():
        return {p: p.stat().st_mtime_ns for p in (tmp_path / ".cache" / "heatfield").rglob("*.nbc")}

    install(1.0)
    value, said = run()
    assert value == 4.0
    assert said.count("compiling for this machine") == 1
    assert "the first call takes up to a minute" in said
    first = kept()
    install(1.0)  # as a second `pip install` does
    assert run() == (4.0, "")
    assert kept() == first
    (package / "_cloud" / "later.py").write_text("A = 1\n")  # a part that this code cannot depend on
    assert run() == (4.0, "")
    assert kept() == first
    (package / "_base" / "inner.py").write_text(INNER.format(10.0))  # as `git pull` does
    value, said = run()
    assert value == 22.0
    assert "compiling" in said
    assert not list(package.rglob("*.nbc"))


def test_code_of_sources_that_nobody_uses_is_removed(tmp_path):
    old, used = tmp_path / f"compiled-{16 * 'a'}", tmp_path / f"compiled-{16 * 'b'}"
    other = tmp_path / "compiled-by-hand"
    for folder in (old, used, other):
        folder.mkdir()
        (folder / "a.nbc").touch()
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    _jit._forget_old(tmp_path, used.name)
    assert sorted(p.name for p in tmp_path.iterdir()) == [used.name, other.name]


SUM_TWICE = """
import sys
import llvmlite.binding
import numpy as np

given = []
set_option = llvmlite.binding.set_option
llvmlite.binding.set_option = lambda *words: (given.append(words), set_option(*words))

def compile_a_sum():
    from heatfield._base.compile import SUMS, compiled
    global total
    def total(a, b):
        s = np.float32(0.0)
        for i in range(len(a)):
            s += a[i] * b[i]
        return s
    function = compiled(SUMS)(total)
    assert function(np.ones(101, np.float32), np.ones(101, np.float32)) == 101.0
    (text,) = function.inspect_llvm().values()
    assert "vec.epilog" not in text
compile_a_sum()
for name in [name for name in sys.modules if name.partition(".")[0] == "heatfield"]:
    del sys.modules[name]
compile_a_sum()
assert len([words for words in given if "epilogue" in words[1]]) == 1, given
"""


def test_remainder_loops_are_not_vectorised_again(tmp_path):
    """LLVM is told so once, which older versions insist on, also where the package is imported anew."""
    script = tmp_path / "total.py"
    script.write_text(SUM_TWICE)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_functions_made_by_functions_are_refused():
    """Two of one name can be mistaken for each other when code of two processes is loaded."""

    def inner(x):
        return x + 1

    inner.__module__ = "heatfield._cloud.somewhere"
    with pytest.raises(TypeError, match="is made by a function: it cannot be kept"):
        _jit.compiled()(inner)


TRANSFORM = """
import numpy as np, heatfield as hf
points = np.random.default_rng(0).normal(size=(3000, 3))
s = hf.signatures(points, [0.5, 1.0], method="fast", tol=1e-4)
print(sum(scale.transforms for scale in s.plan.scales))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    """The code of transforms too, whose steps are written as intrinsics, is found again."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SOURCE.parent)}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", TRANSFORM], env=environment, capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > 0
        return sorted(path.name for path in tmp_path.rglob("*.nbc"))

    first = run()
    assert any("spread" in name for name in first)
    assert run() == first
