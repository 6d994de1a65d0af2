"""One sentence for a library that is not installed, wherever it is missed."""

import subprocess
import sys

import numpy as np
import pytest

import heatfield as hf
from heatfield._base.optional import need


def without(monkeypatch, *modules):
    for name in list(sys.modules):
        if name.partition(".")[0] in modules:
            monkeypatch.setitem(sys.modules, name, None)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_module_that_is_there():
    assert need("json.decoder", "Settings").JSONDecoder


def test_a_broken_library_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("from json import no_such_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError) as caught:
        need("broken_library", "Maps")
    assert str(caught.value).startswith(
        "Maps need broken_library, which cannot be imported: cannot import name 'no_such_name'"
    )


def test_readers_and_writers_name_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    without(monkeypatch, "pyarrow")
    with pytest.raises(hf.ReadError, match=r"Parquet files need pyarrow: pip install 'heatfield\[io\]'"):
        hf.read_points(path)
    with pytest.raises(ImportError, match=r"^Parquet files need pyarrow: pip install 'heatfield\[io\]'$"):
        hf.write_points(tmp_path / "b.parquet", np.zeros((3, 3)))


def test_pictures_name_the_extra(monkeypatch):
    without(monkeypatch, "matplotlib")
    with pytest.raises(ImportError, match=r"^pictures need matplotlib: pip install 'heatfield\[show\]'$"):
        hf.plot._style.pyplot()


def test_umap_is_named_where_it_is_missing(monkeypatch):
    from heatfield.report._collection import make_map

    without(monkeypatch, "umap")
    table = np.random.default_rng(0).normal(size=(20, 336))
    descriptor = hf.HFSDescriptor("desc", n_dims=3)
    with pytest.raises(ImportError, match=r"^embedding='umap' needs umap: pip install umap-learn$"):
        make_map(table, descriptor, "umap", 0)


def test_networks_name_the_extra():
    code = "import sys; sys.modules['torch'] = None\nimport heatfield as hf\nhf.nn.HFSFull"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: heatfield.nn needs torch: pip install 'heatfield[torch]'" in done.stderr
