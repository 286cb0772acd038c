"""The repository itself, users, collaborators, the rate limit."""

from __future__ import annotations

from liger_perf.localhub.actors import Needs
from liger_perf.localhub.refused import forbidden, not_found, unauthenticated
from liger_perf.localhub.render.people import permission, public_user
from liger_perf.localhub.render.repository import full_repository
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.world import World

LIMIT = 1000  # requests an hour, for a job's token in one repository
RESET = 4_102_444_800  # far away: no test hangs on it


@route("GET", "")
def get_repository(ask: Ask) -> Answer:
    """The repository, with what the reader may."""
    return Answer(200, full_repository(ask.world, ask.world.live(ask.actor.user) if ask.actor else None))


@route("GET", "/user", outside=True)
def get_me(ask: Ask) -> Answer:
    """Whose token it is; a job's token may not ask."""
    if ask.actor is None:
        raise unauthenticated()
    if ask.actor.kind != "person":
        raise forbidden("Resource not accessible by integration")
    return Answer(200, public_user(ask.world.links, ask.actor.user))


@route("GET", "/users/{username}", outside=True)
def get_user(ask: Ask) -> Answer:
    """Anybody."""
    return Answer(200, public_user(ask.world.links, ask.world.state.user(ask.values["username"])))


@route("GET", "/collaborators/{username}", Needs(role="read"))
def is_collaborator(ask: Ask) -> Answer:
    """204 or 404."""
    if ask.world.state.user(ask.values["username"]).role is None:
        raise not_found()
    return Answer(204)


@route("GET", "/collaborators/{username}/permission", Needs(role="read"))
def get_permission(ask: Ask) -> Answer:
    """What a user may. Who is no collaborator may read a public repository, and nothing of a private one."""
    user = ask.world.state.user(ask.values["username"])
    shown = permission(ask.world.links, user)
    if user.role is None and ask.world.private:
        shown |= {"permission": "none", "role_name": ""}
    return Answer(200, shown)


@route("GET", "/rate_limit", outside=True)
def get_rate_limit(ask: Ask) -> Answer:
    """What is left this hour; asking costs nothing on GitHub."""
    core, search = _rate(LIMIT, len(ask.world.log)), _rate(30, 0)
    return Answer(200, {"resources": {"core": core, "search": search}, "rate": core})


def _rate(limit: int, asked: int) -> dict[str, int]:
    """The hub counts but enforces nothing, so one request is always left: clients stop by themselves at none."""
    used = min(asked, limit - 1)
    return {"limit": limit, "remaining": limit - used, "used": used, "reset": RESET}


def rate_headers(world: World) -> dict[str, str]:
    """The headers that GitHub adds to every answer."""
    rate = _rate(LIMIT, len(world.log))
    return {f"X-RateLimit-{name.capitalize()}": str(value) for name, value in rate.items()}
