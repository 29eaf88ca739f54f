"""The lab in a real browser. Needs Debian's Chromium (`apt-get install chromium`) and the package playwright."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from drawn_films import draw, make_film

from loci_looped.app.server import create_app
from loci_looped.app.settings import Settings
from loci_looped.cli.lab import listen
from loci_looped.data.formats.film_writer import write_film
from loci_looped.data.render.clips import make_clip
from loci_looped.inference.networks import load, shipped_networks
from loci_looped.model.loci import LociLooped

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
TRAINED = "adept-learnt" in shipped_networks()

pytest.importorskip("playwright", reason="the package playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt-get install chromium")
needs_weights = pytest.mark.skipif(not TRAINED, reason="no trained weights are shipped yet: beliefs would mean nothing")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The lab on a free port, with the shipped network if there is one."""
    import uvicorn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = load("adept-learnt") if TRAINED else LociLooped("adept-small").eval()
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app = create_app(network, Settings(port=port), "test")
    config = uvicorn.Config(app, log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An open lab; whatever the browser complains about fails the test."""
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    until(page, "window.lab?.run.background !== null && window.lab !== undefined")
    yield page
    context.close()
    expected = "400 (Bad Request)"          # the browser itself reports refused uploads
    assert [text for text in errors if expected not in text] == []


def until(page: Page, condition: str, seconds: float = 120.0) -> None:
    """Wait for a condition in the page. (The page forbids eval, so Playwright's own waiting does not work in it.)"""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"waited {seconds} s in vain for {condition}"
        page.wait_for_timeout(50)


def settled(page: Page) -> None:
    """Wait until everything that was asked for has happened."""
    page.evaluate("window.lab.player.lane.then(() => true)")


def play_until(page: Page, condition: str) -> None:
    if page.inner_text("#play") != "Pause":
        page.click("#play")
    until(page, f"({condition}) || !window.lab.player.playing")
    if page.inner_text("#play") == "Pause":
        page.click("#play")
    settled(page)


def pixels(page: Page, canvas: str) -> np.ndarray:
    """The canvas at a quarter of its size, (pixels, RGBA)."""
    text: str = page.evaluate("""(id) => {
        const from = document.getElementById(id), to = document.createElement('canvas');
        to.width = from.width / 4; to.height = from.height / 4;
        const pen = to.getContext('2d', { willReadFrequently: true });
        pen.drawImage(from, 0, 0, to.width, to.height);
        return Array.from(pen.getImageData(0, 0, to.width, to.height).data, (b) => String.fromCharCode(b)).join('');
    }""", canvas)
    return np.frombuffer(text.encode("latin-1"), np.uint8).reshape(-1, 4)


def share_changed(before: np.ndarray, after: np.ndarray) -> float:
    return float((np.abs(before.astype(int) - after) > 8).any(axis=1).mean())


HIDDEN = "(window.lab.run.moment?.truth ?? []).some((it) => it.kind === 'mover' && it.whole > 20 && it.visible === 0)"


def test_a_scene_is_built_and_played(page: Page) -> None:
    page.click("text=+ mover")
    page.select_option("#properties select", "cone")
    page.click("#properties [aria-label=yellow]")
    assert page.evaluate("window.lab.scene.movers[1].shape + window.lab.scene.movers[1].colour") == "coneyellow"
    page.click("[data-thing=screen]")
    before = page.evaluate("window.lab.scene.screen.y")
    page.locator("#world").scroll_into_view_if_needed()
    box = page.locator("#world").bounding_box()
    assert box is not None
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.35)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1], steps=4)
    page.mouse.up()
    assert page.evaluate("window.lab.scene.screen.y") > before + 0.2
    play_until(page, "window.lab.run.number >= 5")
    assert page.evaluate("window.lab.run.moment.truth.map((thing) => thing.name)") == [
        "yellow sphere", "yellow cone", "red screen"]
    assert not page.locator("#notice").is_visible()


def test_the_pictures_follow_the_scrubber_and_the_keys(page: Page) -> None:
    play_until(page, "window.lab.run.number >= 8")
    last, picture = page.evaluate("window.lab.run.number"), pixels(page, "sees")
    page.keyboard.press("Home")
    assert page.evaluate("window.lab.run.number") == 0 and share_changed(picture, pixels(page, "sees")) > 0.01
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.lab.run.number") == 1
    page.keyboard.press("End")
    assert page.evaluate("window.lab.run.number") == last and np.array_equal(pixels(page, "sees"), picture)
    page.keyboard.press("Space")
    until(page, f"window.lab.run.number > {last}")
    page.keyboard.press("Space")
    assert page.evaluate("window.lab.player.playing") is False


def test_hasty_fingers_do_no_harm(page: Page) -> None:
    for button in ("#play", "#restart", "#play", "#play", "#restart", "#restart", "#play"):
        page.click(button)
    until(page, "window.lab.run.number >= 4")
    assert page.evaluate("window.lab.player.playing") is True
    frames = page.evaluate("window.lab.run.frames.map((frame) => frame.frame)")
    assert frames == list(range(len(frames)))


def test_a_blink_shuts_the_eyes(page: Page) -> None:
    play_until(page, "window.lab.run.number >= 3")
    page.keyboard.down("b")
    until(page, "window.lab.run.moment.dark === true")
    page.keyboard.up("b")
    settled(page)
    assert page.evaluate("Math.max(...window.lab.run.moment.seen.data)") == 0
    page.keyboard.press(".")
    until(page, "window.lab.run.moment.dark === false")


def test_a_scene_travels_in_a_link(page: Page, address: str) -> None:
    page.click("[data-thing=screen]")
    page.click("#properties [aria-label=green]")
    page.click("#share")
    until(page, "location.hash.startsWith('#scene=')")
    link = page.evaluate("location.href")
    other = page.context.new_page()
    other.goto(link)
    until(other, "window.lab?.run.background !== null && window.lab !== undefined")
    assert other.evaluate("window.lab.scene.screen.colour") == "green"
    assert other.evaluate("JSON.stringify(window.lab.scene)") == page.evaluate("JSON.stringify(window.lab.scene)")
    other.goto("about:blank")
    other.goto(f"{address}#scene=bm90IGEgc2NlbmU")
    until(other, "window.lab?.run.background !== null && window.lab !== undefined")
    until(other, "!document.getElementById('notice').hidden")
    assert "usual scene" in other.inner_text("#notice")
    other.goto("about:blank")
    other.goto(f"{address}#scene=eyJtb3ZlcnMiOlt7InNoYXBlIjoiZHJhZ29uIn1dfQ")      # {"movers":[{"shape":"dragon"}]}
    until(other, "window.lab?.run.background !== null && window.lab !== undefined")
    until(other, "!document.getElementById('notice').hidden")
    assert "cannot be opened" in other.inner_text("#notice")
    play_until(other, "window.lab.run.number >= 2")


def test_a_film_is_uploaded_and_a_text_file_in_its_clothes_is_refused(page: Page, tmp_path: Path) -> None:
    write_film(tmp_path / "balls.mp4", make_clip("vanish-control", 7, samples=1, size=(80, 120)).frames[:30], fps=25)
    page.set_input_files("#film", tmp_path / "balls.mp4")
    until(page, "window.lab.clip !== null && window.lab.run.number >= 4")
    assert "balls.mp4: 10 frames" in page.inner_text("#upload-state")
    (tmp_path / "letter.mp4").write_text("Dear lab, I am not a film.")
    page.set_input_files("#film", tmp_path / "letter.mp4")
    until(page, "!document.getElementById('notice').hidden")
    assert "not a film" in page.inner_text("#notice")
    page.select_option("#example", "crossing")
    until(page, "window.lab.scene !== null && window.lab.run.background !== null")
    play_until(page, "window.lab.run.number >= 2")
    assert page.evaluate("window.lab.run.number") >= 2


def test_a_film_gets_a_verdict_and_a_rectangle_marks_what_hides(page: Page, tmp_path: Path) -> None:
    write_film(tmp_path / "discs.mp4", draw(make_film(3, frames=90, sliding=False)), fps=25)
    assert page.is_hidden("#standing") and page.is_visible("#impossible") and page.is_hidden("#verdict")
    page.set_input_files("#film", tmp_path / "discs.mp4")
    until(page, "window.lab.run.moment?.verdict !== undefined")
    assert page.inner_text("#verdict summary").startswith("This network was trained on")
    assert "The camera stands still." in (page.text_content("#verdict ul") or "")
    assert page.is_visible("#standing") and page.is_hidden("#impossible")
    page.click("#no-occluder")
    until(page, "window.lab.clip.occluder === 'none' && window.lab.run.number >= 1")
    settled(page)
    assert "background" in page.inner_text("#standing-state")
    page.click("#mark")
    box = page.locator("#world").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.9 * box["height"], steps=4)
    page.mouse.up()
    until(page, "Array.isArray(window.lab.clip.occluder) && window.lab.run.occluder && window.lab.run.number >= 1")
    top, left, bottom, right = page.evaluate("window.lab.clip.occluder")
    assert (top, left, bottom, right) == pytest.approx((0.1, 0.4, 0.9, 0.7), abs=0.01)
    assert page.input_value("#side-1") == "40" and "You marked 24 %" in page.inner_text("#standing-state")
    page.fill("#side-3", "20")                  # right of left no longer
    page.keyboard.press("Tab")
    assert "left before right" in page.inner_text("#notice")
    page.select_option("#example", "crossing")
    until(page, "document.getElementById('standing').hidden && !document.getElementById('editor').hidden")
    assert page.is_hidden("#verdict")


def test_an_error_goes_when_something_works_again(page: Page, tmp_path: Path) -> None:
    """A refused upload stayed above the film that was accepted after it."""
    (tmp_path / "notes.mp4").write_text("this is a text file, renamed")
    write_film(tmp_path / "film.mp4", make_clip("vanish-control", 7, samples=1, size=(80, 120)).frames[:20], fps=25)
    page.set_input_files("#film", tmp_path / "notes.mp4")
    until(page, "!document.getElementById('notice').hidden")
    page.set_input_files("#film", tmp_path / "film.mp4")
    until(page, "window.lab.run.frames.length > 1")
    assert page.is_hidden("#notice")


def test_the_last_mover_cannot_be_taken_away_and_the_page_says_why(page: Page) -> None:
    button = page.get_by_role("button", name="Take this mover away")
    assert button.is_disabled() and "a scene needs one" in page.inner_text("#properties")
    page.click("text=+ mover")
    assert button.is_enabled() and "a scene needs one" not in page.inner_text("#properties")


@pytest.mark.parametrize("link", ["scene=", "scene=%%%", "scene=abc$$$", "scene=bm90IGpzb24", "scene=e30"])
def test_a_link_that_cannot_be_read_is_told(browser: Browser, address: str, link: str) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{address}#{link}")
    until(page, "window.lab?.run.background !== null && window.lab !== undefined")
    until(page, "!document.getElementById('notice').hidden")
    assert "scene in this link cannot be read" in page.inner_text("#notice")
    page.context.close()


def test_a_tab_too_many_is_told_the_reason(page: Page, browser: Browser, address: str) -> None:
    contexts = [browser.new_context() for _ in range(8)]
    pages = [context.new_page() for context in contexts]
    for tab in pages[:-1]:
        tab.goto(address)
        until(tab, "window.lab?.run.background !== null && window.lab !== undefined")
    pages[-1].goto(address)
    until(pages[-1], "!document.getElementById('notice').hidden")
    pages[-1].wait_for_timeout(300)             # the connection is closed after the reason was given
    assert "8 tabs are using the lab already" in pages[-1].inner_text("#notice")
    for context in contexts:
        context.close()


def test_the_page_says_when_something_is_believed_that_is_not_there(page: Page) -> None:
    page.click("#play")
    until(page, "window.lab.run.frames.length > 3")
    page.click("#play")
    settled(page)
    for phantom in (True, False):
        page.evaluate("""(phantom) => {
            const { run, mind } = window.lab;
            Object.assign(run.moment.slots[0], { bound: true, phantom });
            mind.describe(run.moment);
        }""", phantom)
        assert page.is_visible("#phantom") is phantom
        if phantom:
            assert page.inner_text("#phantom") == "believes in something that is not there: 1"


def test_everything_has_a_name_for_those_who_listen(page: Page) -> None:
    play_until(page, "window.lab.run.number >= 3")
    nameless = page.evaluate("""() => [...document.querySelectorAll('button, select, input, canvas')].filter((node) =>
        !(node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length || node.title)
    ).map((node) => node.outerHTML.slice(0, 80))""")
    assert nameless == []
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_is_wider_than_a_small_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    play_until(page, "window.lab.run.number >= 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_server_that_goes_away_is_told_and_comes_back(page: Page) -> None:
    play_until(page, "window.lab.run.number >= 2")
    page.evaluate("window.lab.connection.socket.close()")
    until(page, "!document.getElementById('notice').hidden")
    assert "connection" in page.inner_text("#notice")
    page.click("#notice button")
    until(page, "window.lab.run.background !== null && document.getElementById('notice').hidden")
    play_until(page, "window.lab.run.number >= 2")


@needs_weights
def test_the_belief_moves_on_while_the_ball_is_hidden(page: Page) -> None:
    play_until(page, HIDDEN)
    assert page.evaluate(HIDDEN)
    first = pixels(page, "believes")
    frame = page.evaluate("window.lab.run.number")
    play_until(page, f"window.lab.run.number >= {frame + 5}")
    assert page.evaluate(HIDDEN), "the ball should be hidden for longer than five frames"
    assert share_changed(first, pixels(page, "believes")) > 0.01
    held: Any = page.evaluate(
        "window.lab.run.moment.slots.filter((slot, k) => slot.bound && k !== window.lab.run.moment.screen).length")
    assert held >= 1


@needs_weights
def test_a_flipped_bit_and_a_moved_slot_change_the_imagination(page: Page) -> None:
    play_until(page, "window.lab.run.number >= 14")
    before = pixels(page, "believes")
    page.evaluate("""() => { const moment = window.lab.run.moment;
        const k = moment.slots.findIndex((slot, k) => slot.bound && k !== moment.screen);
        const old = moment.slots[k].position; window.lab.codes.move(k, [old[0], -Math.sign(old[1] || 1) * .6]); }""")
    until(page, "!window.lab.codes.imagining")
    moved = pixels(page, "believes")
    assert share_changed(before, moved) > 0.01
    page.locator(".slot:not(.empty) .bits button").first.click()
    until(page, "!window.lab.codes.imagining")
    assert page.locator("#edited").is_visible()
    page.click("#adopt")
    until(page, "document.getElementById('edited').hidden")
    page.keyboard.press(".")
    settled(page)
    assert not page.locator("#notice").is_visible()


@needs_weights
def test_a_vanished_ball_surprises_more_than_anything_in_the_control(page: Page) -> None:
    page.select_option("#speed", "2")
    play_until(page, "window.lab.run.ended")
    page.click("#restart")
    until(page, "window.lab.run.frames.length === 0 && window.lab.run.background !== null")
    play_until(page, HIDDEN)
    page.click("#now")
    play_until(page, "window.lab.run.ended")
    peak, before = (float(page.get_attribute("#peaks", f"data-{name}") or "nan") for name in ("peak", "before"))
    assert peak > before > 0
