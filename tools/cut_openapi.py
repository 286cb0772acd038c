"""Cuts the part of GitHub's OpenAPI description that `liger_perf.localhub` serves.

    npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
    python tools/cut_openapi.py package/generated/api.github.com.json

GitHub publishes the description under the MIT licence (github/rest-api-description; the npm package
`@octokit/openapi` adds the notes that Octokit needs). What is kept are the operations and webhooks named here, with
everything that they refer to; descriptions, examples and notes for other tools are dropped, nothing else is changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from liger_perf.localhub.contract import DESCRIPTION

REPOSITORY = "/repos/{owner}/{repo}"

OPERATIONS: dict[str, tuple[str, ...]] = {
    "/rate_limit": ("get",),
    "/user": ("get",),
    "/users/{username}": ("get",),
    REPOSITORY: ("get",),
    f"{REPOSITORY}/actions/runs": ("get",),
    f"{REPOSITORY}/actions/runs/{{run_id}}": ("get",),
    f"{REPOSITORY}/actions/runs/{{run_id}}/cancel": ("post",),
    f"{REPOSITORY}/actions/runs/{{run_id}}/force-cancel": ("post",),
    f"{REPOSITORY}/actions/workflows": ("get",),
    f"{REPOSITORY}/actions/workflows/{{workflow_id}}": ("get",),
    f"{REPOSITORY}/actions/workflows/{{workflow_id}}/dispatches": ("post",),
    f"{REPOSITORY}/actions/workflows/{{workflow_id}}/runs": ("get",),
    f"{REPOSITORY}/branches/{{branch}}": ("get",),
    f"{REPOSITORY}/check-runs": ("post",),
    f"{REPOSITORY}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{REPOSITORY}/collaborators/{{username}}": ("get",),
    f"{REPOSITORY}/collaborators/{{username}}/permission": ("get",),
    f"{REPOSITORY}/commits": ("get",),
    f"{REPOSITORY}/commits/{{ref}}": ("get",),
    f"{REPOSITORY}/commits/{{ref}}/check-runs": ("get",),
    f"{REPOSITORY}/compare/{{basehead}}": ("get",),
    f"{REPOSITORY}/contents/{{path}}": ("get",),
    f"{REPOSITORY}/dispatches": ("post",),
    f"{REPOSITORY}/git/blobs": ("post",),
    f"{REPOSITORY}/git/blobs/{{file_sha}}": ("get",),
    f"{REPOSITORY}/git/commits": ("post",),
    f"{REPOSITORY}/git/commits/{{commit_sha}}": ("get",),
    f"{REPOSITORY}/git/matching-refs/{{ref}}": ("get",),
    f"{REPOSITORY}/git/ref/{{ref}}": ("get",),
    f"{REPOSITORY}/git/refs": ("post",),
    f"{REPOSITORY}/git/refs/{{ref}}": ("patch", "delete"),
    f"{REPOSITORY}/git/trees": ("post",),
    f"{REPOSITORY}/git/trees/{{tree_sha}}": ("get",),
    f"{REPOSITORY}/issues": ("get", "post"),
    f"{REPOSITORY}/issues/comments": ("get",),
    f"{REPOSITORY}/issues/comments/{{comment_id}}": ("get", "patch", "delete"),
    f"{REPOSITORY}/issues/comments/{{comment_id}}/reactions": ("get", "post"),
    f"{REPOSITORY}/issues/comments/{{comment_id}}/reactions/{{reaction_id}}": ("delete",),
    f"{REPOSITORY}/issues/{{issue_number}}": ("get", "patch"),
    f"{REPOSITORY}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{REPOSITORY}/issues/{{issue_number}}/labels": ("get", "post"),
    f"{REPOSITORY}/issues/{{issue_number}}/labels/{{name}}": ("delete",),
    f"{REPOSITORY}/labels": ("get", "post"),
    f"{REPOSITORY}/labels/{{name}}": ("get",),
    f"{REPOSITORY}/pulls": ("get", "post"),
    f"{REPOSITORY}/pulls/{{pull_number}}": ("get", "patch"),
    f"{REPOSITORY}/pulls/{{pull_number}}/files": ("get",),
}

WEBHOOKS = (
    "issue-comment-created",
    "issue-comment-deleted",
    "issue-comment-edited",
    "issues-opened",
    "pull-request-opened",
    "pull-request-synchronize",
    "push",
    "repository-dispatch-sample.collected",
    "workflow-dispatch",
)

DROPPED = frozenset({"description", "summary", "example", "examples", "externalDocs", "tags", "x-github", "x-octokit"})


def main() -> None:
    """Read the whole description, write the part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("description", type=Path, help="generated/api.github.com.json of the npm package")
    parser.add_argument("--output", type=Path, default=DESCRIPTION)
    arguments = parser.parse_args()
    whole = json.loads(arguments.description.read_text(encoding="utf-8"))
    # One path or component a line: a newer description then shows as a difference that can be read.
    arguments.output.write_text(one_a_line(cut(whole)), encoding="utf-8")


def cut(whole: dict[str, Any]) -> dict[str, Any]:
    """The part of the description that `OPERATIONS` and `WEBHOOKS` name.

    Raises:
        KeyError: the description has no such operation.
    """
    part: dict[str, Any] = {
        "openapi": whole["openapi"],
        "info": {name: whole["info"][name] for name in ("title", "version", "license")},
        "paths": {path: strip(operations_of(whole, path, methods)) for path, methods in OPERATIONS.items()},
        "x-webhooks": {name: strip(whole["x-webhooks"][name]) for name in WEBHOOKS},
        "components": {},
    }
    todo = references(part)
    while todo:
        _, _, kind, name = todo.pop().split("/")
        kept = part["components"].setdefault(kind, {})
        if name not in kept:
            kept[name] = strip(whole["components"][kind][name])
            todo |= references(kept[name])
    # Every error that an operation does not describe is one of these.
    part["components"]["schemas"]["basic-error"] = strip(whole["components"]["schemas"]["basic-error"])
    return part


def operations_of(whole: dict[str, Any], path: str, methods: tuple[str, ...]) -> dict[str, Any]:
    """The named methods of a path, and what they share."""
    item = whole["paths"][path]
    shared = {name: value for name, value in item.items() if name == "parameters"}
    return shared | {method: item[method] for method in methods}


def strip(value: Any, *, names: bool = False) -> Any:
    """Without what binds nobody. `names`: the keys are names that the API defines, so all of them stay."""
    if isinstance(value, list):
        return [strip(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: strip(item, names=not names and key in {"properties", "headers"})
        for key, item in value.items()
        if names or key not in DROPPED
    }


def references(value: Any) -> set[str]:
    """Every `$ref` in it."""
    if isinstance(value, list):
        return set().union(*(references(item) for item in value))
    if not isinstance(value, dict):
        return set()
    found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return found.union(*(references(item) for item in value.values()))


def one_a_line(part: dict[str, Any]) -> str:
    """JSON, with each path and each component on a line of its own."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    def lines(table: dict[str, Any]) -> str:
        rows = [f"{json.dumps(key)}:{compact(table[key])}" for key in sorted(table)]
        return "{\n" + ",\n".join(rows) + "\n}"

    components = ",\n".join(f'"{kind}":{lines(table)}' for kind, table in sorted(part["components"].items()))
    return (
        "{\n"
        f'"openapi":{json.dumps(part["openapi"])},\n'
        f'"info":{json.dumps(part["info"])},\n'
        f'"paths":{lines(part["paths"])},\n'
        f'"x-webhooks":{lines(part["x-webhooks"])},\n'
        f'"components":{{\n{components}\n}}\n'
        "}\n"
    )


if __name__ == "__main__":
    main()
