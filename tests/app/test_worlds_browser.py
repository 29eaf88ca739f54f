"""Balls and tables in a real browser: things are taken hold of, lights go out, the network dreams on."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch

from loci_looped.app.server import create_app
from loci_looped.app.settings import Settings
from loci_looped.cli.lab import listen
from loci_looped.configs.scenes import LAB_NETWORKS, LabWorldName
from loci_looped.inference.networks import load, shipped_networks
from loci_looped.model.loci import LociLooped

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]

pytest.importorskip("playwright", reason="the package playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt-get install chromium")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def lab_of(world: LabWorldName, chromium: Browser) -> Iterator[Page]:
    """The lab of a world on a free port; whatever the browser complains about fails the test."""
    import uvicorn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    name = LAB_NETWORKS[world]
    network = load(name) if name in shipped_networks() else LociLooped(name).eval()
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app = create_app(network, Settings(port=port), name, world=world)
    config = uvicorn.Config(app, log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    context = chromium.new_context(viewport={"width": 1360, "height": 900})
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"http://127.0.0.1:{port}/")
    until(page, "window.lab?.run.background !== null && window.lab !== undefined")
    yield page
    context.close()
    server.should_exit = True
    thread.join(10)
    assert errors == []


@pytest.fixture
def balls(chromium: Browser) -> Iterator[Page]:
    yield from lab_of("balls", chromium)


@pytest.fixture
def table(chromium: Browser) -> Iterator[Page]:
    yield from lab_of("collide", chromium)


def until(page: Page, condition: str, seconds: float = 120.0) -> None:
    """Wait for a condition in the page, which forbids eval."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"waited {seconds} s in vain for {condition}"
        page.wait_for_timeout(50)


def settled(page: Page) -> None:
    """Wait until everything that was asked for has happened."""
    page.evaluate("window.lab.player.lane.then(() => true)")


def step(page: Page, count: int) -> None:
    for _ in range(count):
        page.evaluate("window.lab.player.step(window.lab.eyes.dark)")
    settled(page)


def drag(page: Page, start: tuple[float, float], by: tuple[float, float]) -> None:
    """In shares of the world's picture."""
    box = page.locator("#world").bounding_box()
    assert box is not None
    x, y = box["x"] + start[0] * box["width"], box["y"] + start[1] * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0] * box["width"], y + by[1] * box["height"], steps=4)
    page.mouse.up()
    until(page, "!window.lab.changes.sending")


def test_a_ball_is_dragged_and_pushed_while_the_film_stands(balls: Page) -> None:
    step(balls, 4)
    x, y = balls.evaluate("window.lab.run.moment.things[2].place")
    drag(balls, (x / 64, y / 64), (-0.15, 0.05))
    moved = balls.evaluate("window.lab.scene.things[2].place")
    assert moved[0] < x - 5 and balls.evaluate("window.lab.scene.since") == 3
    balls.fill("#properties input[type=range] >> nth=0", "4")           # its speed
    until(balls, "!window.lab.changes.sending")
    step(balls, 1)
    place, velocity = balls.evaluate(
        "[window.lab.run.moment.things[2].place, window.lab.run.moment.things[2].velocity]")
    assert abs(place[0] - moved[0]) < 6
    assert (velocity[0] ** 2 + velocity[1] ** 2) ** 0.5 == pytest.approx(4, abs=0.1)


def test_eyes_stay_shut_until_the_dream_is_over(balls: Page) -> None:
    step(balls, 6)
    balls.click("#dream")
    until(balls, "window.lab.run.frames.length >= 9")
    balls.click("#play")
    settled(balls)
    gates = balls.evaluate("window.lab.run.moment.slots.map((slot) => slot.gate[1])")
    assert all(gate == 0 for gate in gates)
    assert balls.evaluate("window.lab.run.moment.seen.data.every((value) => value === 0)")
    assert balls.get_attribute("#dream", "aria-pressed") == "true"
    balls.click("#dream")
    step(balls, 1)
    assert not balls.evaluate("window.lab.run.moment.seen.data.every((value) => value === 0)")


def test_lights_out_and_dreams_exclude_each_other(balls: Page) -> None:
    balls.click("#dark")
    balls.click("#dream")
    assert balls.get_attribute("#dark", "aria-pressed") == "false"
    balls.keyboard.press("l")
    assert balls.get_attribute("#dark", "aria-pressed") == "true"
    assert balls.get_attribute("#dream", "aria-pressed") == "false"


def test_a_ball_is_added_only_while_slots_are_left(balls: Page) -> None:
    assert balls.locator("text=+ ball").count() == 0
    balls.click("text=Take this ball away")
    until(balls, "window.lab.scene.things.length === 2")
    balls.click("text=+ ball")
    assert balls.evaluate("window.lab.scene.things.length") == 3


def test_a_thing_of_the_table_gets_another_look_and_way(table: Page) -> None:
    step(table, 2)
    table.click("[data-thing='1']")
    table.select_option("#properties select >> nth=0", "cube")
    until(table, "!window.lab.changes.sending")
    assert table.evaluate("window.lab.scene.things[1].shape") == "cube"
    assert table.evaluate("window.lab.scene.things[1].waits") > 0       # it has not been set off yet
    table.click("#dark")
    until(table, "window.lab.run.frames.length >= 4")
    table.click("#play")
    settled(table)
    assert table.evaluate("window.lab.run.moment.seen.data.every((value) => value === 0)")
    assert table.evaluate("window.lab.run.moment.screen") is None


def test_a_link_to_a_scene_of_balls_opens_it_again(balls: Page) -> None:
    balls.click("[data-thing='1']")
    balls.click("#properties [aria-label=red]")
    balls.click("#share")
    until(balls, "location.hash.startsWith('#scene=')")
    balls.reload()
    until(balls, "window.lab?.run.background !== null && window.lab !== undefined")
    assert balls.evaluate("window.lab.scene.things[1].colour") == "red"
