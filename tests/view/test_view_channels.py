"""A signature that is new in the registry, on the page of the viewer."""

import numpy as np

from heatfield import channels
from heatfield.channels import CHANNELS, Channel, fixed
from heatfield.view import view_page

READY = "window.heatfield && window.heatfield.stats.ready"


WORDS = ("what", "pure number", "high")


def test_a_new_channel_is_in_the_menu_and_has_a_chart(browser, tmp_path, monkeypatch):
    new = (
        Channel("excess", "e", "excess <b>", WORDS, read=lambda s: s.dimension - 1.0, ends=fixed(-1.0, 2.0)),
        Channel("heat", "h", "heat", WORDS, read=lambda s: s.density, log_words=WORDS),
    )
    points = np.random.default_rng(0).normal(size=(400, 3))
    titles = "[...document.querySelectorAll('#profile svg text.strong')].map((t) => t.textContent)"
    found = []
    for entries in ((), new):
        monkeypatch.setattr(channels, "CHANNELS", (*CHANNELS, *entries))
        path = tmp_path / f"view{len(entries)}.html"
        path.write_text(view_page(points, theme="light"))
        browser.open(path)
        browser.wait(READY)
        browser.key("Enter")
        browser.frames()
        assert browser.problems() == []
        menu = browser.evaluate("[...document.querySelectorAll('select option')].map((o) => o.textContent)")
        found.append((menu, browser.evaluate(titles)))
    (old_menu, old_charts), (menu, charts) = found
    assert len(old_charts) == 4
    assert charts == [*old_charts, "excess <b>", "log₁₀ heat"]
    assert [word for word in menu if word not in old_menu] == ["excess <b>", "log₁₀ heat"]
