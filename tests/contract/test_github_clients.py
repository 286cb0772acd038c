"""PyGithub, gidgethub and git against the hub, by its base URL and nothing else."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import gidgethub
import gidgethub.httpx
import github
import httpx
import pytest
from github import GithubException, InputGitTreeElement, UnknownObjectException
from github.Repository import Repository

from liger_perf.localhub import ContractBroken, Hub, Refused, serve
from liger_perf.localhub.render import issues as render
from support.hub import KERNEL, client, new_hub

SESSION = "liger-perf/session/7"
T = TypeVar("T")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = new_hub(tmp_path)
    with serve(hub):
        yield hub


@pytest.fixture
def repository(hub: Hub) -> Iterator[Repository]:
    """The repository as a job sees it with its own token."""
    with client(hub, hub.actions_token()) as api:
        yield api.get_repo(hub.full_name)


def git(*arguments: str, cwd: Path | None = None) -> str:
    options = ["-c", "user.name=bob", "-c", "user.email=bob@example.invalid"]
    done = subprocess.run(["git", *options, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


# PyGithub


def test_issues_and_labels(hub: Hub, repository: Repository) -> None:
    repository.create_label("optimize", "00ff00", "asks for a run")
    issue = repository.create_issue("Slow", body="rms_norm", labels=["optimize"])
    issue.add_to_labels("gpu", "h200")
    issue.remove_from_labels("optimize")
    assert [label.name for label in repository.get_issue(issue.number).labels] == ["gpu", "h200"]
    assert [label.name for label in issue.get_labels()] == ["gpu", "h200"]
    assert repository.get_label("optimize").description == "asks for a run"
    issue.edit(state="closed")
    assert (issue.state_reason, issue.closed_by.login) == ("completed", "github-actions[bot]")
    assert list(repository.get_issues()) == []
    assert [one.number for one in repository.get_issues(state="all", labels=["gpu"])] == [issue.number]
    with pytest.raises(GithubException, match="already_exists"):
        repository.create_label("optimize", "00ff00")


def test_comments_and_reactions(hub: Hub, repository: Repository) -> None:
    issue = repository.get_issue(hub.human("mallory").open_issue("Slow").number)
    comment = issue.create_comment("Profile")
    assert (comment.user.login, comment.user.type, comment.performed_via_github_app.slug) == (
        "github-actions[bot]",
        "Bot",
        "github-actions",
    )
    hub.human("alice").react(comment.id, "+1")
    mine = comment.create_reaction("eyes")
    assert comment.create_reaction("eyes").id == mine.id
    reactions = [(one.user.login, one.content) for one in comment.get_reactions()]
    assert reactions == [("alice", "+1"), ("github-actions[bot]", "eyes")]
    comment.delete_reaction(mine.id)
    assert comment.get_reactions().totalCount == 1
    comment.edit("Profile, again")
    read = issue.get_comment(comment.id)
    assert (read.body, read.updated_at > read.created_at, read.reactions["+1"]) == ("Profile, again", True, 1)
    comment.delete()
    with pytest.raises(UnknownObjectException):
        issue.get_comment(comment.id)


def test_two_hundred_comments_and_a_hundred_and_fifty_reactions(hub: Hub, repository: Repository) -> None:
    alice = hub.human("alice")
    number = alice.open_issue("Popular").number
    comments = [hub.state.add_comment(alice.user, number, f"comment {index}") for index in range(200)]
    for index in range(150):
        hub.person(f"fan-{index}").react(comments[0].id, "+1")
    issue = repository.get_issue(number)
    asked = len(hub.log)
    assert [comment.id for comment in issue.get_comments()] == [comment.id for comment in comments]
    assert len(hub.log) - asked == 7  # pages of 30
    first = issue.get_comment(comments[0].id)
    assert len({reaction.user.login for reaction in first.get_reactions()}) == 150
    assert issue.get_comments().totalCount == 200
    since = comments[190].created_at
    assert [comment.id for comment in repository.get_issues_comments(since=since)] == [c.id for c in comments[190:]]


def test_people(hub: Hub, repository: Repository) -> None:
    hub.person("dora", "write", custom_role="kernel-owner")
    roles = {login: repository.get_collaborator_role_name(login) for login in ("alice", "carol", "dora", "mallory")}
    assert roles == {"alice": "maintain", "carol": "triage", "dora": "kernel-owner", "mallory": "read"}
    assert repository.get_collaborator_permission("alice") == "write"
    assert (repository.has_in_collaborators("bob"), repository.has_in_collaborators("mallory")) == (True, False)
    with pytest.raises(UnknownObjectException):
        repository.get_collaborator_role_name("nobody")
    with client(hub, hub.token("alice")) as api:
        assert (api.get_user().login, api.get_user("bob").type) == ("alice", "User")
    with client(hub, hub.actions_token()) as api, pytest.raises(GithubException, match="not accessible by integration"):
        api.get_user().login  # noqa: B018 the property asks
    assert repository.default_branch == "main"


def commit_on(repository: Repository, parent: str, text: str) -> github.GitCommit.GitCommit:
    base = repository.get_git_commit(parent)
    blob = repository.create_git_blob(text, "utf-8")
    element = InputGitTreeElement(KERNEL, "100644", "blob", sha=blob.sha)
    tree = repository.create_git_tree([element], base.tree)
    return repository.create_git_commit("A step of the session", tree, [base])


def test_a_branch_through_the_git_data_api(hub: Hub, repository: Repository) -> None:
    first = commit_on(repository, hub.default_sha, "BLOCK = 2048\n")
    ref = repository.create_git_ref(f"refs/heads/{SESSION}", first.sha)
    with pytest.raises(GithubException, match="Reference already exists") as taken:
        repository.create_git_ref(f"refs/heads/{SESSION}", first.sha)
    assert taken.value.status == 422
    for sha in (first.sha[:12], "main", "0" * 40):
        with pytest.raises(GithubException, match="Object does not exist"):
            repository.create_git_ref("refs/heads/other", sha)
    second = commit_on(repository, first.sha, "BLOCK = 4096\n")
    ref.edit(second.sha)
    with pytest.raises(GithubException, match="not a fast forward") as behind:
        ref.edit(first.sha)
    assert behind.value.status == 422
    ref.edit(first.sha, force=True)
    assert repository.get_git_ref(f"heads/{SESSION}").object.sha == first.sha
    assert [one.ref for one in repository.get_git_matching_refs("heads/liger-perf/")] == [f"refs/heads/{SESSION}"]
    assert repository.get_contents(KERNEL, ref=SESSION).decoded_content == b"BLOCK = 2048\n"
    assert repository.get_branch(SESSION).commit.sha == first.sha
    ref.delete()
    with pytest.raises(UnknownObjectException):
        repository.get_git_ref(f"heads/{SESSION}")


def test_github_signs_for_bots_only(hub: Hub, repository: Repository) -> None:
    by_bot = commit_on(repository, hub.default_sha, "BLOCK = 2048\n")
    assert by_bot.verification.verified
    assert by_bot.author.name == "github-actions[bot]"
    with client(hub, hub.token("bob")) as api:
        by_person = commit_on(api.get_repo(hub.full_name), hub.default_sha, "BLOCK = 2048\n")
    named = repository.create_git_commit(
        "x",
        repository.get_git_tree(by_bot.tree.sha),
        [by_bot],
        author=github.InputGitAuthor("GitHub", "noreply@github.com"),
    )
    assert not by_person.verification.verified
    assert not named.verification.verified
    assert repository.get_commit(by_bot.sha).commit.verification.verified


def test_a_tree_loses_and_gains_paths(hub: Hub, repository: Repository) -> None:
    base = repository.get_git_commit(hub.default_sha)
    elements = [
        InputGitTreeElement("README.md", "100644", "blob", sha=None),
        InputGitTreeElement("docs/a/b.md", "100644", "blob", content="new\n"),
        InputGitTreeElement("again", "040000", "tree", sha=repository.get_git_tree("main", recursive=True).tree[0].sha),
    ]
    tree = repository.get_git_tree(repository.create_git_tree(elements, base.tree).sha, recursive=True)
    paths = {entry.path for entry in tree.tree}
    assert "README.md" not in paths
    assert {"docs/a/b.md", KERNEL, "again/workflows/optimize.yml"} <= paths
    assert {entry.name for entry in repository.get_contents("src/liger_kernel")} == {"ops"}
    with pytest.raises(UnknownObjectException):
        repository.get_contents("nothing.py")


def test_a_pull_request(hub: Hub, repository: Repository) -> None:
    commit = commit_on(repository, hub.default_sha, "BLOCK = 2048\nWARPS = 4\n")
    repository.create_git_ref(f"refs/heads/{SESSION}", commit.sha)
    pull = repository.create_pull(base="main", head=SESSION, title="Faster rms_norm", body="Tables", draft=True)
    file = next(iter(pull.get_files()))
    assert (file.filename, file.status, file.additions, file.deletions) == (KERNEL, "modified", 1, 1)
    assert file.patch.splitlines()[1:] == ["-BLOCK = 1024", "+BLOCK = 2048", " WARPS = 4"]
    assert (pull.head.sha, pull.base.sha, pull.changed_files, pull.draft) == (commit.sha, hub.default_sha, 1, True)
    compared = repository.compare("main", SESSION)
    assert (compared.status, compared.ahead_by, compared.files[0].filename) == ("ahead", 1, KERNEL)
    assert [one.number for one in repository.get_pulls(head=f"octo:{SESSION}")] == [pull.number]
    assert repository.get_issue(pull.number).pull_request is not None
    with pytest.raises(GithubException, match="already exists"):
        repository.create_pull(base="main", head=SESSION, title="Twice", body="")
    pull.edit(state="closed")
    assert repository.get_pull(pull.number).state == "closed"
    assert [event.name for event in hub.events] == []  # a job's token starts nothing


def test_checks_workflows_and_dispatches(hub: Hub, repository: Repository) -> None:
    check = repository.create_check_run("liger-perf", hub.default_sha, status="in_progress")
    assert check.conclusion is None
    check.edit(conclusion="success", output={"title": "Faster", "summary": "by 7 %"})
    assert [(one.status, one.output.title) for one in repository.get_commit("main").get_check_runs()] == [
        ("completed", "Faster")
    ]
    workflow = repository.get_workflow("optimize.yml")
    run = workflow.create_dispatch("main", {"kernel": "rms_norm"}, throw=True, return_run_details=True)
    assert workflow.create_dispatch("main", throw=True) is True
    hub.state.set_run(run.id, "completed", "success")
    assert repository.get_workflow_run(run.id).conclusion == "success"
    assert [one.run_number for one in workflow.get_runs()] == [2, 1]
    assert repository.get_workflow_runs(status="success").totalCount == 1
    assert repository.create_repository_dispatch("next", {"session": 7})
    assert [event.name for event in hub.events] == ["workflow_dispatch", "workflow_dispatch", "repository_dispatch"]
    with pytest.raises(GithubException, match="No ref found"):
        workflow.create_dispatch("nowhere", throw=True)


@pytest.mark.parametrize(
    ("token", "status"),
    [
        (lambda hub: hub.token("mallory"), 403),
        (lambda hub: hub.token("carol"), 403),
        (lambda hub: hub.token("bob", {"contents": "read"}), 403),
        (lambda hub: hub.actions_token({"issues": "write"}), 403),
        (lambda hub: "nobody's", 401),
        (lambda hub: hub.token("bob"), None),
        (lambda hub: hub.app_token("liger-bot", {"contents": "write"}), None),
    ],
)
def test_who_may_make_a_branch(hub: Hub, token: Callable[[Hub], str], status: int | None) -> None:
    with client(hub, token(hub), lazy=True) as api:
        repository = api.get_repo(hub.full_name)
        if status is None:
            repository.create_git_ref("refs/heads/mine", hub.default_sha)
            return
        with pytest.raises(GithubException) as refused:
            repository.create_git_ref("refs/heads/mine", hub.default_sha)
        assert refused.value.status == status


def test_a_private_repository_does_not_exist_for_strangers(tmp_path: Path) -> None:
    hub = new_hub(tmp_path, private=True)
    with serve(hub):
        with client(hub, hub.token("mallory")) as api, pytest.raises(UnknownObjectException):
            api.get_repo(hub.full_name)
        with client(hub, hub.token("carol")) as api:
            assert api.get_repo(hub.full_name).private
        with pytest.raises(RuntimeError, match=r"(?i)auth|could not read"):
            git("-c", "credential.helper=", "clone", "-q", hub.remote("wrong"), str(tmp_path / "clone"))


# gidgethub


def gidget(hub: Hub, work: Callable[[gidgethub.httpx.GitHubAPI], Awaitable[T]]) -> T:
    async def run() -> T:
        async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
            token = hub.actions_token()
            return await work(gidgethub.httpx.GitHubAPI(http, "liger-perf", oauth_token=token, base_url=hub.base_url))

    return asyncio.run(run())


def test_gidgethub_does_the_bots_errands(hub: Hub) -> None:
    alice = hub.human("alice")
    number = alice.open_issue("Slow").number
    at = f"/repos/{hub.full_name}"

    async def work(api: gidgethub.httpx.GitHubAPI) -> list[Any]:
        comment = await api.post(f"{at}/issues/{number}/comments", data={"body": "Profile"})
        await api.post(f"{comment['url']}/reactions", data={"content": "eyes"})
        await api.patch(comment["url"], data={"body": "Profile v2"})
        for _ in range(120):
            hub.state.add_comment(alice.user, number, "more")
        bodies = [one["body"] async for one in api.getiter(f"{at}/issues/{number}/comments?per_page=50")]
        reactions = [one["content"] async for one in api.getiter(f"{comment['url']}/reactions")]
        role = (await api.getitem(f"{at}/collaborators/alice/permission"))["role_name"]
        ref = await api.getitem(f"{at}/git/ref/heads/main")
        blob = await api.post(f"{at}/git/blobs", data={"content": "x = 1\n"})
        entry = {"path": KERNEL, "mode": "100644", "type": "blob", "sha": blob["sha"]}
        tree = await api.post(f"{at}/git/trees", data={"base_tree": ref["object"]["sha"], "tree": [entry]})
        new = {"message": "Step", "tree": tree["sha"], "parents": [ref["object"]["sha"]]}
        commit = await api.post(f"{at}/git/commits", data=new)
        await api.post(f"{at}/git/refs", data={"ref": f"refs/heads/{SESSION}", "sha": commit["sha"]})
        pull = await api.post(f"{at}/pulls", data={"title": "Faster", "head": SESSION, "base": "main"})
        await api.delete(comment["url"])
        return [len(bodies), bodies[0], reactions, role, commit["verification"]["verified"], pull["changed_files"]]

    assert gidget(hub, work) == [121, "Profile v2", ["eyes"], "maintain", True, 1]


def test_gidgethub_reads_the_errors(hub: Hub) -> None:
    at = f"/repos/{hub.full_name}"

    async def forward_only(api: gidgethub.httpx.GitHubAPI) -> None:
        first = hub.default_sha
        hub.human("bob").push("main", {KERNEL: "BLOCK = 9\n"})
        await api.patch(f"{at}/git/refs/heads/main", data={"sha": first, "force": False})

    with pytest.raises(gidgethub.BadRequest, match="not a fast forward") as refused:
        gidget(hub, forward_only)
    assert refused.value.status_code == 422


# git


def test_clone_and_push(hub: Hub, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git("clone", "-q", hub.remote(), str(work))
    (work / KERNEL).write_text("BLOCK = 512\n")
    git("commit", "-qam", "Smaller blocks", cwd=work)
    with pytest.raises(RuntimeError, match="403"):
        git("push", "-q", hub.remote(hub.token("mallory")), "HEAD:feature", cwd=work)
    git("push", "-q", hub.remote(hub.token("bob")), "HEAD:feature", cwd=work)
    sha = git("rev-parse", "HEAD", cwd=work)
    assert hub.git.ref("refs/heads/feature") == sha
    assert hub.events.pop().payload["commits"][0]["modified"] == [KERNEL]
    with client(hub, hub.token("bob")) as api:
        assert not api.get_repo(hub.full_name).get_commit(sha).commit.verification.verified
    git("commit", "-q", "--amend", "-m", "Otherwise", cwd=work)
    with pytest.raises(RuntimeError, match="rejected"):
        git("push", "-q", hub.remote(hub.token("bob")), "HEAD:feature", cwd=work)


def test_git_fetches_a_signed_commit_and_a_pull_requests_head(hub: Hub, repository: Repository, tmp_path: Path) -> None:
    commit = commit_on(repository, hub.default_sha, "BLOCK = 2048\n")
    repository.create_git_ref(f"refs/heads/{SESSION}", commit.sha)
    fork = hub.human("mallory").open_fork_pull({KERNEL: "import os\n"})
    git("clone", "-q", "--branch", SESSION, hub.remote(hub.actions_token()), str(tmp_path / "work"))
    assert "gpgsig" in git("cat-file", "commit", "HEAD", cwd=tmp_path / "work")
    git("fetch", "-q", "origin", f"refs/pull/{fork.number}/head", cwd=tmp_path / "work")
    assert fork.pull is not None
    assert git("rev-parse", "FETCH_HEAD", cwd=tmp_path / "work") == fork.pull.head_sha


# Faults


def test_a_bad_gateway_after_the_effect(hub: Hub, repository: Repository) -> None:
    issue = repository.get_issue(hub.human("alice").open_issue("Slow").number)
    hub.faults.bad_gateway_after("POST", "/comments$")
    with pytest.raises(GithubException) as failed:
        issue.create_comment("Profile")
    assert failed.value.status == 502
    assert [comment.body for comment in issue.get_comments()] == ["Profile"]
    assert hub.count("POST", "/comments$") == 1


def test_other_faults(hub: Hub, repository: Repository) -> None:
    alice = hub.human("alice")
    issue = repository.get_issue(alice.open_issue("Slow").number)
    for index in range(40):
        alice.comment(issue.number, f"comment {index}")
    hub.faults.secondary_limit("POST", retry_after=7)
    with pytest.raises(GithubException, match="secondary rate limit") as limited:
        issue.create_comment("x")
    assert {name.lower(): value for name, value in limited.value.headers.items()}["retry-after"] == "7"
    hub.faults.too_many("POST")
    with pytest.raises(GithubException, match="429"):
        issue.create_comment("x")
    hub.faults.truncated("GET", "/comments$")
    with pytest.raises((OSError, ValueError)):
        list(issue.get_comments())
    hub.faults.missing_page(2, "/comments$")
    with pytest.raises(UnknownObjectException):
        list(issue.get_comments())
    assert len(list(issue.get_comments())) == 40
    hub.faults.unauthorised_after(1)
    repository.get_issue(issue.number)
    with pytest.raises(GithubException, match="401"):
        repository.get_issue(issue.number)
    hub.faults.clear()
    hub.tokens.revoke("nothing")
    assert repository.get_issue(issue.number).comments == 40


# The contract


def test_a_malformed_answer_of_the_hub_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = new_hub(tmp_path)
    number = hub.human("alice").open_issue("Slow").number
    monkeypatch.setattr(render, "labels_of", lambda world, issue: [{"name": 5}])

    def ask() -> None:
        with serve(hub), client(hub, hub.actions_token()) as api, pytest.raises(GithubException, match="localhub"):
            api.get_repo(hub.full_name).get_issue(number)

    with pytest.raises(ContractBroken, match="answer 200: labels/0"):
        ask()
    assert [(one.status, one.validated) for one in hub.log] == [(200, True), (500, False)]


def test_a_hub_that_fails_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = new_hub(tmp_path)
    hub.human("alice").open_issue("Slow")
    monkeypatch.delattr(render, "labels_of")
    with serve(hub, check=False), client(hub, hub.actions_token()) as api, pytest.raises(GithubException, match="500"):
        api.get_repo(hub.full_name).get_issue(1)
    with pytest.raises(ContractBroken, match="NameError"):
        hub.check()


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/issues/1/comments", {"boddy": "x"}, "body"),
        ("/issues/comments/1/reactions", {"content": "thumbs"}, "thumbs"),
        ("/issues/1/lock", {}, "no such operation"),
    ],
)
def test_a_malformed_request_is_found(tmp_path: Path, path: str, body: dict[str, str], word: str) -> None:
    hub = new_hub(tmp_path)
    headers = {"Authorization": f"Bearer {hub.actions_token()}"}
    with serve(hub, check=False) as base_url:
        url = f"{base_url}/repos/{hub.full_name}{path}"
        assert httpx.post(url, json=body, headers=headers, trust_env=False).status_code in (404, 422)
    with pytest.raises(ContractBroken, match=word):
        hub.check()


def test_everything_was_validated(hub: Hub, repository: Repository) -> None:
    repository.get_issues().totalCount  # noqa: B018 the property asks
    assert [(one.login, one.validated) for one in hub.log] == [("github-actions[bot]", True)] * 2
    headers = {"User-Agent": "", "Authorization": f"Bearer {hub.actions_token()}", "Content-Type": "application/json"}
    broken = httpx.post(f"{hub.base_url}/repos/{hub.full_name}/issues", content=b"{", headers=headers, trust_env=False)
    assert broken.status_code == 400
    assert httpx.get(f"{hub.base_url}/repos/{hub.full_name}", trust_env=False).json()["visibility"] == "public"
    assert httpx.post(f"{hub.base_url}/repos/{hub.full_name}/issues", json={}, trust_env=False).status_code == 401


def test_a_gate_can_limit(hub: Hub, repository: Repository) -> None:
    def limit(actor: object, method: str, path: str) -> None:
        if method == "POST":
            raise Refused(403, "You have exceeded a secondary rate limit.", headers={"Retry-After": "60"})

    hub.gates.append(limit)
    with pytest.raises(GithubException, match="403"):
        repository.create_issue("one too many")
