"""Signatures of commits, as GitHub makes them for what bots commit through its API.

The signature stands in the commit object itself, as GitHub's does, so it survives a clone and a push, and a commit
that was copied without it has another id. GitHub's key is replaced by a secret of the hub.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime

_BEGIN, _END = "-----BEGIN PGP SIGNATURE-----", "-----END PGP SIGNATURE-----"


@dataclass(frozen=True)
class Verification:
    """GitHub's `verification` object."""

    verified: bool
    reason: str
    signature: str | None
    payload: str | None
    verified_at: datetime | None = None


class Signer:
    """Signs and checks raw commit objects."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, commit: bytes) -> bytes:
        """The commit with a gpgsig header at the end of its headers."""
        headers, blank, message = commit.partition(b"\n\n")
        lines = self._signature(commit).split("\n")
        return headers + b"\ngpgsig " + "\n ".join(lines).encode() + blank + message

    def verify(self, commit: bytes, committed_at: datetime) -> Verification:
        """What GitHub would say of the commit."""
        payload, signature = split(commit)
        if signature is None:
            return Verification(False, "unsigned", None, None)
        text = payload.decode(errors="replace")
        if not hmac.compare_digest(signature.encode(), self._signature(payload).encode()):
            return Verification(False, "unknown_key", signature, text)
        return Verification(True, "valid", signature, text, committed_at)

    def _signature(self, payload: bytes) -> str:
        digest = hmac.new(self._secret, payload, "sha256").hexdigest()
        return f"{_BEGIN}\n\n{digest}\n{_END}"


def split(commit: bytes) -> tuple[bytes, str | None]:
    """What is signed, and the signature where there is one."""
    headers, blank, message = commit.partition(b"\n\n")
    kept: list[bytes] = []
    signature: list[bytes] = []
    inside = False
    for line in headers.split(b"\n"):
        inside = line.startswith(b"gpgsig ") or (inside and line.startswith(b" "))
        if inside:
            signature.append(line.removeprefix(b"gpgsig").removeprefix(b" "))
        else:
            kept.append(line)
    text = b"\n".join(signature).decode(errors="replace") if signature else None
    return b"\n".join(kept) + blank + message, text
