"""The report in a real browser: no errors, no requests, nothing wider than a phone, a film that plays."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import material
import pytest
import torch

from loci_looped.cli.main import main
from loci_looped.configs.presets import preset
from loci_looped.inference.networks import save_network
from loci_looped.model import LociLooped

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
pytest.importorskip("playwright", reason="the package playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; apt-get install chromium")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of everything, with films of a tiny untrained network."""
    folder = tmp_path_factory.mktemp("report")
    torch.manual_seed(0)
    tiny = LociLooped(dataclasses.replace(preset("adept-small"), slots=3, gestalt=8, latent=(4, 6)))
    network = save_network(folder / "tiny", tiny)
    for results in material.everything():
        results.write(folder / "results" / f"{results.experiment}.json")
    run = material.make_run(folder / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCI_CACHE", str(folder / "cache"))
        out = folder / "report.html"
        assert main(["report", str(folder / "results"), str(run), str(network), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_opens_without_errors_and_without_a_network(browser: Browser, report: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)    # type: ignore[arg-type]
    page = context.new_page()
    diagnose: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: diagnose.append(message.text))
    page.on("pageerror", lambda error: diagnose.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_function("[...document.querySelectorAll('video')].every(film => film.readyState >= 2)")
    assert diagnose == []
    assert [address for address in requests if not address.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width       # only tables and strips scroll, inside
    films = page.evaluate("[...document.querySelectorAll('video')].map(film => [film.duration, film.videoWidth])")
    assert len(films) == 2 and all(duration > 5 and across > 100 for duration, across in films)
    assert page.evaluate("[...document.images].every(picture => picture.complete && picture.naturalWidth > 0)")
    paper, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    bright = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (paper, ink)]
    assert (bright[0] > bright[1]) == (scheme == "light")
    context.close()


def test_pointing_at_a_chart_reads_its_values(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report.as_uri())
    chart = page.locator("#tracking figure.chart svg").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + box["height"] / 2)
    told = page.locator("#tracking figure.chart .readout").first.inner_text()
    assert told.startswith("frame ") and "small-one, gate learned" in told
    page.mouse.move(0, 0)
    assert page.locator("#tracking figure.chart .readout").first.inner_text() == ""
    page.close()


def test_the_film_plays(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 900})
    page.goto(report.as_uri())
    page.evaluate("document.querySelector('video').play()")
    page.wait_for_function("document.querySelector('video').currentTime > 0.2")
    page.close()
