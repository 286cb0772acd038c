"""The hub as a WSGI application: every request is checked, carried out and logged, every answer checked too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Request, Response

from liger_perf.localhub import git_http
from liger_perf.localhub.actors import Actor, authorise
from liger_perf.localhub.contract import JSON, Call, error_body_error
from liger_perf.localhub.faults import Fault
from liger_perf.localhub.refused import Refused, forbidden, not_found
from liger_perf.localhub.repairs import as_described
from liger_perf.localhub.routes import accounts, actions, comments, contents, issues, objects, pulls, refs
from liger_perf.localhub.routes.registry import Answer, Ask, Route, find
from liger_perf.localhub.world import Logged, World

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

OPERATIONS = (accounts, actions, comments, contents, issues, objects, pulls, refs)  # importing declares their routes
BODY_LIMIT = 64 * 2**20


@dataclass
class Exchange:
    """One request on its way: what is known of it so far, and what is answered."""

    method: str
    path: str
    query: str
    answer: Answer
    actor: Actor | None = None
    call: Call | None = None
    valid: bool = True


class App:
    """The WSGI application of one world. One request at a time: the state is never seen half changed."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = BODY_LIMIT
        with self.world.lock:
            response = self._respond(request)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        path = str(request.environ.get("REQUEST_URI", request.path)).partition("?")[0]
        query = request.query_string.decode()
        fault = self.world.faults.strike(request.method, path, query)
        if fault is not None and fault.kind == "instead":
            return self._faulty(request, path, query, fault)
        if git_http.serves(self.world, path):
            response = git_http.answer(self.world, request)
            self._log(request.method, path, query, response.status_code, False)
            return response
        exchange = self._exchange(request, path, query)
        if fault is not None and fault.kind == "after":
            return self._faulty(request, path, query, fault)
        response = self._send(exchange)
        if fault is not None:
            _truncate(response)
        return response

    def _exchange(self, request: Request, path: str, query: str) -> Exchange:
        """Carry the request out; a refusal is an answer like any other."""
        exchange = Exchange(request.method, path, query, Answer())
        try:
            exchange.actor = self.world.tokens.actor(request.headers.get("Authorization"))
            exchange.answer = self._carry_out(request, exchange)
        except Refused as refusal:
            exchange.answer = Answer(refusal.status, refusal.body, refusal.headers)
        except RequestEntityTooLarge:
            exchange.answer = Answer(413, Refused(413, "Payload Too Large").body)
        except Exception as error:  # a fault of the hub must fail the test, not only the request
            self._violated(exchange, "handler", f"{type(error).__name__}: {error}")
            exchange.answer = Answer(500, Refused(500, "localhub failed").body)
        return exchange

    def _carry_out(self, request: Request, exchange: Exchange) -> Answer:
        if "User-Agent" not in request.headers:
            raise forbidden(
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent."
            )
        route, values = self._route(exchange)
        for gate in self.world.gates:
            gate(exchange.actor, exchange.method, exchange.path)
        self._may_see(exchange.actor, values)
        user = self.world.live(exchange.actor.user) if exchange.actor else None
        authorise(exchange.actor, route.needs, user)
        body = as_described(route.template, _parse(request.get_data()))
        raw = json.dumps(body).encode() if body is not None else b""
        exchange.call = Call(request.method, route.template, values, exchange.query, raw, dict(request.headers))
        error = self.world.contract.request_error(exchange.call)
        if error is not None:
            self._violated(exchange, "request", error)
            raise Refused(422, f"Invalid request.\n\n{error}")
        first = {name: request.args[name] for name in request.args}
        url = self.world.links.api(exchange.path)
        ask = Ask(self.world, exchange.actor, values, first, {} if body is None else body, url)
        try:
            return route.handler(ask)
        finally:
            for witness in self.world.witnesses:
                witness(exchange.actor, exchange.method, exchange.path)

    def _route(self, exchange: Exchange) -> tuple[Route, dict[str, str]]:
        hit = find(exchange.method, exchange.path)
        if hit is None or not self.world.contract.describes(hit[0].verb, hit[0].template):
            self._violated(exchange, "request", "the hub has no such operation")
            raise not_found()
        return hit

    def _may_see(self, actor: Actor | None, values: Mapping[str, str]) -> None:
        """There is one repository; a private one does not exist for those who may not read it."""
        if "owner" not in values:
            return
        if f"{values['owner']}/{values['repo']}".lower() != self.world.full_name.lower():
            raise not_found()
        known = actor is not None and (actor.kind != "person" or self.world.live(actor.user).role is not None)
        if self.world.private and not known:
            raise not_found()

    def _send(self, exchange: Exchange) -> Response:
        """The answer in bytes, or 500 where it breaks the contract."""
        answer = exchange.answer
        body = b"" if answer.body is None else json.dumps(answer.body).encode()
        headers = {"Content-Type": f"{JSON}; charset=utf-8", **answer.headers}
        error = self._answer_error(exchange, headers, body)
        status = answer.status
        if error is not None:
            self._violated(exchange, f"answer {answer.status}", error)
            status, body = 500, json.dumps(Refused(500, f"localhub: {error}").body).encode()
        self._log(exchange.method, exchange.path, exchange.query, status, exchange.valid, exchange.actor)
        response = Response(body, status)
        if not body:
            headers.pop("Content-Type")
            response.headers.remove("Content-Type")
        response.headers.update({**headers, **accounts.rate_headers(self.world)})
        return response

    def _answer_error(self, exchange: Exchange, headers: Mapping[str, str], body: bytes) -> str | None:
        if exchange.call is None:
            return error_body_error(body)
        return self.world.contract.answer_error(exchange.call, exchange.answer.status, headers, body)

    def _violated(self, exchange: Exchange, what: str, error: str) -> None:
        exchange.valid = False
        self.world.violations.append(f"{exchange.method} {exchange.path}?{exchange.query} {what}: {error}")

    def _faulty(self, request: Request, path: str, query: str, fault: Fault) -> Response:
        self._log(request.method, path, query, fault.status, False)
        body = json.dumps(Refused(fault.status, fault.message).body)
        return Response(body, fault.status, {**fault.headers, "Content-Type": JSON})

    def _log(
        self, method: str, path: str, query: str, status: int, validated: bool, actor: Actor | None = None
    ) -> None:
        login = actor.user.login if actor else None
        self.world.log.append(Logged(method, path, query, status, validated, login))


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw.strip() else None
    except ValueError:
        raise Refused(400, "Problems parsing JSON") from None


def _truncate(response: Response) -> None:
    """Promise the whole body, send half."""
    whole = response.get_data()
    response.automatically_set_content_length = False
    response.response = [whole[: len(whole) // 2]]
    response.headers["Content-Length"] = str(len(whole))
