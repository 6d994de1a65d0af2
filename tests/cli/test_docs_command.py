"""``heatfield docs``: opens the site or says where it is."""

import re
import webbrowser

import pytest

from heatfield.cli import main
from heatfield.workflows import docs


@pytest.fixture
def site(tmp_path):
    """A built site of six pages."""
    for name in (
        "index",
        "guide/index",
        "guide/view",
        "api/heatfield.signatures",
        "api/heatfield.Signatures-class",
        "api/heatfield_bench.baselines.DGCNN",
    ):
        page = tmp_path / f"{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text("<p>page</p>")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ([], "index.html"),
        ([""], "index.html"),
        (["signatures"], "api/heatfield.signatures.html"),
        (["hf.signatures"], "api/heatfield.signatures.html"),
        (["heatfield.Signatures"], "api/heatfield.Signatures-class.html"),
        (["heatfield_bench.baselines.DGCNN"], "api/heatfield_bench.baselines.DGCNN.html"),
        (["guide/view"], "guide/view.html"),
        (["guide"], "guide/index.html"),
    ],
)
def test_opens_the_page_and_prints_its_address(site, monkeypatch, capsys, name, page):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert main(["docs", *name, "--site", str(site)]) == 0
    assert opened == [(site / page).resolve().as_uri()]
    assert capsys.readouterr().out.strip() == opened[0]
    assert main(["docs", *name, "--site", str(site), "--where"]) == 0
    assert len(opened) == 1


def test_without_a_browser_it_says_so(site, monkeypatch, capsys):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert main(["docs", "--site", str(site)]) == 0
    assert "could not start a browser" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["gone", "../../etc/passwd", "guide/gone"])
def test_a_page_that_is_not_there(site, capsys, name):
    assert main(["docs", name, "--site", str(site), "--where"]) == 2
    assert repr(name) in capsys.readouterr().err


TITLES = {
    "guide/search": "Search by shape",
    "reference/columns": "Column dictionary",
    "tutorial/plot_4_proteins": "Proteins: nearest folds",
    "theory/fast": "Large clouds",
    "theory/signatures": "Signatures, formula by formula",
    "api/heatfield.plot.pipeline": "pipeline",
    "search": "Search",
    "tutorial/sg_execution_times": "Computation times",
    "_modules/columns": "columns",
}


@pytest.fixture
def titled(site):
    """More pages, as Sphinx heads them."""
    for name, title in TITLES.items():
        page = site / f"{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"<title>{title} &#8212; heatfield 0 documentation</title>")
    return site


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("columns", "reference/columns"),  # the name without its folder
        ("proteins", "tutorial/plot_4_proteins"),
        ("pipeline", "api/heatfield.plot.pipeline"),
        ("large clouds", "theory/fast"),  # the title
        ("Colu", "reference/columns"),  # a beginning
        ("folds", "tutorial/plot_4_proteins"),  # a part
        ("colums", "reference/columns"),  # misspelt
        ("protiens", "tutorial/plot_4_proteins"),
        ("guide/search", "guide/search"),
        ("search", "search"),  # a path is taken before a word is looked for
    ],
)
def test_a_word_finds_its_page(titled, capsys, word, page):
    assert main(["docs", word, "--site", str(titled), "--where"]) == 0
    assert capsys.readouterr().out.strip() == (titled / f"{page}.html").resolve().as_uri()


def test_a_word_of_several_pages_names_them(titled, capsys):
    assert main(["docs", "sign", "--site", str(titled), "--where"]) == 2
    found = capsys.readouterr()
    assert not found.out
    assert "'sign' fits 3 pages" in found.err
    for name in ("theory/signatures", "api/heatfield.signatures", "api/heatfield.Signatures-class"):
        assert f"\n  {name}" in found.err


def test_a_word_of_no_page_names_those_there_are(titled, capsys):
    assert main(["docs", "xylophone", "--site", str(titled), "--where"]) == 2
    err = capsys.readouterr().err
    assert "no page 'xylophone'" in err
    assert re.search(r"^  reference/columns +Column dictionary$", err, re.M)
    assert "guide/view" in err
    assert "sg_execution_times" not in err
    assert "_modules" not in err
    assert "\n  api/" not in err, "too many to list"


def test_a_site_that_is_not_there(tmp_path, monkeypatch, capsys):
    assert main(["docs", "--site", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    monkeypatch.setattr(docs, "_SITE", docs.Path("docs", "_build", "nowhere"))
    monkeypatch.chdir(tmp_path)
    assert main(["docs", "--where"]) == 2
    assert "make docs" in capsys.readouterr().err


def test_the_site_of_the_working_folder(site, monkeypatch, capsys):
    monkeypatch.setattr(docs, "_SITE", docs.Path(site.name))
    monkeypatch.chdir(site.parent)
    assert main(["docs", "--where"]) == 0
    assert capsys.readouterr().out.strip() == (site / "index.html").resolve().as_uri()
