"""The page of ``heatfield report`` in a real Chromium."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.models.index import sketch
from heatfield.report._collection import Collection, separate
from heatfield.report._page import report_page

HOSTILE = '</script><img src=x onerror="window.hacked=1">$\\frac{'


@pytest.fixture(scope="module")
def collection():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(60, 3)) * ([1, 1, 0.02] if k % 2 else [1, 1, 1]) for k in range(16)]
    return Collection(
        name=HOSTILE,
        files=[f"{k} {HOSTILE}" for k in range(16)],
        points=np.full(16, 60),
        features=hf.HFSDescriptor("desc").fit_transform(clouds),
        descriptor=hf.HFSDescriptor("desc", n_dims=3),
        dims=3,
        labels=[HOSTILE, "flat"] * 8,
        sketches=[sketch(c) for c in clouds],
        broken=[(HOSTILE, HOSTILE, HOSTILE)],
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory, collection):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(report_page(collection, separate(collection, head="lda"), embedding="pca"))
    return path


@pytest.fixture
def page(browser, written):
    browser.open(written)
    browser.wait("window.report && window.report.ready")
    browser.frames()
    return browser


def test_everything_is_there_and_hostile_names_run_nothing(page):
    assert page.problems() == []
    assert len(page.requests()) == 1
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("document.getElementById('name').textContent") == HOSTILE
    images = page.evaluate("[...document.images].map((i) => [i.id, i.naturalWidth > 100])")
    assert images == [["spectra", True], ["confusion", True]]
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('.dot').length") == 16
    assert page.evaluate("document.querySelectorAll('#near tr').length") == 16
    assert page.evaluate("document.querySelectorAll('#near tr:first-child figure').length") == 6
    assert page.evaluate("document.querySelectorAll('#blocks rect').length") == 6
    assert page.evaluate("document.querySelectorAll('#scales rect').length") == 8
    assert page.evaluate("document.querySelector('#broken td').textContent") == HOSTILE
    assert "mean accuracy over classes" in page.evaluate("document.getElementById('accuracy').textContent")


def test_a_dot_shows_its_cloud(page):
    page.evaluate("document.querySelector('.dot').scrollIntoView({ block: 'center' })")
    x, y = page.evaluate(
        "(() => { const b = document.querySelector('.dot').getBoundingClientRect(); "
        "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
    )
    page.mouse("mouseMoved", x, y)
    page.frames()
    assert page.evaluate("document.getElementById('card').hidden") is False
    words = page.evaluate("document.querySelector('#card p').textContent")
    assert words.startswith("0 ")
    inked = (
        "[...document.querySelector('#card canvas').getContext('2d').getImageData(0, 0, 150, 150).data]"
        ".filter((v, k) => k % 4 === 3 && v > 0).length"
    )
    assert page.evaluate(inked) > 200


def test_find_and_classes(page):
    page.evaluate(
        "{ const f = document.getElementById('find'); f.value = 'FLAT'; "
        "f.dispatchEvent(new Event('input')); }"
    )
    assert page.evaluate("[...document.querySelectorAll('#near tr')].filter((r) => !r.hidden).length") == 8
    page.evaluate("document.querySelector('#legend button').click()")
    hidden = "[...document.querySelectorAll('.dot')].filter((d) => d.style.display === 'none').length"
    assert page.evaluate(hidden) == 8


def test_prints_with_all_thumbnails(page):
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    blank = (
        "[...document.querySelectorAll('figure canvas')].filter((c) => "
        "!c.getContext('2d').getImageData(0, 0, 96, 96).data.some((v) => v > 0)).length"
    )
    assert page.evaluate(blank) == 0
    printed = page.call("Page.printToPDF", printBackground=True)
    assert printed["data"].startswith("JVBERi")  # %PDF-
    assert len(printed["data"]) > 20_000
