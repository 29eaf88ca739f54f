"""`loci lab`: a page in the browser in which one hides, moves and removes things and sees what the network believes."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import tyro

from loci_looped.configs.scenes import LAB_NETWORKS, LabWorldName
from loci_looped.utils.errors import LociError


@dataclass(frozen=True)
class Arguments:
    """Serve the lab on this machine; open the address it prints. Stop it with Ctrl-C."""

    network: str = ""
    """A shipped network, or the folder of a network or of a training run; without it the world's: adept-learnt,
    balls-small or clevrer-small."""
    world: LabWorldName = "vanish"
    """What is in the scenes: vanish has a screen and movers, balls a box of bouncing balls, collide a table on which
    things bump into each other."""
    port: int = 8642
    """0 takes any free one."""
    host: str = "127.0.0.1"
    """Where to listen. Anything but 127.0.0.1 lets others on your network use the lab."""
    allow_host: tuple[str, ...] = ()
    """Further names under which the page may be opened, such as my-machine.local."""
    sessions: int = 8
    """Browser tabs that may run at the same time."""
    workers: int = 1
    """Networks that may think at the same time; each takes one core."""


def main(argv: list[str]) -> int:
    arguments = tyro.cli(Arguments, args=argv, prog="loci lab")
    if not 1 <= arguments.sessions <= 1000 or not 1 <= arguments.workers <= 64:
        raise LociError("The lab needs between 1 and 1000 sessions and between 1 and 64 workers.")
    try:
        import starlette  # noqa: F401
        import uvicorn
        import websockets  # noqa: F401
    except ImportError as error:
        raise LociError(f"The lab needs {error.name}: pip install 'loci-looped[app]'.") from error
    listener = listen(arguments.host, arguments.port)

    import torch

    from loci_looped.app.server import create_app
    from loci_looped.app.settings import Settings
    from loci_looped.inference.networks import load, shipped_networks, trained_on

    torch.set_num_threads(1)            # workers are threads already
    port = listener.getsockname()[1]
    settings = Settings(
        host=arguments.host, port=port, extra_hosts=arguments.allow_host, sessions=arguments.sessions,
        workers=arguments.workers,
    )
    network = arguments.network or LAB_NETWORKS[arguments.world]
    if not arguments.network and network not in shipped_networks():
        raise LociError(
            f"No network of the world {arguments.world} is shipped yet. Train one with loci train {network}, then open "
            f"loci lab --world {arguments.world} --network runs/{network}-seed0."
        )
    app = create_app(load(network), settings, network, trained_on(network), arguments.world)
    shown = "127.0.0.1" if arguments.host in ("0.0.0.0", "::") else arguments.host
    address = f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"
    print(f"The lab is open at {address}  (Ctrl-C closes it)", flush=True)
    config = uvicorn.Config(
        app, log_level="warning", ws="websockets-sansio", ws_max_size=settings.message_bytes,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listener])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or a sentence about the port."""
    if not 0 <= port <= 65535:
        raise LociError(f"A port is a number from 0 to 65535, not {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise LociError(f"{host!r} is not an address of this machine; without --host it is 127.0.0.1.") from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise LociError(
            f"Port {port} on {host} cannot be used ({error.strerror}). Is another lab open? "
            f"Give another one with --port {min(65535, port + 1)}, or --port 0 for any."
        ) from error
    return listener
