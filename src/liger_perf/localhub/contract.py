"""Does a request, an answer or a webhook's payload follow the description that GitHub publishes?

`openapi.json` is the part of it in use, cut by `tools/cut_openapi.py` (GitHub's description is under the MIT licence).
What the description does not name is refused: an unknown parameter, a field too many.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote

from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

from liger_perf.localhub.repairs import repaired

DESCRIPTION = Path(__file__).with_name("openapi.json")
HOST = "http://localhub"
JSON = "application/json"
WEBHOOKS = "/-webhooks"


@dataclass(frozen=True)
class Call:
    """A request as the validator reads it; the answer is checked with it too.

    Args:
        template: the path as the description writes it, `/repos/{owner}/{repo}/git/ref/{ref}`.
        values: what stands in the template's braces; a value may hold slashes.
    """

    verb: str
    template: str
    values: Mapping[str, str]
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def request(self) -> _Request:
        """As openapi-core wants it: slashes inside a value are escaped, so that they do not end it."""
        quoted = {name: quote(value, safe="") for name, value in self.values.items()}
        return _Request(
            host_url=HOST,
            path=self.template.format(**quoted),
            method=self.verb.lower(),
            parameters=RequestParameters(
                query=ImmutableMultiDict(parse_qsl(self.query, keep_blank_values=True)), header=Headers(self.headers)
            ),
            content_type=JSON,
            body=self.body or None,
        )


@dataclass
class _Request:
    host_url: str
    path: str
    method: str
    parameters: RequestParameters
    content_type: str
    body: bytes | None


@dataclass(frozen=True)
class _Answer:
    status_code: int
    headers: Headers
    content_type: str
    data: bytes | None


class Contract:
    """The description, loaded. It keeps nothing of what it checks, so several hubs share one."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        webhooks = {f"{WEBHOOKS}/{name}": item for name, item in description["x-webhooks"].items()}
        self._paths: Mapping[str, Any] = {**description["paths"], **webhooks}
        self._parameters: Mapping[str, Any] = description["components"]["parameters"]
        whole = {**description, "servers": [{"url": "/"}], "paths": self._paths}
        self._strict = _load(whole, "forbid")
        self._lenient = _load(whole, "allow")

    def _api(self, template: str, verb: str) -> OpenAPI:
        """Where a schema is put together from several (`allOf`), each part would forbid the fields of the others."""
        together = '"allOf"' in json.dumps(self._paths[template][verb])
        return self._lenient if together else self._strict

    def describes(self, verb: str, template: str) -> bool:
        """Is the operation in the part that was cut?"""
        return verb.lower() in self._paths.get(template, {})

    def request_error(self, call: Call) -> str | None:
        """What the description says against the request; None where it has nothing to say."""
        return _first(self._strict.iter_request_errors(call.request)) or self._unknown_parameter(call)

    def answer_error(self, call: Call, status: int, headers: Mapping[str, str], body: bytes) -> str | None:
        """What the description says against the answer; None where it has nothing to say."""
        described = self._paths[call.template][call.verb.lower()]["responses"].get(str(status))
        with_body = described is not None and ("content" in described or "$ref" in described)
        if status >= 400 and not with_body:
            # Every operation can answer 401, 403, 429 or 5xx, and few say so.
            return error_body_error(body)
        if described is None:
            return f"status {status} is not described"
        if bool(body) is not with_body:
            return "a body is described, none was sent" if with_body else "no body is described, one was sent"
        if not with_body:
            return None
        answer = _Answer(status, Headers(headers), headers.get("Content-Type", ""), body)
        return _first(self._api(call.template, call.verb.lower()).iter_response_errors(call.request, answer))

    def payload_error(self, name: str, payload: Mapping[str, Any]) -> str | None:
        """What the description says against a webhook's payload, `issue-comment-created` for example."""
        template = f"{WEBHOOKS}/{name}"
        headers = {
            "User-Agent": "GitHub-Hookshot/0",
            "X-Github-Hook-Id": "1",
            "X-Github-Event": name,
            "X-Github-Hook-Installation-Target-Id": "1",
            "X-Github-Hook-Installation-Target-Type": "repository",
            "X-GitHub-Delivery": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
            "X-Hub-Signature-256": "sha256=0",
        }
        call = Call("POST", template, {}, body=json.dumps(payload).encode(), headers=headers)
        return _first(self._lenient.iter_request_errors(call.request))

    def _unknown_parameter(self, call: Call) -> str | None:
        item = self._paths[call.template]
        declared = [*item.get("parameters", ()), *item[call.verb.lower()].get("parameters", ())]
        resolved = [self._parameters[_name(one)] if "$ref" in one else one for one in declared]
        known = {one["name"] for one in resolved if one["in"] == "query"}
        unknown = {name for name, _ in parse_qsl(call.query, keep_blank_values=True)} - known
        return f"unknown query parameter: {', '.join(sorted(unknown))}" if unknown else None


def _load(description: Mapping[str, Any], unknown_fields: Literal["forbid", "allow"]) -> OpenAPI:
    config = Config(spec_validator_cls=None, additional_properties_default_policy=unknown_fields)
    return OpenAPI.from_dict({**description}, config=config)


def _name(parameter: Mapping[str, str]) -> str:
    return parameter["$ref"].rsplit("/", 1)[1]


def error_body_error(body: bytes) -> str | None:
    """GitHub's errors, described or not, carry at least a message and a place to read on."""
    try:
        error = json.loads(body)
    except ValueError:
        return "an error's body must be JSON"
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "an error's body must carry a message"
    return None


def _first(errors: Iterable[Exception]) -> str | None:
    for error in errors:
        return describe(error)
    return None


def describe(error: BaseException) -> str:
    """The error with what caused it: openapi-core's own text often names neither field nor value."""
    details = getattr(error, "schema_errors", None)
    if details is None and isinstance(error.__cause__, BaseException):
        return describe(error.__cause__)
    if details is None:
        return f"{type(error).__name__}: {error}"
    return "; ".join(f"{'/'.join(map(str, detail.absolute_path)) or '(body)'}: {detail.message[:300]}"
                     for detail in details)[:2000]  # fmt: skip


@cache
def github() -> Contract:
    """The contract with GitHub; loading takes a moment, so one is shared by a process."""
    return Contract(repaired(json.loads(DESCRIPTION.read_text(encoding="utf-8"))))
