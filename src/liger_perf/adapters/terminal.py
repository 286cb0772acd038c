"""The terminal: progress, checkpoints, errors. Every text of the command line that is no help stands here."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from liger_perf.model.errors import LigerPerfError
from liger_perf.session.entries import Stage
from liger_perf.stages.context import Question, Reply

NO = frozenset({"n", "no"})
YES = frozenset({"y", "yes"})


class Terminal:
    """Implements Progress and Checkpoint. Plain lines where standard output is no terminal."""

    def __init__(self, *, interactive: bool | None = None) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._err = Console(stderr=True, highlight=False, soft_wrap=True)
        self._interactive = sys.stdin.isatty() and sys.stdout.isatty() if interactive is None else interactive

    def stage(self, name: str, detail: str = "") -> None:
        self._out.print(f"[bold cyan]== {escape(name)}[/] {escape(detail)}".rstrip())

    def note(self, text: str) -> None:
        self._out.print(f"   {escape(text)}")

    def say(self, text: str = "") -> None:
        """A line of an answer."""
        self._out.print(escape(text))

    def ask(self, question: Question) -> Reply | None:
        """Show the page's summary and ask until the answer can be read; None without a person or at end of input."""
        self._show(question)
        if not self._interactive:
            return None
        while True:
            try:
                answer = input(prompt_text(question)).strip().lower()
            except EOFError:
                self.say()
                return None
            reply = read_answer(question, answer)
            if reply is not None:
                return reply
            self.say(f"   read {answer!r}; allowed: {', '.join(allowed_answers(question))}")

    def present(self, question: Question) -> None:
        self._show(question)

    def error(self, error: LigerPerfError) -> None:
        """One block: what, where, what to do."""
        head, *others = error_lines(error)
        self._err.print(f"[bold red]error:[/] {escape(head)}")
        for line in others:
            self._err.print(f"  {escape(line)}")

    def warn(self, text: str) -> None:
        self._err.print(f"[yellow]{escape(text)}[/]")

    def _show(self, question: Question) -> None:
        self._out.print(f"\n[bold]== checkpoint: {question.stage}[/]" if question.stage is not Stage.FINALIZE else "")
        self.say(question.summary.rstrip())
        self.note(f"whole page: {question.page}")


def error_lines(error: LigerPerfError) -> list[str]:
    """The lines of an error's block. Where there is neither place nor detail it is one line."""
    if not error.where and not error.details:
        return [f"{error.what.rstrip('.')} — {error.todo}" if error.todo else error.what]
    lines = [error.what]
    if error.where:
        lines.append(f"where: {error.where}")
    if error.todo:
        lines.append(f"to do: {error.todo}")
    lines.extend(f"| {line}" for line in error.details.splitlines())
    return lines


def prompt_text(question: Question) -> str:
    """What a checkpoint asks."""
    match question.stage:
        case Stage.OPTIMIZE if question.choices:
            proposed = question.proposed or "report that none won"
            others = [choice for choice in question.choices if choice != question.proposed]
            return f"Apply a variant? [{', '.join([f'y = {proposed}', *others, 'n = stop here'])}] "
        case Stage.OPTIMIZE:
            return "No variant may be applied. Write the final report? [y/n] "
        case _:
            return "Go on? [y/n] "


def allowed_answers(question: Question) -> Sequence[str]:
    return ("y", "n", *question.choices)


def read_answer(question: Question, answer: str) -> Reply | None:
    """The reply that an answer means; None where it means none. Enter alone is no answer."""
    if answer in NO:
        return Reply(approved=False)
    if answer in question.choices:
        return Reply(approved=True, choice=answer)
    if answer in YES:
        return Reply(approved=True)
    return None


def waiting_text(session: str, stage: Stage, state_option: str) -> str:
    """How to go on from a checkpoint that nobody answered."""
    variant = " [vN]" if stage is Stage.OPTIMIZE else ""
    return (
        f"stopped at the checkpoint after {stage}; go on with\n"
        f"   liger-perf resume {session} --approve{variant}{state_option}"
    )


def declined_text(session: str, stage: Stage, state_option: str) -> str:
    """After a no."""
    return f"not approved, nothing was applied. To answer again: liger-perf resume {session}{state_option}"


def stopped_text(session: str, command: str, state_option: str) -> str:
    """After the one stage that was asked for."""
    return f"next: liger-perf {command} {session}{state_option}"


def interrupted_text(session: str, state_option: str) -> str:
    """After Ctrl-C; without a session nothing was started."""
    if not session:
        return "interrupted; nothing was started"
    return f"interrupted; resume with: liger-perf resume {session}{state_option}"


def patch_text(patch: str, repository: str) -> str:
    """How to take the result over."""
    command = f"patch -d {shlex.quote(repository)} -p1 -i {shlex.quote(patch)}"
    return f"the checkout is unchanged; to apply the winner: {command}"
