"""Takes the pictures of the lab in this folder, with the shipped network: desktop, dark, phone.

    python docs/lab/take_screenshots.py                     # needs Chromium and the package playwright
    python docs/lab/take_screenshots.py --network RUN --out /tmp
    python docs/lab/take_screenshots.py --film FILM --out /tmp      # the verdict on a film, and a rectangle drawn on it
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
HIDDEN = "(window.lab.run.moment?.truth ?? []).some((it) => it.kind === 'mover' && it.whole > 20 && it.visible === 0)"
OVER = "window.lab.run.ended"


def until(page: Page, condition: str, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain for {condition}")
        page.wait_for_timeout(50)


def play_until(page: Page, condition: str, more: int = 0) -> None:
    """Play until something is so, and some frames more."""
    page.keyboard.press("Space")
    until(page, f"({condition}) || !window.lab.player.playing")
    if more:
        frame = page.evaluate("window.lab.run.number")
        until(page, f"window.lab.run.number >= {frame + more} || !window.lab.player.playing")
    if page.evaluate("window.lab.player.playing"):
        page.keyboard.press("Space")
    page.evaluate("window.lab.player.lane.then(() => true)")
    page.wait_for_timeout(400)


def mark(page: Page, film: Path) -> None:
    """Open a film, watch some of it, and draw a rectangle where something may stand."""
    page.set_input_files("#film", film)
    until(page, "window.lab.run.moment?.verdict !== undefined")
    page.click("#mark")
    page.locator("#world").scroll_into_view_if_needed()
    box = page.locator("#world").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.65 * box["width"], box["y"] + 0.95 * box["height"], steps=4)
    page.mouse.up()
    until(page, "Array.isArray(window.lab.clip.occluder) && window.lab.run.occluder && window.lab.run.number >= 12")
    page.click("#verdict summary")
    if page.evaluate("window.lab.player.playing"):
        page.keyboard.press("Space")
    page.wait_for_timeout(400)


def take(address: str, out: Path, film: Path | None) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        for name, size, scheme, sharp in (
            ("desktop", (1360, 1000), "light", 1), ("dark", (1360, 1000), "dark", 1), ("phone", (390, 844), "light", 2),
        ):
            page = browser.new_context(
                viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light",
                device_scale_factor=sharp, has_touch=sharp > 1,
            ).new_page()
            page.goto(address)
            until(page, "window.lab?.run.background !== null && window.lab !== undefined")
            if film is not None:
                mark(page, film)
                page.evaluate("document.activeElement?.blur(); window.scrollTo(0, 0)")
                page.screenshot(path=out / f"film-{name}.png", full_page=True)
                print(f"{out / f'film-{name}.png'}  {page.inner_text('#verdict summary')}")
                continue
            if name == "dark":          # after a control, the same scene with a ball that vanishes
                play_until(page, OVER)
                page.keyboard.press("r")
                play_until(page, HIDDEN, 2)
                page.keyboard.press("v")
                play_until(page, OVER)
            else:
                play_until(page, HIDDEN, 6)
            page.evaluate("document.activeElement?.blur(); window.scrollTo(0, 0)")
            page.screenshot(path=out / f"{name}.png")
            print(f"{out / name}.png  {page.inner_text('#mind-state')}; {page.inner_text('#peaks')}")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="adept-learnt")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--film", type=Path, help="open this film instead of a scene")
    arguments = parser.parse_args()
    command = [sys.executable, "-m", "loci_looped.cli.main", "lab", "--port", "0", "--network", arguments.network]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            take(server.stdout.readline().split("open at ")[1].split()[0], arguments.out, arguments.film)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
