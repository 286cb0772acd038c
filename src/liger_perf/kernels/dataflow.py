"""What expressions inside a jitted kernel amount to: sums of products of parameters, program ids, lanes and indices.

Only addition, subtraction, multiplication, casts and broadcasting are followed; everything else becomes an opaque atom
that equals nothing but itself. So two equal forms mean equal values, and unequal forms mean «not known».
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from liger_perf.kernels.source import Source, bound, called, dotted, positional, walk

Monomial = tuple[str, ...]
Form = Mapping[Monomial, int]
"""A sum: each product of atoms (sorted) with its integer factor."""

OPAQUE = "?"
LANES = "arange"
PROGRAM = "program_id"
INDEX = "@"

_CAST_METHODS = ("to", "cast", "expand_dims")
_LIMIT = 64


class Dataflow:
    """Resolves expressions of one function to forms."""

    def __init__(self, source: Source, function: cst.FunctionDef) -> None:
        self.source = source
        self.function = function
        self.params = tuple(param.name.value for param in parameters(function))
        self._bound = bound(function.body)
        self._loops = [node for node in walk(function.body) if isinstance(node, cst.For | cst.While)]

    def form(self, node: cst.CSTNode) -> Form:
        """The value of an expression as a sum of products."""
        match node:
            case cst.Integer():
                return {(): node.evaluated_value}
            case cst.Name():
                return self._name(node)
            case cst.BinaryOperation(operator=cst.Add()):
                return _add(self.form(node.left), self.form(node.right), 1)
            case cst.BinaryOperation(operator=cst.Subtract()):
                return _add(self.form(node.left), self.form(node.right), -1)
            case cst.BinaryOperation(operator=cst.Multiply()):
                return self._multiplied(node)
            case cst.Call():
                return self._call(node)
            case cst.Subscript():
                return self._broadcast(node)
            case _:
                return self._opaque(node)

    def definition(self, name: str, use: cst.CSTNode) -> cst.CSTNode | None:
        """The one statement that gave `name` the value read at `use`; None where it is a parameter or not certain."""
        position = self.source.span(use)[0]
        bindings = self._bound.get(name, [])
        before = [node for node in bindings if self.source.span(node)[0] < position and not self._reads(node, use)]
        if not before:
            return None
        last = before[-1]
        if isinstance(last, cst.For):
            return last if self._encloses(last, use) else None
        block = next((node for node in self.source.ancestors(last) if isinstance(node, cst.IndentedBlock)), None)
        certain = block is not None and self._encloses(block, use) and not self._carried(last, use, bindings)
        return last if certain else None

    def is_certain(self, name: str, use: cst.CSTNode) -> bool:
        """Whether the value read is known: a parameter that nothing binds before, or one certain binding."""
        position = self.source.span(use)[0]
        bindings = self._bound.get(name, [])
        if not bindings or self.definition(name, use) is not None:
            return True
        earlier = any(self.source.span(node)[0] < position for node in bindings)
        return not earlier and not self._carried(None, use, bindings)

    def _encloses(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        (start, end), (first, last) = self.source.span(outer), self.source.span(inner)
        return start <= first and last <= end

    def _reads(self, statement: cst.CSTNode, use: cst.CSTNode) -> bool:
        """Whether `use` is read by the binding statement itself, so before it binds."""
        return self._encloses(statement.iter if isinstance(statement, cst.For) else statement, use)

    def _carried(self, last: cst.CSTNode | None, use: cst.CSTNode, bindings: list[cst.CSTNode]) -> bool:
        """Whether a loop around the use, but not around `last`, binds the name too."""
        return any(
            self._encloses(loop, use)
            and (last is None or not self._encloses(loop, last))
            and any(self._encloses(loop, node) for node in bindings)
            for loop in self._loops
        )

    def _name(self, node: cst.Name) -> Form:
        name = node.value
        if not self.is_certain(name, node):
            return self._opaque(node)
        match self.definition(name, node):
            case None:
                return {(name,): 1}
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value):
                return self.form(value)
            case cst.AugAssign(operator=cst.AddAssign(), target=target, value=value):
                return _add(self.form(target), self.form(value), 1)
            case cst.For() as loop:
                return {(f"{INDEX}{name}:{self.source.span(loop)[0]}",): 1}
            case other:
                return self._opaque(other, name)

    def _multiplied(self, node: cst.BinaryOperation) -> Form:
        left, right = self.form(node.left), self.form(node.right)
        if len(left) * len(right) > _LIMIT:
            return self._opaque(node)
        product: dict[Monomial, int] = {}
        for first, one in left.items():
            for second, two in right.items():
                monomial = tuple(sorted(first + second))
                product[monomial] = product.get(monomial, 0) + one * two
        return product

    def _call(self, node: cst.Call) -> Form:
        name = called(node)
        arguments = positional(node)
        if name == "tl.program_id" and len(arguments) == 1:
            return {(f"{PROGRAM}({self.source.get(arguments[0])})",): 1}
        if name == "tl.num_programs" and len(arguments) == 1:
            return {(f"num_programs({self.source.get(arguments[0])})",): 1}
        if name == "tl.arange" and len(arguments) == 2 and self.source.get(arguments[0]) == "0":
            return {(f"{LANES}({self.source.get(arguments[1])})",): 1}
        if name == "tl.cast" and arguments:
            return self.form(arguments[0].value)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _CAST_METHODS and name != "tl.expand_dims":
            return self.form(node.func.value)
        return self._opaque(node)

    def _broadcast(self, node: cst.Subscript) -> Form:
        """`x[:, None]` is x with its lanes along that axis; other subscripts are opaque."""
        suffix = self.source.get(node)[len(self.source.get(node.value)) :].replace(" ", "")
        if set(suffix) - set("[]:,None"):
            return self._opaque(node)
        inner = self.form(node.value)
        return {tuple(_along(atom, suffix) for atom in monomial): factor for monomial, factor in inner.items()}

    def _opaque(self, node: cst.CSTNode, name: str = "") -> Form:
        text = name or " ".join(self.source.get(node).split())
        return {(f"{OPAQUE}{text}:{self.source.span(node)[0]}",): 1}


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """All parameters of a function in the order of a call, without *args and **kwargs."""
    return [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]


def is_jitted(function: cst.FunctionDef) -> bool:
    """Whether the function is decorated with triton.jit, called or not."""
    return any(_decorator(decorator) in ("triton.jit", "jit") for decorator in function.decorators)


def is_autotuned(function: cst.FunctionDef) -> bool:
    return any(_decorator(decorator) in ("triton.autotune", "autotune") for decorator in function.decorators)


def _decorator(decorator: cst.Decorator) -> str:
    node = decorator.decorator
    return called(node) if isinstance(node, cst.Call) else dotted(node)


def lanes(form: Form) -> set[str]:
    """The lane atoms of a form, without the axis along which they lie."""
    return {atom.split("[")[0] for monomial in form for atom in monomial if atom.startswith(LANES)}


def _along(atom: str, suffix: str) -> str:
    return f"{atom}{suffix}" if atom.startswith((LANES, OPAQUE)) else atom


def _add(left: Form, right: Form, sign: int) -> Form:
    total = dict(left)
    for monomial, factor in right.items():
        total[monomial] = total.get(monomial, 0) + sign * factor
    return {monomial: factor for monomial, factor in total.items() if factor}
