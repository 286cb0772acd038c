"""A Python file as text, its syntax tree, and edits by position.

Rewrites are lists of `Edit` on the bytes of the file, so that whatever an edit does not name stays as it was: comments,
blank lines, quotes. The tree only tells where things are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import libcst as cst
import msgspec
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from liger_perf.model.errors import PreflightError

BYTE_ORDER_MARK = "\ufeff"


class Edit(msgspec.Struct, frozen=True):
    """Replace the bytes from `start` up to `end` with `text`. Equal ends insert."""

    start: int
    end: int
    text: str


class Source:
    """One parsed file. Raises PreflightError, naming the line, when it is no valid Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        # libcst counts from behind the byte order mark.
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        body = text.removeprefix(self._mark)
        self.bytes = body.encode()
        try:
            wrapper = MetadataWrapper(cst.parse_module(body), unsafe_skip_copy=True)
        except cst.ParserSyntaxError as error:
            raise PreflightError(
                "the kernel file is not valid Python",
                where=f"line {error.raw_line}",
                todo="repair the file first; nothing was changed",
                details=str(error.message),
            ) from error
        self.module = wrapper.module
        self._newline = wrapper.module.default_newline
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        for node in walk(self.module):
            for child in _children(node):
                self._parents[child] = node
        self._functions = [node for node in walk(self.module) if isinstance(node, cst.FunctionDef)]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end of a node in bytes, without the whitespace and comments around it."""
        span = self._spans[node]
        start, end = span.start, span.start + span.length
        if isinstance(node, cst.Param):  # libcst gives its name only
            for part in (node.annotation, node.default):
                end = max(end, self.span(part)[1]) if part is not None else end
        return start, end

    def get(self, node: cst.CSTNode) -> str:
        """A node's own text."""
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def line(self, node: cst.CSTNode) -> int:
        """The line on which a node starts, counted from 1."""
        return self.bytes.count(b"\n", 0, self.span(node)[0]) + 1

    def indent(self, node: cst.CSTNode) -> str:
        """The whitespace before the first character of the line on which a node starts."""
        start = self.line_start(self.span(node)[0])
        line = self.bytes[start:].split(b"\n", 1)[0].decode()
        return line[: len(line) - len(line.lstrip())]

    def line_start(self, position: int) -> int:
        """The position of the first byte of the line that holds `position`."""
        return self.bytes.rfind(b"\n", 0, position) + 1

    def line_end(self, position: int) -> int:
        """The position behind the last byte of that line, before its line end."""
        end = self.bytes.find(b"\n", position)
        end = len(self.bytes) if end < 0 else end
        return end - 1 if end > position and self.bytes[end - 1 : end] == b"\r" else end

    def next_line(self, position: int) -> int:
        """The position of the first byte of the line below."""
        end = self.bytes.find(b"\n", position)
        return len(self.bytes) if end < 0 else end + 1

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, the nearest first."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def functions(self) -> Sequence[cst.FunctionDef]:
        """All functions of the file, methods and nested ones too, in order."""
        return self._functions

    def function(self, name: str) -> cst.FunctionDef | None:
        """The first function of that name."""
        return next((node for node in self.functions() if node.name.value == name), None)

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text after `edits`, which must not overlap; insertions at one place keep their order.

        What they insert gets the file's own line ends.
        """
        ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
        pieces: list[bytes] = []
        position = 0
        for edit in ordered:
            if edit.start < position:
                raise ValueError(f"edits overlap at byte {edit.start}: {edit.text!r}")
            pieces += [self.bytes[position : edit.start], self._own_lines(edit.text).encode()]
            position = edit.end
        pieces.append(self.bytes[position:])
        return self._mark + b"".join(pieces).decode()

    def _own_lines(self, text: str) -> str:
        return text if self._newline == "\n" else text.replace("\r\n", "\n").replace("\n", self._newline)


@lru_cache(maxsize=8)
def parsed(text: str) -> Source:
    """The parsed file, remembered: successive steps of a rewrite ask for the same text again."""
    return Source(text)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything inside it, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(_children(current)))


@lru_cache(maxsize=100_000)
def _children(node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """libcst finds the children of a node by visiting it, which is slow; a tree here is walked many times."""
    return tuple(child for child in node.children if not isinstance(child, cst.BaseParenthesizableWhitespace))


def dotted(node: cst.CSTNode) -> str:
    """`tl.load` for the tree of tl.load; empty for anything but names and attributes."""
    match node:
        case cst.Name(value=value):
            return value
        case cst.Attribute(value=value, attr=cst.Name(value=attribute)):
            head = dotted(value)
            return f"{head}.{attribute}" if head else ""
        case _:
            return ""


def called(node: cst.CSTNode) -> str:
    """The dotted name that a call calls; empty for other nodes."""
    return dotted(node.func) if isinstance(node, cst.Call) else ""


def names(node: cst.CSTNode) -> set[str]:
    """The plain names read in an expression; attributes and keywords are not names."""
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name):
            found.add(current.value)
        elif isinstance(current, cst.Attribute | cst.Arg):
            stack.append(current.value)
        else:
            stack.extend(current.children)
    return found


def bound(node: cst.CSTNode) -> dict[str, list[cst.CSTNode]]:
    """Every name that statements inside `node` bind, with the binding statements in order."""
    found: dict[str, list[cst.CSTNode]] = {}
    for part in walk(node):
        for target in _targets(part):
            for name in _target_names(target):
                found.setdefault(name, []).append(part)
    return found


def positional(call: cst.Call) -> Sequence[cst.Arg]:
    """The arguments given by place."""
    return [arg for arg in call.args if arg.keyword is None and not arg.star]


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The argument given by that keyword, or None."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def _targets(node: cst.CSTNode) -> list[cst.CSTNode]:
    match node:
        case cst.Assign(targets=targets):
            return [target.target for target in targets]
        case cst.AugAssign(target=target) | cst.AnnAssign(target=target) | cst.NamedExpr(target=target):
            return [target]
        case cst.For(target=target):
            return [target]
        case cst.AsName(name=name):
            return [name]
        case _:
            return []


def _target_names(target: cst.CSTNode) -> Iterator[str]:
    match target:
        case cst.Name(value=value):
            yield value
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _target_names(element.value)
        case _:
            return
