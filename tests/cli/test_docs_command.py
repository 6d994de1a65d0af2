"""``heatfield docs``: opens the site or says where it is."""

import re
import webbrowser

import pytest

from heatfield.cli import main
from heatfield.workflows import docs

PAGES = {
    "index": "heatfield",
    "guide/index": "Guide",
    "guide/view": "Look at a cloud",
    "guide/search": "Search by shape",
    "reference/columns": "Column dictionary",
    "tutorial/plot_4_proteins": "Proteins: nearest folds",
    "theory/fast": "Large clouds",
    "theory/signatures": "Signatures, formula by formula",
    "api/heatfield.signatures": "signatures",
    "api/heatfield.Signatures-class": "Signatures",
    "api/heatfield.plot.pipeline": "pipeline",
    "api/heatfield_bench.baselines.DGCNN": "DGCNN",
    "search": "Search",
    "tutorial/sg_execution_times": "Computation times",
    "_modules/columns": "columns",
}


@pytest.fixture
def site(tmp_path):
    """A built site, its pages headed as by Sphinx."""
    for name, title in PAGES.items():
        page = tmp_path / f"{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"<title>{title} &#8212; heatfield 0 documentation</title>")
    return tmp_path


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("", "index"),
        ("signatures", "api/heatfield.signatures"),
        ("hf.signatures", "api/heatfield.signatures"),
        ("heatfield.Signatures", "api/heatfield.Signatures-class"),
        ("heatfield_bench.baselines.DGCNN", "api/heatfield_bench.baselines.DGCNN"),
        ("guide/view", "guide/view"),
        ("guide", "guide/index"),
        ("columns", "reference/columns"),  # the name without its folder
        ("pipeline", "api/heatfield.plot.pipeline"),
        ("large clouds", "theory/fast"),  # the title
        ("folds", "tutorial/plot_4_proteins"),  # a part
        ("search", "search"),  # a path is taken before a word is looked for
    ],
)
def test_a_word_finds_its_page(site, capsys, word, page):
    assert main(["docs", word, "--site", str(site), "--where"]) == 0
    assert capsys.readouterr().out.strip() == (site / f"{page}.html").resolve().as_uri()


@pytest.mark.parametrize("opens", [True, False])
def test_the_start_page_is_opened(site, monkeypatch, capsys, opens):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or opens)
    assert main(["docs", "--site", str(site)]) == 0
    assert opened == [(site / "index.html").resolve().as_uri()]
    assert ("could not start a browser" in capsys.readouterr().out) is not opens


def test_a_word_of_several_pages_names_them(site, capsys):
    assert main(["docs", "sign", "--site", str(site), "--where"]) == 2
    found = capsys.readouterr()
    assert not found.out
    assert "'sign' fits 3 pages" in found.err
    for name in ("theory/signatures", "api/heatfield.signatures", "api/heatfield.Signatures-class"):
        assert f"\n  {name}" in found.err


@pytest.mark.parametrize("word", ["xylophone", "../../etc/passwd"])
def test_a_word_of_no_page_lists_the_guides(site, capsys, word):
    assert main(["docs", word, "--site", str(site), "--where"]) == 2
    err = capsys.readouterr().err
    assert f"no page {word!r}" in err
    assert re.search(r"^  reference/columns +Column dictionary$", err, re.M)
    for other in ("sg_execution_times", "_modules", "\n  api/"):
        assert other not in err


def test_where_the_site_is_looked_for(site, monkeypatch, capsys):
    assert main(["docs", "--site", str(site / "guide" / "none")]) == 2
    assert "holds no index.html" in capsys.readouterr().err
    monkeypatch.chdir(site.parent)
    monkeypatch.setattr(docs, "_SITE", docs.Path("docs", "_build", "nowhere"))
    assert main(["docs", "--where"]) == 2
    assert "make docs" in capsys.readouterr().err
    monkeypatch.setattr(docs, "_SITE", docs.Path(site.name))
    assert main(["docs", "--where"]) == 0
    assert capsys.readouterr().out.strip() == (site / "index.html").resolve().as_uri()
