"""What GitHub answers where it does not do what it was asked, with GitHub's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


class Refused(Exception):
    """An answer that is an error.

    Args:
        status: the HTTP status.
        message: what GitHub says.
        errors: GitHub's list of details, for 422.
        headers: such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.errors = tuple(errors)
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The body as GitHub writes it."""
        body: dict[str, Any] = {"message": self.message, "documentation_url": DOCUMENTATION, "status": str(self.status)}
        if self.errors:
            body["errors"] = [dict(error) for error in self.errors]
        if self.status == 422:  # the description knows no `status` in this one
            del body["status"]
        return body


def not_found() -> Refused:
    return Refused(404, "Not Found")


def bad_credentials() -> Refused:
    return Refused(401, "Bad credentials")


def unauthenticated() -> Refused:
    return Refused(401, "Requires authentication")


def forbidden(message: str) -> Refused:
    return Refused(403, message)


def invalid(resource: str, field: str, message: str, *, code: str = "custom") -> Refused:
    """422 with one entry in `errors`."""
    detail = {"resource": resource, "field": field, "code": code, "message": message}
    return Refused(422, "Validation Failed", errors=[detail])


def unprocessable(message: str) -> Refused:
    """422 with nothing but a message, as the git endpoints answer."""
    return Refused(422, message)
