from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from loci_looped.viz.colours import DARK, LIGHT, Colour, Theme, css, hexadecimal, readable_on, slot_colour


def test_every_slot_has_a_colour_of_its_own() -> None:
    colours = [slot_colour(slot) for slot in range(24)]
    for (a, first), (b, second) in itertools.combinations(enumerate(colours), 2):
        assert sum(abs(x - y) for x, y in zip(first, second, strict=True)) > 20, (a, b)


def test_the_colour_of_a_slot_never_changes() -> None:
    assert [hexadecimal(slot_colour(slot)) for slot in range(3)] == ["#e69f00", "#56b4e9", "#009e73"]


def test_words_can_be_read_on_every_slot_colour() -> None:
    for slot in range(24):
        colour = slot_colour(slot)
        brightness = [0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] for c in (colour, readable_on(colour))]
        assert abs(brightness[0] - brightness[1]) > 80


PACKAGE = Path(__file__).parents[2] / "loci_looped"


def test_lab_report_and_demo_page_share_one_palette() -> None:
    for page in ("evaluation/report/page.html", "viz/page.html"):
        assert "/*PALETTE*/" in (PACKAGE / page).read_text(encoding="utf-8"), page
    assert 'href="/static/palette.css"' in (PACKAGE / "app/static/index.html").read_text(encoding="utf-8")


def test_every_colour_a_page_asks_for_is_in_the_palette() -> None:
    own = {"radius", "gap", "slot"}          # measures of the lab, and the slot of a card
    for page in ("app/static/style.css", "viz/page.html", "evaluation/report/page.html"):
        asked = set(re.findall(r"var\(--([\w-]+)\)", (PACKAGE / page).read_text(encoding="utf-8"))) - own
        assert not {name for name in asked if f"--{name}:" not in css()}, page
    for script in (PACKAGE / "app/static").glob("*.js"):
        text = script.read_text(encoding="utf-8")
        asked = set(re.findall(r'(?:tint|veil|channels)\("([\w-]+)"', text))
        assert not {name for name in asked if f"--{name}:" not in css()}, script.name
        assert script.name == "dom.js" or not re.search(r"#[0-9a-f]{3,6}\b|rgba?\(\d", text), script.name


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_can_be_read_on_paper_and_card(theme: Theme) -> None:
    for ink, ground in (
        (theme.ink, theme.paper), (theme.faint, theme.paper), (theme.faint, theme.card), (theme.accent, theme.paper),
        (theme.accent_ink, theme.accent), (theme.alarm, theme.alarm_paper), (theme.ink, theme.ours),
    ):
        assert contrast(ink, ground) >= 4.5, (ink, ground)          # what WCAG asks of body text


def contrast(first: Colour, second: Colour) -> float:
    def light(colour: Colour) -> float:
        linear = [v / 12.92 if (v := part / 255) <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for part in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dim, bright = sorted((light(first), light(second)))
    return (bright + 0.05) / (dim + 0.05)
