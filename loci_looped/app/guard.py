"""The door: only pages that come from this server may talk to it, and pages may load nothing from elsewhere.

A name that resolves to 127.0.0.1 is enough for any web page to reach a local server (DNS rebinding), so the Host header
is checked; and any page may open a WebSocket to anywhere, so the Origin header is checked as well.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = ("GET", "HEAD")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
FOREIGN_HOST = "This address is not the lab's own. Open it under the address that `loci lab` printed."
FOREIGN_ORIGIN = "Another web site asked for this; the lab only answers its own page."


def host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    return host.rsplit(":", 1)[0].lower() if host.rsplit(":", 1)[-1].isdigit() else host.lower()


def same_origin(origin: str, host: str) -> bool:
    """Does the page that asks come from the server it asks?"""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


class Guard:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]):
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = self.refusal(Headers(scope=scope), scope["type"], scope.get("method", "GET"))
        if refusal is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})
        else:
            await JSONResponse({"error": refusal}, status_code=403)(scope, receive, _with_headers(send))

    def refusal(self, headers: Headers, kind: str, method: str) -> str | None:
        """Why the request is turned away; None if it may pass."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host_name(host) not in self.hosts:
            return FOREIGN_HOST
        if origin is not None and not same_origin(origin, host):
            return FOREIGN_ORIGIN
        # A browser always names the origin of a WebSocket or of something it sends; whatever does not is not our page.
        if origin is None and (kind == "websocket" or method not in SAFE_METHODS):
            return FOREIGN_ORIGIN
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
