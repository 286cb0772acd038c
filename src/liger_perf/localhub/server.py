"""The hub on a port of the loopback, for as long as a `with` block lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from werkzeug.serving import WSGIRequestHandler, make_server

from liger_perf.localhub.app import App
from liger_perf.localhub.world import World

HOST = "127.0.0.1"
CLOSING = 10.0


class _Handler(WSGIRequestHandler):
    timeout = 60  # a client that says nothing does not hold a thread for ever

    def log(self, type: str, message: str, *args: object) -> None:
        """Say nothing: the hub keeps its own log."""


@contextmanager
def serve(world: World, *, port: int = 0, check: bool = True) -> Iterator[str]:
    """Serve until the block ends; yields the base URL, which PyGithub, gidgethub and git take as it is.

    Args:
        port: 0 lets the system choose.
        check: raise at the end what broke the contract; a test of the hub itself looks at `violations` instead.

    Raises:
        ContractBroken: a request or an answer was not as GitHub describes it.
    """
    server = make_server(HOST, port, App(world), threaded=True, request_handler=_Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="localhub", daemon=True)
    world.base_url = f"http://{HOST}:{server.server_port}"
    thread.start()
    try:
        yield world.base_url
    finally:
        server.shutdown()
        server.server_close()
        thread.join(CLOSING)
    if check:
        world.check()
