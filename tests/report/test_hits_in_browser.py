"""The page of ``heatfield search query`` in a real Chromium."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.models.index import sketch
from heatfield.report._page import hits_page

HOSTILE = '</script><img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(60, 3)) * ([1, 1, 0.02] if k % 2 else [1, 1, 1]) for k in range(12)]
    index = hf.HFSIndex("desc").build(
        clouds, labels=[HOSTILE, "flat"] * 6, names=[f"{k} {HOSTILE}" for k in range(12)]
    )
    return index, clouds, index.query(clouds[:3], k=4)


def page_of(found, **changes):
    index, clouds, hits = found
    options = {
        "query_sketches": [sketch(cloud) for cloud in clouds[:3]],
        "hit_sketches": {int(r): index.sketch_of(int(r)) for r in np.unique(hits.rows)},
        "facts": [("index", HOSTILE)],
    }
    return hits_page(HOSTILE, [HOSTILE] * 3, hits, **options | changes)


def test_everything_is_there_and_hostile_names_run_nothing(browser, tmp_path, found):
    path = tmp_path / "hits.html"
    path.write_text(page_of(found))
    browser.open(path)
    browser.wait("window.hits && window.hits.ready")
    browser.frames()
    assert browser.problems() == []
    assert len(browser.requests()) == 1
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert browser.evaluate("document.getElementById('name').textContent") == HOSTILE
    assert browser.evaluate("document.querySelectorAll('section').length") == 3
    assert browser.evaluate("document.querySelectorAll('.card').length") == 15
    assert browser.evaluate("document.querySelectorAll('.card b')[0].textContent") == HOSTILE
    assert browser.evaluate("document.querySelectorAll('.card:nth-child(2) rect').length") == 18
    words = browser.evaluate("document.querySelectorAll('.card')[2].querySelector('p').textContent")
    assert words.startswith(f"2. at {found[2].distances[0, 1]:.4g}")
    blank = (
        "[...document.querySelectorAll('canvas')].filter((c) => "
        "!c.getContext('2d').getImageData(0, 0, 96, 96).data.some((v) => v > 0)).length"
    )
    assert browser.evaluate("(window.dispatchEvent(new Event('beforeprint')), 0)") == 0
    assert browser.evaluate(blank) == 0


def test_a_hit_without_a_picture_is_empty(browser, tmp_path, found):
    path = tmp_path / "hits.html"
    path.write_text(page_of(found, hit_sketches={}))
    browser.open(path)
    browser.wait("window.hits && window.hits.ready")
    assert browser.problems() == []
