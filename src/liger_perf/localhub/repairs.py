"""Where GitHub's description says less than it means, so that GitHub's own answers would break it.

Each repair lets through what GitHub answers and nothing more.
"""

from __future__ import annotations

from typing import Any

NULL = {"nullable": True, "enum": [None]}


def repaired(schema: Any) -> Any:
    """The description, or any part of it, with the repairs made.

    - `nullable` beside an `enum` without null: a check run that goes on has no conclusion yet.
    - `nullable` beside `oneOf` or `anyOf`: a commit by an unknown address has no author.
    - `discriminator`: the one for contents cannot be asked of a list; `oneOf` decides without it.
    """
    if isinstance(schema, list):
        return [repaired(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fixed = {key: repaired(value) for key, value in schema.items() if not _is_discriminator(key, value)}
    if schema.get("nullable") is not True:
        return fixed
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        fixed["enum"] = [*schema["enum"], None]
    for choice in ("oneOf", "anyOf"):
        if isinstance(schema.get(choice), list):
            fixed[choice] = [*fixed[choice], NULL]
    return fixed


def _is_discriminator(key: str, value: Any) -> bool:
    return key == "discriminator" and isinstance(value, dict) and "propertyName" in value


def as_described(template: str, body: Any) -> Any:
    """The body in the one form that is still described: GitHub goes on taking a bare list of labels, and PyGithub
    sends it."""
    return {"labels": body} if template.endswith("/labels") and isinstance(body, list) else body
