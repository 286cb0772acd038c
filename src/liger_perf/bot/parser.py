"""From the text of a comment to a command. Never raises: what is meant for the bot and unreadable is a ParseError."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from liger_perf.bot.commands import (
    Approve,
    Cancel,
    Command,
    Help,
    List,
    Optimize,
    ParseError,
    Reject,
    Resume,
    Status,
)
from liger_perf.bot.first_line import LONGEST_LINE, command_line
from liger_perf.bot.grammar import OPTIONS, PHRASES, find_option
from liger_perf.kernels.layout import near_names
from liger_perf.model.errors import UsageError
from liger_perf.model.options import Request
from liger_perf.model.variants import VARIANT_NAME

LONGEST_REASON = 500

VERBS = ("approve", "reject", "status", "cancel", "resume", "list", "help")
_BARE: dict[str, Command] = {
    "status": Status(),
    "cancel": Cancel(),
    "resume": Resume(),
    "list": List(),
    "help": Help(),
}
_FORMS = "/optimize KERNEL [name=value …], or /optimize " + ", ".join(VERBS)
# A word may hold quoted parts: target="forward under 0.3ms". Phones write curly quotes, and a dash for two hyphens.
_WORD = re.compile(r"""(?:"[^"]*"|“[^“”"]*”|(?<![^\s=])'[^']*'|[^\s"“”])+""")
_QUOTE = re.compile(r"[\"“”]")
_PHRASES = tuple(phrase.split() for phrase in PHRASES)


class _Unreadable(Exception):
    def __init__(self, problem: str, allowed: str, near: Sequence[str] = ()) -> None:
        self.problem, self.allowed, self.near = problem, allowed, tuple(near)


def parse(body: str, kernels: Sequence[str]) -> Command | ParseError | None:
    """The command that a comment opens with.

    Args:
        kernels: those that can be optimised.

    Returns:
        None where the comment is not for the bot.
    """
    line = command_line(body)
    if line is None:
        return None
    try:
        if len(line.rest) > LONGEST_LINE:
            raise _Unreadable(f"The line is longer than {LONGEST_LINE} characters.", _FORMS)
        if line.marked_up:
            raise _Unreadable(f"The line holds {line.marked_up}.", "plain text: no backticks, links or tags")
        return _command(line.rest, kernels)
    except _Unreadable as error:
        read = f"/optimize {line.rest}".strip()[:LONGEST_REASON]
        return ParseError(read=read, problem=error.problem, allowed=error.allowed, near=error.near)


def _command(rest: str, kernels: Sequence[str]) -> Command:
    verb, tail = _split(rest)
    word = verb.casefold().rstrip(".!?")
    if word == "reject":
        return Reject(why=tail[:LONGEST_REASON])
    if word == "approve":
        return Approve(choice=_choice(tail))
    if word in _BARE:
        if tail:
            raise _Unreadable(f"{word!r} takes nothing more, and {tail!r} follows.", f"/optimize {word}")
        return _BARE[word]
    return _optimize(_words(rest), kernels)


def _split(rest: str) -> tuple[str, str]:
    """At any blank, the unbreakable one included."""
    parts = rest.split(maxsplit=1)
    return (parts[0] if parts else "", parts[1] if len(parts) > 1 else "")


def _choice(tail: str) -> str:
    choice = tail.casefold()
    if choice and not VARIANT_NAME.fullmatch(choice):
        raise _Unreadable(f"{tail!r} is no variant's name.", "/optimize approve, or /optimize approve vN such as v2")
    return choice


def _words(rest: str) -> list[str]:
    words = [found[0] for found in _WORD.finditer(rest)]
    if re.sub(r"\s", "", rest) != re.sub(r"\s", "", "".join(words)):
        raise _Unreadable("A quotation mark is opened and not closed.", 'a value in quotes, such as target="…"')
    return words


def _optimize(words: list[str], kernels: Sequence[str]) -> Command:
    others, by_phrase = _without_phrases(words)
    given: dict[str, str] = {"mode": "autonomous"} if by_phrase else {}
    names: list[str] = []
    while others:
        word = others.pop(0)
        name, value = _option(word, others)
        if name:
            if given.setdefault(name, value) != value:
                raise _Unreadable(f"{name} is given twice, as {given[name]!r} and as {value!r}.", "each option once")
        else:
            names.append(value)
    if names and names[0].casefold() == "kernel":
        names.pop(0)
    elif names:
        _refuse_misspelt_verb(names, kernels)
    if not names:
        raise _Unreadable("No kernel is named.", _kernels_text(kernels))
    if len(names) > 1:
        raise _Unreadable(
            f"{names[1]!r} is no option.", "options as name=value: " + ", ".join(option.name for option in OPTIONS)
        )
    return build(names[0], given, kernels)


def _refuse_misspelt_verb(names: list[str], kernels: Sequence[str]) -> None:
    near = difflib.get_close_matches(names[0].casefold(), VERBS, n=1, cutoff=0.75)
    if near and names[0] not in kernels and not near_names(names[0], kernels):
        raise _Unreadable(f"{names[0]!r} is neither a command nor a kernel.", _FORMS, near)


def build(kernel: str, given: dict[str, str], kernels: Sequence[str]) -> Optimize:
    """The command from a kernel's name and the texts of its options.

    Raises:
        _Unreadable: caught by `parse` and `parse_inputs`.
    """
    if kernel not in kernels:
        raise _Unreadable(f"There is no kernel {kernel!r}.", _kernels_text(kernels), near_names(kernel, kernels))
    command = Optimize(request=Request(kernel=kernel))
    for name, text in given.items():
        option = find_option(name)
        assert option is not None
        try:
            command = option.apply(command, text)
        except UsageError as error:
            raise _Unreadable(f"{name}: {error.what}", error.todo) from error
    return command


def parse_inputs(inputs: dict[str, str], kernels: Sequence[str]) -> Optimize | ParseError:
    """The command that a workflow started by hand was given. Empty inputs are as good as none."""
    given = {name: value.strip() for name, value in inputs.items() if value.strip()}
    kernel = given.pop("kernel", "")
    try:
        return build(kernel, {name: text for name, text in given.items() if find_option(name)}, kernels)
    except _Unreadable as error:
        read = " ".join([f"kernel={kernel}", *(f"{name}={text}" for name, text in given.items())])
        return ParseError(
            read=read[:LONGEST_REASON], problem=error.problem, allowed=error.allowed, near=tuple(error.near)
        )


def _kernels_text(kernels: Sequence[str]) -> str:
    shown = ", ".join(kernels[:12])
    if not kernels:
        return "a kernel with its benchmark and its test; this repository has none"
    return f"a kernel of this repository: {shown}" + (", … (all: /optimize list)" if len(kernels) > 12 else "")


def _option(word: str, others: list[str]) -> tuple[str, str]:
    """Name and value of an option, taking the next word where it holds the value; no name for a word that is none."""
    dashed = word.startswith(("--", "—"))
    text, equals, value = word.lstrip("-—").partition("=") if dashed else word.partition("=")
    if not dashed and not equals:
        return "", _unquoted(word)
    if dashed and text.casefold() == "autonomous" and not equals:
        return "mode", "autonomous"
    option = find_option(text)
    if option is None:
        names = [option.name for option in OPTIONS]
        near = difflib.get_close_matches(text.casefold(), names, n=2)
        raise _Unreadable(f"There is no option {text!r}.", "options: " + ", ".join(names), near)
    if not equals:
        value = others.pop(0) if others else ""
    if not _unquoted(value):
        raise _Unreadable(f"{option.name} has no value.", f"{option.name}: {option.allowed}")
    return option.name, _unquoted(value)


def _unquoted(text: str) -> str:
    plain = text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
    return _QUOTE.sub("", plain).strip()


def _without_phrases(words: list[str]) -> tuple[list[str], bool]:
    """The words without the phrases that mean autonomous, and whether there was one."""
    plain = [word.casefold().strip(".,;:!") for word in words]
    kept: list[str] = []
    at, found = 0, False
    while at < len(words):
        phrase = next((phrase for phrase in _PHRASES if plain[at : at + len(phrase)] == phrase), None)
        if phrase is None:
            kept.append(words[at].rstrip(",;"))  # as in "rms_norm, just optimize it"
            at += 1
        else:
            at, found = at + len(phrase), True
    return [word for word in kept if word], found
