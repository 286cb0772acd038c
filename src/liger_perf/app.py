"""Builds the adapters, once, and hands them down. Nothing else builds them."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from liger_perf import __version__
from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.store import SessionStore
from liger_perf.adapters.terminal import Terminal
from liger_perf.adapters.tree import TreeExporter, digest, export, listing
from liger_perf.kernels.layout import list_kernels
from liger_perf.model.errors import LigerPerfError, UsageError
from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.options import DeviceKind, KernelPaths, Request
from liger_perf.ports import Lab
from liger_perf.session.entries import Approved, Stage, Started
from liger_perf.session.machine import AwaitApproval, RunFinalize, next_step
from liger_perf.settings import require_outside
from liger_perf.stages import preflight
from liger_perf.stages.pipeline import End, Pipeline, Runners


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """How the parts that cost imports are made; called only when a stage is about to run."""

    lab: Callable[[DeviceKind, Path], Lab]
    runners: Callable[[], Runners]


def real_wiring() -> Wiring:
    """The parts that measure. Imported when first needed, so that `--help` and `status` start at once."""

    def lab(kind: DeviceKind, state: Path) -> Lab:
        from liger_perf.adapters.lab import ProcessLab

        return ProcessLab(kind, state)

    def runners() -> Runners:
        made: Runners = import_module("liger_perf.stages.runners").runners()
        return made

    return Wiring(lab=lab, runners=runners)


def new_terminal() -> Terminal:
    """The terminal of this process."""
    return Terminal()


class App:
    """One state directory and a terminal. `current` is the session that this process has started or holds."""

    def __init__(
        self,
        wiring: Wiring,
        state: Path,
        terminal: Terminal,
        recorded: Callable[[SessionStore], None] | None = None,
    ) -> None:
        self._wiring = wiring
        self._state = state
        self._terminal = terminal
        self.sessions = Sessions(state, recorded)
        self.current = ""

    def kernels(self, repository: Path) -> tuple[str, ...]:
        """The kernels of a repository that have all three files.

        Raises:
            PreflightError: there is none.
        """
        found = list_kernels(listing(_directory(repository)))
        return found or preflight.refuse_layout()

    def start(self, request: Request, repository: Path, until: Stage | None = None, name: str = "") -> End:
        """Check, start a session and drive it; `name` is the session's, empty for one of its own.

        Raises:
            PreflightError: a check failed; nothing was started.
            LigerPerfError: a stage failed.
        """
        repository = _directory(repository)
        require_outside(self._state, repository)
        preflight.check_request(request)
        paths = preflight.check_files(listing(repository), request.kernel, lambda path: (repository / path).exists())
        preflight.check_syntax((repository / paths.ops).read_bytes(), paths.ops)
        store = self.sessions.create(request.kernel, name)
        try:
            lab = self._begin(store, request, repository, paths)
            return self._drive(store, until, lab)
        finally:
            store.discard()

    def resume(self, name: str, *, until: Stage | None = None, approve: Approved | None = None) -> End:
        """Go on with a session; `approve` is recorded first.

        Raises:
            LigerPerfError: the session cannot be trusted or held, or a stage failed.
        """
        store = self.sessions.open(name)
        try:
            self.current = store.id
            if store.session.closed:
                store.remove_scratch()  # of a process that was killed between its last entry and its end
                raise UsageError(f"session {name} is finished", todo=f"its report: {store.root / 'report.md'}")
            _check_base(store)
            if approve is not None:
                store.append(approve)
            return self._drive(store, until)
        finally:
            store.close()

    def restore_base(self, name: str, repository: Path) -> None:
        """Copy the checkout again, for a session that goes on on another machine; nothing where the copy is there.

        Raises:
            UsageError: there is no such session, or the checkout cannot be copied.
        """
        store = self.sessions.open(name)
        try:
            base = store.folder / "base"
            if not base.is_dir():
                export(_directory(repository), base)
        finally:
            store.close()

    def approval(self, name: str, choice: str) -> Approved:
        """The approval of what the session waits for; a choice may also replace an earlier one before finalizing.

        Raises:
            UsageError: the session waits for nothing, or the choice is none of its variants.
        """
        session = self.sessions.read(name)
        step = next_step(session)
        stage = step.stage if isinstance(step, AwaitApproval) else None
        if isinstance(step, RunFinalize) and choice:
            stage = Stage.OPTIMIZE
        if stage is None:
            raise UsageError(f"session {name} waits for no approval", todo=f"see `liger-perf status {name}`")
        if choice and (stage is not Stage.OPTIMIZE or choice not in session.choices):
            allowed = ", ".join(session.choices) if stage is Stage.OPTIMIZE else ""
            raise UsageError(f"{choice} cannot be chosen after {stage}", todo=f"allowed: {allowed or 'no variant'}")
        return Approved(stage=stage, choice=choice)

    def approve(self, name: str, choice: str) -> None:
        """Record an approval and do nothing else."""
        entry = self.approval(name, choice)
        store = self.sessions.open(name)
        try:
            store.append(entry)
        finally:
            store.close()

    def _begin(self, store: SessionStore, request: Request, repository: Path, paths: KernelPaths) -> Lab:
        lab = self._wiring.lab(request.device, store.folder / "lab")
        # Before anything is said or copied: where there is no device, that is all there is to say.
        device = lab.describe()
        self._terminal.stage("preflight", f"{request.kernel} on {device.name}")
        if device.simulated:
            self._terminal.warn("SIMULATED device: times are predictions of a model, no evidence about a real GPU")
        base = store.folder / "base"
        export(repository, base)
        found = preflight.check_world(lab, TreeExporter(base, store.folder / "trees"), paths, self._terminal)
        store.append(
            Started(
                request=request,
                paths=paths,
                repository=str(repository),
                base_digest=digest(base),
                kernel_digest=hashlib.sha256((base / paths.ops).read_bytes()).hexdigest(),
                device=found.device,
                versions=_versions(found.device),
            )
        )
        self.current = store.id
        self._terminal.note(f"session {store.id}, workspace {store.root}")
        return lab

    def _drive(self, store: SessionStore, until: Stage | None, lab: Lab | None = None) -> End:
        started = store.session.started
        trees = TreeExporter(store.folder / "base", store.folder / "trees")
        trees.clean()
        end = Pipeline(
            log=store,
            lab=lab or self._wiring.lab(started.request.device, store.folder / "lab"),
            trees=trees,
            original=(store.folder / "base" / started.paths.ops).read_bytes().decode(),
            runners=self._wiring.runners(),
            checkpoint=self._terminal,
            progress=self._terminal,
        ).drive(until=until)
        if end is End.DONE:
            store.remove_scratch()
        return end


def _directory(repository: Path) -> Path:
    if not repository.is_dir():
        raise UsageError("no such directory", where=f"--repo {repository}")
    return repository.resolve()


def _check_base(store: SessionStore) -> None:
    base = store.folder / "base"
    if not base.is_dir() or digest(base) != store.session.started.base_digest:
        raise LigerPerfError(
            "the session's copy of the checkout was changed", where=str(base), todo="start a new session"
        )


def _versions(device: DeviceFacts) -> dict[str, str]:
    return {
        "liger-perf": __version__,
        "python": platform.python_version(),
        "torch": device.torch,
        "triton": device.triton,
        "driver": device.driver,
    }
