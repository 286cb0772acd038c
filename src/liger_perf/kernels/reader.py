"""Reads the facts of an ops file. Whatever it cannot tell stays empty: unusual code is no error here."""

from __future__ import annotations

import libcst as cst

from liger_perf.kernels.dataflow import is_jitted
from liger_perf.kernels.facts import JitKernel, KernelFile, LaunchSite
from liger_perf.kernels.host import aliases, host_functions, launch_calls, partial_sums
from liger_perf.kernels.jitted import read_kernel
from liger_perf.kernels.source import Source, called, dotted, positional, walk

_OPTIONS = frozenset(
    ("num_warps", "num_stages", "num_ctas", "maxnreg", "grf_mode", "waves_per_eu", "matrix_instr_nonkdim")
)
_DEVICE_WORDS = ("device.type", "is_hip", "infer_device", "is_npu", "xpu", "npu", "_arch", "capability")


def read_kernel_file(source: str) -> KernelFile:
    """Read all facts of an ops file.

    Raises:
        PreflightError: the text is not valid Python; it names the line.
    """
    return read_facts(Source(source))


def read_facts(source: Source) -> KernelFile:
    """The same from a file that is already parsed."""
    kernels = tuple(read_kernel(source, node) for node in source.functions() if is_jitted(node))
    hosts = list(host_functions(source))
    launches = tuple(
        _site(source, kernels, name, node, call) for name, node in hosts for call in launch_calls(source, node)
    )
    return KernelFile(
        kernels=kernels,
        launches=launches,
        function_classes=tuple(node.name.value for node in _function_classes(source)),
        partial_sums=tuple(found for name, node in hosts for found in partial_sums(source, kernels, name, node)),
        saved_tensors=_saved_tensors(source),
        in_place=_in_place(source, kernels, launches, [node for _, node in hosts]),
        torch_calls=_torch_calls([node for _, node in hosts]),
        device_branches=_device_branches(source, [node for _, node in hosts]),
    )


def read_one_kernel(source: Source, name: str) -> JitKernel | None:
    """The facts of one jitted function, without reading the rest of the file."""
    function = source.function(name)
    return read_kernel(source, function) if function is not None and is_jitted(function) else None


def _site(
    source: Source, kernels: tuple[JitKernel, ...], name: str, function: cst.FunctionDef, call: cst.Call
) -> LaunchSite:
    assert isinstance(call.func, cst.Subscript)
    target = dotted(call.func.value)
    params = next((kernel.params for kernel in kernels if kernel.name == target), ())
    arguments: dict[str, str] = dict(zip(params, map(source.get, positional(call)), strict=False))
    options: dict[str, str] = {}
    splat = ""
    for arg in call.args:
        if arg.star == "**":
            splat = source.get(arg.value)
        elif arg.keyword is not None:
            key = arg.keyword.value
            is_option = key in _OPTIONS if not params else key not in params
            (options if is_option else arguments)[key] = source.get(arg.value)
    return LaunchSite(
        kernel=target,
        function=name,
        grid=", ".join(source.get(element) for element in call.func.slice),
        arguments=arguments,
        options=options,
        splat=splat,
        line=source.line(call),
    )


def _function_classes(source: Source) -> list[cst.ClassDef]:
    return [
        node
        for node in walk(source.module)
        if isinstance(node, cst.ClassDef)
        and any(dotted(base.value).endswith(("autograd.Function", "Function")) for base in node.bases)
    ]


def _saved_tensors(source: Source) -> tuple[str, ...]:
    saved = [
        source.get(arg.value)
        for node in walk(source.module)
        if isinstance(node, cst.Call) and called(node).endswith(".save_for_backward")
        for arg in node.args
    ]
    return tuple(dict.fromkeys(saved))


def _in_place(
    source: Source,
    kernels: tuple[JitKernel, ...],
    launches: tuple[LaunchSite, ...],
    functions: list[cst.FunctionDef],
) -> tuple[str, ...]:
    inside = [
        f"{kernel.name}.{pointer}"
        for kernel in kernels
        for pointer in kernel.params
        if pointer in kernel.loads and pointer in kernel.stores
    ]
    accessed = {pointer for kernel in kernels for pointer in (*kernel.loads, *kernel.stores)}
    tensors = {text for site in launches for name, text in site.arguments.items() if name in accessed}
    shared = [f"{left} = {right}" for node in functions for left, right in aliases(source, node) if left in tensors]
    return tuple(dict.fromkeys(inside + shared))


def _torch_calls(functions: list[cst.FunctionDef]) -> tuple[str, ...]:
    found = [
        called(node)
        for function in functions
        for node in walk(function)
        if isinstance(node, cst.Call) and called(node).startswith(("torch.", "F.", "_F."))
    ]
    return tuple(dict.fromkeys(found))


def _device_branches(source: Source, functions: list[cst.FunctionDef]) -> tuple[str, ...]:
    """Conditions that ask for a device or an architecture."""
    found = [
        " ".join(source.get(node.test).split())
        for function in functions
        for node in walk(function)
        if isinstance(node, cst.If | cst.IfExp)
    ]
    return tuple(dict.fromkeys(text for text in found if any(word in text for word in _DEVICE_WORDS)))
