"""The lab's server: a page, a few facts for it, uploads, and one WebSocket session per tab."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from loci_looped.app.clips import ClipStore
from loci_looped.app.guard import Guard
from loci_looped.app.scenes import limits
from loci_looped.app.session import Session
from loci_looped.app.settings import Settings
from loci_looped.app.wire import pack, read_request
from loci_looped.app.worlds import world_called
from loci_looped.configs.scenes import LabWorldName
from loci_looped.model.loci import LociLooped
from loci_looped.utils.errors import LociError
from loci_looped.viz.colours import css, hexadecimal, slot_colour, slot_name

STATIC = Path(__file__).with_name("static")
FULL = 4001             # WebSocket close codes of our own
IDLE = 4002
log = logging.getLogger("loci.lab")


class Lab:
    """What all tabs share: the network, the films, the workers, and the count of open sessions."""

    def __init__(
        self, model: LociLooped, settings: Settings, name: str, trained_on: str, world: LabWorldName = "vanish"
    ):
        self.model = model.eval()
        self.scenes = world_called(world, model.config.frame, model.config.slots, settings)
        self.settings = settings
        self.name = name
        self.trained_on = trained_on
        self.clips = ClipStore(settings, model.config.frame)
        self.workers = ThreadPoolExecutor(settings.workers, thread_name_prefix="lab")
        self.open_sessions = 0

    def facts(self) -> dict[str, Any]:
        config = self.model.config
        return {
            **self.scenes.facts(), "limits": limits(self.settings), "world": self.scenes.name,
            "network": self.name, "size": list(config.frame), "slots": config.slots,
            "gestalt": config.gestalt,
            "slot_colours": [hexadecimal(slot_colour(slot)) for slot in range(config.slots)],
            "slot_names": [slot_name(slot) for slot in range(config.slots)],
        }


def create_app(
    model: LociLooped, settings: Settings, name: str = "a network", trained_on: str = "other films",
    world: LabWorldName = "vanish",
) -> Starlette:
    """The application; `loci lab` serves it with uvicorn."""
    lab = Lab(model, settings, name, trained_on, world)

    async def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def palette(request: Request) -> Response:
        return Response(css(), media_type="text/css")

    async def facts(request: Request) -> Response:
        return JSONResponse({**lab.facts(), "open_sessions": lab.open_sessions})

    async def scene(request: Request) -> Response:
        seed = request.query_params.get("seed", "0")
        if not (seed.isdecimal() and len(seed) < 9):
            return _wrong("A seed is a whole number from 0 to 99999999.")
        try:
            found = await asyncio.to_thread(lab.scenes.example, request.query_params.get("name", ""), int(seed))
            return JSONResponse(found)
        except LociError as error:
            return _wrong(str(error))

    async def upload(request: Request) -> Response:
        announced = request.headers.get("content-length", "")
        try:
            key, clip = await lab.clips.receive(
                request.query_params.get("name", ""), request.stream(),
                int(announced) if announced.isdecimal() else None,
            )
        except LociError as error:
            return _wrong(str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        return JSONResponse({
            "clip": key, "name": clip.name, "frames": clip.length, "fps": clip.fps, "notes": list(clip.notes),
        })

    async def session(socket: WebSocket) -> None:
        await _serve(socket, lab)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        lab.workers.shutdown(wait=False, cancel_futures=True)

    app = Starlette(
        routes=[
            Route("/", page), Route("/api/facts", facts), Route("/api/scene", scene),
            Route("/api/clips", upload, methods=["POST"]), WebSocketRoute("/api/session", session),
            Route("/static/palette.css", palette), Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=settings.hosts)],
        lifespan=lifespan,
    )
    app.state.lab = lab
    return app


def _wrong(words: str) -> Response:
    return JSONResponse({"error": words}, status_code=400)


async def _serve(socket: WebSocket, lab: Lab) -> None:
    """One tab from its coming to its going."""
    await socket.accept()
    if lab.open_sessions >= lab.settings.sessions:
        words = (
            f"{lab.settings.sessions} tabs are using the lab already. Close one of them, then press Play here; "
            "`loci lab --sessions` allows more."
        )
        await socket.send_bytes(pack({"type": "error", "words": words}))
        await socket.close(FULL, "full")
        return
    lab.open_sessions += 1
    session = Session(lab.model, lab.settings, lab.clips.find, lab.trained_on, lab.scenes)
    try:
        await _converse(socket, session, lab)
    except WebSocketDisconnect:
        pass
    finally:
        lab.open_sessions -= 1


async def _converse(socket: WebSocket, session: Session, lab: Lab) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            message = await asyncio.wait_for(socket.receive(), lab.settings.idle_seconds)
        except TimeoutError:
            await socket.close(IDLE, "idle")
            return
        if message["type"] == "websocket.disconnect":
            return
        request: dict[str, Any] = {}
        try:
            request = read_request(message.get("text") or "")
            reply = await loop.run_in_executor(lab.workers, session.answer, request)
        except (LociError, ValueError) as error:
            reply = pack({"type": "error", "words": str(error)})
        except Exception:           # a fault of ours must not take the other tabs along
            log.exception("a request failed: %s", request.get("type"))
            reply = pack({"type": "error", "words": "Something went wrong inside the lab; its log tells what."})
        await socket.send_bytes(reply)
