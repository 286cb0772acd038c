"""The function that tells whether a device is of the architecture that was measured; settings functions ask it first.

It is cached, because asking torch for the capability costs the host 2.4 µs a call (measured beside one H200), and small
launches wait for the host: a gate that cost more than the launch gains would be a loss. It asks for the properties,
which torch.compile folds into a constant; get_device_capability would break the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import libcst as cst

from liger_perf.kernels.source import Edit, Source, dotted, parsed
from liger_perf.techniques.statements import line_before

GATE = "_is_measured_gpu"
MODULE = "functools"


def with_gate(text: str, function: str, capability: tuple[int, int]) -> str:
    """Put the gate above the settings function `function`, and import what it needs. Changes nothing where it is there.

    Raises:
        ValueError: the file has no such function.
    """
    source = parsed(text)
    if source.function(GATE) is not None:
        return text
    node = source.function(function)
    if node is None:
        raise ValueError(f"the file has no settings function {function}")
    position = line_before(source, node)
    gate = Edit(position, position, _gate(capability))
    return source.edited([*_import(source), gate])


def _gate(capability: tuple[int, int]) -> str:
    major, minor = capability
    return (
        f"@{MODULE}.cache\n"
        f"def {GATE}(device):\n"
        '    """Whether the settings below apply: an NVIDIA GPU of the architecture on which they were measured."""\n'
        "    # AMD GPUs are called cuda by torch as well. Cached, since the host waits for the answer at each launch.\n"
        '    if device.type != "cuda" or torch.version.hip is not None:\n'
        "        return False\n"
        "    properties = torch.cuda.get_device_properties(device)\n"
        f"    return (properties.major, properties.minor) == ({major}, {minor})\n\n\n"
    )


def _import(source: Source) -> list[Edit]:
    """The import of functools, among the imports of the standard library in the order of the alphabet."""
    plain = [node for node in source.module.body if _imported(node)]
    if any(MODULE in _imported(node) for node in plain):
        return []
    standard = [node for node in plain if _is_standard(_imported(node))]
    later = next((node for node in standard if min(_imported(node)) > MODULE), None)
    if later is not None:
        position = line_before(source, later)
        return [Edit(position, position, f"import {MODULE}\n")]
    if standard:
        end = source.span(standard[-1])[1]
        return [Edit(end, end, f"\nimport {MODULE}")]
    first = plain[0] if plain else source.module.body[0]
    position = line_before(source, first)
    return [Edit(position, position, f"import {MODULE}\n\n")]


def _imported(node: cst.CSTNode) -> tuple[str, ...]:
    """The modules of a plain `import a, b` without other names; empty for every other statement."""
    if not (isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Import)):
        return ()
    return tuple(dotted(alias.name) for alias in node.body[0].names if alias.asname is None)


def _is_standard(modules: Sequence[str]) -> bool:
    return bool(modules) and all(module.split(".")[0] in sys.stdlib_module_names for module in modules)
