"""Many tabs at once: N sessions play for a minute on loopback; the server runs in a process of its own.

    OMP_NUM_THREADS=1 python benchmarks/lab_load.py                 # 8 sessions, 60 s
    OMP_NUM_THREADS=1 python benchmarks/lab_load.py --sessions 4 --seconds 20 --workers 2

Every session opens scenes, plays, blinks, changes the scene while it runs, asks for other codes and starts again. Two
more than allowed knock at the door and must be told so. Exits with 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from websockets.asyncio.client import ClientConnection, connect

from loci_looped.app.wire import unpack
from loci_looped.inference.networks import save_network, shipped_networks
from loci_looped.model.loci import LociLooped


@dataclass
class Tally:
    frames: int = 0
    waits: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def ask(socket: ClientConnection, tally: Tally, **request: Any) -> dict[str, Any]:
    await socket.send(json.dumps(request))
    message = await socket.recv()
    assert isinstance(message, bytes)
    header, _ = unpack(message)
    if header["type"] == "error":
        tally.errors.append(f"{request['type']}: {header['words']}")
    return header


async def tab(address: str, facts: dict[str, Any], number: int, end: float) -> Tally:
    tally, chance = Tally(), random.Random(number)
    origin = f"http://{address}"
    async with connect(f"ws://{address}/api/session", origin=origin, max_size=None) as socket:      # type: ignore[arg-type]
        while time.monotonic() < end:
            scene = json.loads(json.dumps(facts["opening"]))
            scene["movers"][0]["velocity"][1] = chance.uniform(0.7, 1.4)
            await ask(socket, tally, type="preview", scene=scene, frame=30)
            await ask(socket, tally, type="open", scene=scene)
            while time.monotonic() < end:
                begin = time.monotonic()
                told = await ask(socket, tally, type="next", blackout=chance.random() < 0.05)
                if told["type"] != "frame":
                    break
                tally.frames += 1
                tally.waits.append(time.monotonic() - begin)
                if chance.random() < 0.05:
                    scene["screen"]["y"] = chance.uniform(-1, 1)
                    await ask(socket, tally, type="change", scene=scene)
                if chance.random() < 0.05:
                    await ask(socket, tally, type="decode", slots=told["slots"])
    return tally


async def knock(address: str) -> str:
    async with connect(f"ws://{address}/api/session", origin=f"http://{address}") as socket:      # type: ignore[arg-type]
        message = await socket.recv()
        assert isinstance(message, bytes)
        return str(unpack(message)[0]["words"])


def megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def facts_of(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{address}/api/facts") as answer:
        facts: dict[str, Any] = json.load(answer)
    return facts


async def load_test(address: str, process: int, sessions: int, seconds: float) -> int:
    facts, before = facts_of(address), megabytes(process)
    end = time.monotonic() + seconds
    tabs = [asyncio.create_task(tab(address, facts, number, end)) for number in range(sessions)]
    memory = []
    await asyncio.sleep(min(5.0, seconds / 4))
    refusals = [await knock(address) for _ in range(2)]
    while time.monotonic() < end:
        memory.append(megabytes(process))
        await asyncio.sleep(1.0)
    tallies = await asyncio.gather(*tabs)
    await asyncio.sleep(1.0)
    left = facts_of(address)["open_sessions"]
    waits = sorted(wait for tally in tallies for wait in tally.waits)
    errors = [error for tally in tallies for error in tally.errors]
    frames = [tally.frames for tally in tallies]
    print(f"{sessions} sessions, {seconds:g} s: {sum(frames)} frames, {sum(frames) / seconds:.1f} per second in all,")
    print(f"  per session {min(frames) / seconds:.1f} to {max(frames) / seconds:.1f} frames per second")
    print(f"  waiting for a frame: median {waits[len(waits) // 2] * 1e3:.0f} ms, 95 % below "
          f"{waits[int(0.95 * len(waits))] * 1e3:.0f} ms, longest {waits[-1] * 1e3:.0f} ms")
    print(f"  memory of the server: {before:.0f} MB before, {memory[len(memory) // 3]:.0f} MB after a third, "
          f"{max(memory):.0f} MB at most, {megabytes(process):.0f} MB at the end")
    print(f"  errors: {len(errors)} {errors[:3]}; sessions left open: {left}")
    print(f"  tabs beyond the limit were told: {refusals[0]!r}")
    fine = not errors and left == 0 and all("tabs are using" in words for words in refusals)
    return 0 if fine else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        network = "adept-small"
        if network not in shipped_networks():
            torch.manual_seed(0)
            network = str(save_network(folder, LociLooped(network)))
        command = [sys.executable, "-m", "loci_looped.cli.main", "lab", "--port", "0", "--network", network,
                   "--sessions", str(arguments.sessions), "--workers", str(arguments.workers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split("http://")[1].split("/")[0]
            try:
                return asyncio.run(load_test(address, server.pid, arguments.sessions, arguments.seconds))
            finally:
                server.terminate()


if __name__ == "__main__":
    sys.exit(main())
