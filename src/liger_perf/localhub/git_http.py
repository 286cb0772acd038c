"""Clone, fetch and push over HTTP: `git http-backend` behind the hub's own tokens."""

from __future__ import annotations

import subprocess
from urllib.parse import unquote

from werkzeug.wrappers import Request, Response

from liger_perf.localhub.actors import Actor, Needs, authorise
from liger_perf.localhub.deeds.refs import HEADS, moved
from liger_perf.localhub.gitstore import ABSENT, TIMEOUT, git_environment
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.world import World

READ = Needs(("contents",))
WRITE = Needs(("contents",), "write", role="write")
RECEIVE = "git-receive-pack"
SERVICES = ("/info/refs", "/git-upload-pack", f"/{RECEIVE}")


def serves(world: World, path: str) -> bool:
    """Is it one of the paths that git asks for?"""
    return _service(world, path) is not None


def _service(world: World, path: str) -> str | None:
    """The part of the path after the repository; GitHub takes its name with and without `.git`."""
    name = f"/{world.full_name}"
    rest = unquote(path).removeprefix(name)
    rest = rest.removeprefix(".git")
    return rest if path.startswith(name) and rest in SERVICES else None


def answer(world: World, request: Request) -> Response:
    """What git's own server answers, and for a push what follows from it."""
    pushing = RECEIVE in (request.args.get("service"), request.path.rsplit("/", 1)[1])
    try:
        actor = world.tokens.actor(request.headers.get("Authorization"))
        user = world.live(actor.user) if actor else None
        if world.private and user is None:
            raise Refused(401, "Requires authentication")
        authorise(actor, WRITE if pushing else READ, user)
    except Refused as refusal:
        headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if refusal.status == 401 else {}
        return Response(f"{refusal.message}\n", refusal.status, headers, content_type="text/plain")
    before = world.git.refs(HEADS)
    response = _backend(world, request, actor)
    if pushing and actor is not None:
        _follow(world, actor, before)
    return response


def _follow(world: World, actor: Actor, before: dict[str, str]) -> None:
    after = world.git.refs(HEADS)
    for name in sorted(before.keys() | after.keys()):
        moved(world, actor, name, before.get(name, ABSENT), after.get(name, ABSENT))


def _backend(world: World, request: Request, actor: Actor | None) -> Response:
    """Run the CGI program on the bare repository."""
    service = _service(world, request.path)
    body = request.get_data()
    variables = {
        "GIT_PROJECT_ROOT": str(world.git.folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": str(service),
        "QUERY_STRING": request.query_string.decode(),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.content_type or "",
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": actor.user.login if actor else "",
        "REMOTE_ADDR": "127.0.0.1",
    }
    done = subprocess.run(
        ["git", "http-backend"],
        input=body,
        capture_output=True,
        env=git_environment(variables),
        timeout=TIMEOUT,
        check=False,
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode(errors="replace").split("\r\n") if ": " in line)
    status = headers.pop("Status", "200 OK" if done.returncode == 0 else "500 Internal Server Error")
    return Response(content, status, headers)
