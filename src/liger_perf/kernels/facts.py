"""Facts about a kernel file, read from its source with libcst. Nothing is looked up by name."""

from __future__ import annotations

import msgspec


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """A `for` over range, tl.range or tl.static_range inside a jitted kernel. `arguments` as source text."""

    kind: str
    arguments: tuple[str, ...]
    index: str
    loads: int
    stores: int
    reductions: int
    line: int
    steps_by: str = ""


class JitKernel(msgspec.Struct, frozen=True, kw_only=True):
    """A function under @triton.jit.

    Attributes:
        params: all parameters in order; constexprs: those annotated tl.constexpr.
        extents: scalar parameters that bound elements: compared with a tl.arange-derived value ("columns").
        row_extents: runtime scalar parameters that bound rows: in min(…), a range(…) bound, or a row mask.
        covering_blocks: constexprs whose tl.arange must cover an extent (whole row a program).
        free_blocks: constexprs that are the step of a loop: any value gives equal results.
        main_inputs: pointers of which every program, or turn of a loop, loads whole rows of its own, in order.
        transcendentals: calls of exp, exp2, log and log2.
        counts_programs: whether it reads tl.num_programs, so that any grid gives equal results.
    """

    name: str
    params: tuple[str, ...]
    constexprs: tuple[str, ...]
    loops: tuple[Loop, ...]
    loads: tuple[str, ...]
    stores: tuple[str, ...]
    reductions: int
    dots: int
    atomics: int
    exps: int
    extents: tuple[str, ...]
    row_extents: tuple[str, ...]
    covering_blocks: tuple[str, ...]
    free_blocks: tuple[str, ...]
    precision_ops: tuple[str, ...]
    docstring: str
    autotuned: bool
    main_inputs: tuple[str, ...] = ()
    transcendentals: int = 0
    counts_programs: bool = False
    line: int


class LaunchSite(msgspec.Struct, frozen=True, kw_only=True):
    """A `kernel[grid](…)` in a host function. Expressions are source text; `arguments` maps parameter → expression.

    Of a kernel from another file only the keywords are known.
    """

    kernel: str
    function: str
    grid: str
    arguments: dict[str, str]
    options: dict[str, str]
    splat: str = ""
    line: int


class PartialSum(msgspec.Struct, frozen=True, kw_only=True):
    """Host code that launches one program per SM and sums partial results: `programs` is the variable that is the grid,
    the leading extent of `buffers` and the divisor of the rows per program, which is the variable `rows`."""

    function: str
    kernel: str
    programs: str
    buffers: tuple[str, ...]
    rows: str


class KernelFile(msgspec.Struct, frozen=True, kw_only=True):
    """All facts of one ops file.

    `in_place` holds "kernel.parameter" for what a kernel both loads and stores, and "dX = dY" where the host function
    lets an output share an input's memory.
    """

    kernels: tuple[JitKernel, ...]
    launches: tuple[LaunchSite, ...]
    function_classes: tuple[str, ...]
    partial_sums: tuple[PartialSum, ...]
    saved_tensors: tuple[str, ...]
    in_place: tuple[str, ...]
    torch_calls: tuple[str, ...]
    device_branches: tuple[str, ...]

    def kernel(self, name: str) -> JitKernel | None:
        return next((kernel for kernel in self.kernels if kernel.name == name), None)
