"""The page of ``heatfield view`` in a real Chromium."""

import numpy as np
import pytest

import heatfield as hf
from heatfield.view import view_page

READY = "window.heatfield && window.heatfield.stats.ready"
HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">&lt;b&gt;'


def show(browser, folder, points, **options):
    """Write the page, open it, wait until it is drawn."""
    path = folder / "view.html"
    path.write_text(view_page(points, theme="light", **options))
    browser.open(path)
    browser.wait(READY)
    browser.frames()
    return path


def canvas(browser):
    """The part of the window where the cloud is drawn and nothing lies over it."""
    return browser.screenshot()[:560, :740]


def changed(one, other):
    """The share of the drawn pixels that differ visibly."""
    drawn = ((one < 245).any(axis=2) | (other < 245).any(axis=2)).sum()
    return (np.abs(one - other).max(axis=2) > 24).sum() / drawn


@pytest.fixture(scope="module")
def mixed():
    return hf.datasets.make_mixed_shape(2500)[0]


@pytest.fixture
def page(browser, tmp_path, mixed):
    show(browser, tmp_path, mixed, name="mixed shape")
    return browser


def test_lengths_and_their_unit_stand_beside_the_scale(browser, tmp_path, mixed):
    show(browser, tmp_path, mixed, lengths=[0.05, 0.2, 0.5], unit="µm")
    browser.evaluate("heatfield.setScale(1)")
    words = browser.evaluate("document.getElementById('scale-words').textContent")
    assert words.startswith("√t = 0.2 µm: looks about")
    assert browser.evaluate("document.getElementById('scale-label').textContent") == "scale s1 of s0 … s2"
    axis = browser.evaluate("[...document.querySelectorAll('#spectrum text')].map((t) => t.textContent)")
    assert {"0.05 µm", "0.5 µm", "s1: √t 0.2 µm"} <= {*axis}


def test_values_in_the_page_are_those_of_the_library(page, mixed):
    s = hf.signatures(mixed)
    for name, expected in (
        ("dimension", s.dimension),
        ("transition", s.transition),
        ("density", np.log10(s.density)),
        ("spectrum2", s.spectrum[:, :, 1]),
    ):
        for row, scale in ((0, 0), (17, 3), (2499, 7)):
            value = page.evaluate(f"heatfield.value({name!r}, {scale}, {row})")
            step = np.ptp(expected[:, scale]) / 65534
            assert abs(value - expected[row, scale]) <= 0.51 * step + 1e-4
    types = [page.evaluate(f"heatfield.value('type', 3, {row})") for row in range(0, 2500, 250)]
    names = page.evaluate("[...document.querySelectorAll('#colour option')].map((o) => o.textContent)")
    assert names[:4] == [
        "heat dimension", "local type", "transition (change with scale)", "density (heat field)"
    ]  # fmt: skip
    from heatfield.local_type import LOCAL_TYPES

    assert [LOCAL_TYPES[k] for k in types] == s.local_type(3)[::250].tolist()


def test_the_slider_changes_the_colours(page):
    before = canvas(page)
    assert changed(before, canvas(page)) == 0
    page.evaluate(
        "{ const s = document.getElementById('scale'); s.value = 6; s.dispatchEvent(new Event('input')); }"
    )
    assert changed(before, canvas(page)) > 0.3
    assert "scale s6" in page.evaluate("document.getElementById('scale-label').textContent")
    mark = page.evaluate("document.getElementById('now').getAttribute('x1')")
    page.evaluate("heatfield.setScale(3)")
    assert page.evaluate("document.getElementById('now').getAttribute('x1')") != mark
    assert changed(before, canvas(page)) == 0


def test_colours_say_the_dimension(browser, tmp_path):
    """A circle is orange at a middle scale, a square sheet green; the legend says so."""
    angle = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    circle = np.c_[np.cos(angle), np.sin(angle), 0 * angle]
    sheet = np.c_[np.random.default_rng(0).uniform(-1, 1, size=(4000, 2)), np.zeros(4000)]
    shades = {}
    for name, points in (("circle", circle), ("sheet", sheet)):
        show(browser, tmp_path, points, name=name)
        seen = canvas(browser)
        drawn = seen[(seen < 225).any(axis=2)]
        shades[name] = np.median(drawn, axis=0)
    red, green, blue = shades["circle"]
    assert red > green + 40 > blue
    red, green, blue = shades["sheet"]
    assert green > red + 40
    assert "about 1: filament" in browser.evaluate("document.getElementById('legend').textContent")


def test_every_colouring_differs_and_has_words(page):
    pictures, legends = [], []
    for k in range(page.evaluate("document.querySelectorAll('#colour option').length")):
        page.evaluate(f"heatfield.setColour({k})")
        pictures.append(canvas(page))
        legends.append(page.evaluate("document.getElementById('legend').textContent"))
    assert len(pictures) == 7
    assert len(set(legends)) == 7
    for k, other in enumerate(pictures[1:]):
        assert changed(pictures[k], other) > 0.1
    assert "junction: filaments meet here" in legends[1]


def test_drag_and_wheel(page):
    before = canvas(page)
    page.mouse("mousePressed", 300, 300, button="left", buttons=1)
    page.mouse("mouseMoved", 380, 330, button="left", buttons=1)
    page.mouse("mouseReleased", 380, 330, button="left")
    turned = canvas(page)
    assert changed(before, turned) > 0.3
    assert page.evaluate("heatfield.state.picked") == -1
    page.mouse("mouseWheel", 300, 300, deltaX=0, deltaY=-400)
    assert changed(turned, canvas(page)) > 0.3
    assert page.evaluate("heatfield.camera.zoom") > 1.3
    page.evaluate("document.getElementById('reset').click()")
    assert changed(before, canvas(page)) == 0


def test_hover_and_click_give_the_point(page, mixed):
    i = page.evaluate("heatfield.scene.pick(370, 300, heatfield.camera, heatfield.state, 400)")
    x, y = page.evaluate(f"heatfield.scene.locate({i}, heatfield.camera)")
    page.mouse("mouseMoved", x, y)
    page.frames()
    assert page.evaluate("document.getElementById('tip').textContent").startswith("row ")
    page.click(x, y)
    page.frames()
    title = page.evaluate("document.getElementById('profile-title').textContent")
    row = int(title.removeprefix("Point in row ").replace(",", ""))
    words = page.evaluate("document.getElementById('profile-words').textContent")
    place = [float(v) for v in words[words.index("(") + 1 : words.index(")")].split(",")]
    np.testing.assert_allclose(place, mixed[row], atol=1e-5)
    s = hf.signatures(mixed)
    assert f"Dimension {float(f'{s.dimension[row, 3]:.3g}'):g} at scale s3, √t = " in words
    assert f"Type: {s.local_type(3)[row]}." in words
    assert page.evaluate("document.querySelectorAll('#profile polyline').length") == 6
    assert page.evaluate("document.querySelectorAll('#profile rect').length") == 8
    assert page.evaluate("document.getElementById('ring').getBoundingClientRect().width") > 10


def test_a_range_of_dimension_isolates(page, mixed):
    before = canvas(page)
    page.evaluate("heatfield.setRange(0, 1.5)")
    d = hf.signatures(mixed).dimension[:, 3]
    words = page.evaluate("document.getElementById('range-words').textContent")
    assert words.startswith(f"{(d <= 1.5).sum():,} of 2,500 points")
    isolated = canvas(page)
    assert changed(before, isolated) > 0.3

    def green(seen):
        return ((seen[:, :, 1] > seen[:, :, 0] + 40) & (seen[:, :, 1] > seen[:, :, 2] + 10)).sum()

    assert green(before) > 1000
    assert green(isolated) < 0.02 * green(before)


@pytest.mark.parametrize("n", [2, 3])
def test_the_heat_body_is_the_librarys(browser, tmp_path, n):
    points = np.random.default_rng(0).normal(size=(300, n)) * [3, 1, 1][:n]
    show(browser, tmp_path, points, name="blob")
    before = canvas(browser)
    for scale, alpha in ((4, 0.5), (5, 0.2), (6, 0.2)):
        browser.evaluate(f"document.getElementById('alpha').value = {alpha}; heatfield.setScale({scale})")
        browser.evaluate("document.getElementById('body').checked = true; heatfield.showBody()")
        t = float(hf.scale_schedule(points)[scale])
        expected = hf.HeatField(points).heat_body(t, alpha, resolution=64 if n == 3 else 128).volume
        assert browser.evaluate("heatfield.body.measure") == pytest.approx(expected, rel=0.02)
    assert changed(before, canvas(browser)) > 0.2


def test_a_body_too_fine_to_draw_says_so(browser, tmp_path):
    points = np.array([[0, 0, 0], [0.01, 0, 0], [100, 0, 0], [100, 0.01, 0]])
    show(browser, tmp_path, points, name="two pairs")
    browser.evaluate("document.getElementById('body').checked = true; heatfield.setScale(0)")
    assert "too fine to draw" in browser.evaluate("document.getElementById('body-words').textContent")
    browser.evaluate("heatfield.setScale(7)")
    assert "Volume" in browser.evaluate("document.getElementById('body-words').textContent")


def test_keys(page):
    page.evaluate("document.getElementById('canvas').focus()")
    before = canvas(page)
    page.key("ArrowLeft")
    assert changed(before, canvas(page)) > 0.1
    page.key(".")
    assert page.evaluate("heatfield.state.scale") == 4
    page.key(",")
    page.key(",")
    assert page.evaluate("heatfield.state.scale") == 2
    page.key("2")
    assert page.evaluate("heatfield.state.quantity.label") == "local type"
    page.key("Enter")
    assert page.evaluate("heatfield.state.picked") >= 0
    page.key("Escape")
    assert page.evaluate("heatfield.state.picked") == -1
    page.key("t")
    page.frames()
    assert canvas(page).mean() < 60  # dark
    page.key(" ")
    page.wait("heatfield.state.scale !== 2")  # plays
    page.key(" ")
    page.key("?")
    assert page.evaluate("document.getElementById('help').hidden") is False
    assert page.problems() == []


def test_a_phone(browser, tmp_path, mixed):
    browser.resize(390, 844, mobile=True)
    show(browser, tmp_path, mixed, name="a rather long name of a file " * 4)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    for node in ("canvas", "scale", "play", "colour"):
        left, right, height = browser.evaluate(
            f"(() => {{ const b = document.getElementById('{node}').getBoundingClientRect(); "
            "return [b.left, b.right, b.height]; })()"
        )
        assert 0 <= left < right <= 390
        assert height >= 20
    seen = browser.screenshot()[: int(0.5 * 844)]
    assert (seen < 230).any(axis=2).mean() > 0.02
    i = browser.evaluate("heatfield.scene.pick(195, 200, heatfield.camera, heatfield.state, 300)")
    x, y = browser.evaluate(f"heatfield.scene.locate({i}, heatfield.camera)")
    for kind, touches in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=touches)
    browser.wait("heatfield.state.picked >= 0")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_other_dimensions(browser, tmp_path, n):
    points = np.random.default_rng(1).normal(size=(200, n))
    show(browser, tmp_path, points, name="cloud")
    assert browser.problems() == []
    assert (canvas(browser) < 230).any(axis=2).sum() > 100
    hidden = browser.evaluate("document.getElementById('body-section').hidden")
    assert hidden is (n not in (2, 3))
    notes = browser.evaluate("document.getElementById('notes').textContent")
    assert ("principal components" in notes) is (n > 3)


def test_decimation_is_stated_and_keeps_the_signatures(browser, tmp_path):
    points = np.random.default_rng(0).normal(size=(7000, 3))
    show(browser, tmp_path, points, name="many", most_points=500)
    notes = browser.evaluate("document.getElementById('notes').textContent")
    assert "Shown are 500 of 7,000 points" in notes
    row = browser.evaluate("(heatfield.pick(0), document.getElementById('profile-title').textContent)")
    row = int(row.removeprefix("Point in row ").replace(",", ""))
    expected = hf.signatures(points, targets=[row]).dimension[0]
    found = [browser.evaluate(f"heatfield.value('dimension', {a}, {row})") for a in range(8)]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_hostile_names_run_nothing(browser, tmp_path, mixed):
    columns = {HOSTILE: np.arange(2500), '"><svg onload=window.hacked=3>': np.array(["a"] * 2500)}
    show(browser, tmp_path, mixed, name=HOSTILE, columns=columns)
    assert browser.evaluate("document.getElementById('name').textContent") == HOSTILE
    assert browser.evaluate("document.title").startswith(HOSTILE)
    options = browser.evaluate("[...document.querySelectorAll('#colour option')].map((o) => o.textContent)")
    assert options[-1] == "column " + HOSTILE
    browser.evaluate(f"heatfield.setColour({len(options) - 1}); heatfield.tip(0, [5, 5])")
    assert "svg onload" in browser.evaluate("document.getElementById('facts').textContent")
    browser.frames()
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert browser.evaluate("document.querySelectorAll('img, iframe, svg[onload], b b').length") == 0
    assert browser.evaluate("document.querySelectorAll('script').length") == 2  # header and program
    assert browser.problems() == []

    # Even markup that got in would not run, and could not call home.
    browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hacked=4>')")
    browser.evaluate(
        "{ const s = document.createElement('script'); s.text = 'hacked = 5'; document.body.append(s); }"
    )
    refused = "fetch('https://example.com').then(() => 'sent', () => 'refused')"
    assert browser.evaluate(refused) == "refused"
    browser.frames()
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert not any(url.startswith("http") for url in browser.requests())


def test_without_webgl_the_charts_still_work(browser, tmp_path, mixed):
    hook = browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="HTMLCanvasElement.prototype.getContext = () => null",
    )
    try:
        show(browser, tmp_path, mixed, name="mixed")
        assert "no WebGL 2" in browser.evaluate("document.getElementById('message').textContent")
        browser.evaluate("heatfield.setScale(5); heatfield.pick(0)")
        assert browser.evaluate("document.querySelectorAll('#spectrum polygon').length") == 4
        assert browser.evaluate("document.querySelectorAll('#profile polyline').length") == 6
        assert browser.problems() == []
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=hook["identifier"])
