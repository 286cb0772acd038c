"""Stands in for generated settings functions, so that a search can try settings without rewriting the file.

A generated settings function is recognised by its form: a module-level `_…_settings` whose last two parameters are
`dtype` and `device` (see liger_perf.techniques.base).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from liger_perf.model.launches import SettingsCall
from liger_perf.model.protocol import Settings


def is_settings_function(name: str, value: object) -> bool:
    if not (isinstance(value, FunctionType) and name.startswith("_") and name.endswith("_settings")):
        return False
    code = value.__code__
    return code.co_varnames[: code.co_argcount][-2:] == ("dtype", "device")


class SettingsHook:
    """Wraps every settings function of a module."""

    def __init__(self, module: ModuleType) -> None:
        self._answers: Settings = {}
        self._calls: list[SettingsCall] | None = None
        for name, value in list(vars(module).items()):
            if is_settings_function(name, value):
                setattr(module, name, self._wrapped(name, value))

    def _wrapped(self, name: str, function: FunctionType) -> Callable[..., dict[str, int]]:
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]

        def settings(*args: Any) -> dict[str, int]:
            if self._calls is not None:
                bound = dict(zip(parameters, args, strict=True))
                dtype = bound.pop("dtype")
                bound.pop("device")
                shape = {key: int(value) for key, value in bound.items()}
                name_of = str(dtype).removeprefix("torch.")
                self._calls.append(SettingsCall(function=name, shape=shape, dtype=name_of, itemsize=dtype.itemsize))
            if name in self._answers:
                return dict(self._answers[name])
            return function(*args)  # type: ignore[no-any-return]

        return settings

    @contextmanager
    def answering(self, answers: Settings) -> Iterator[None]:
        """Inside, a function named in `answers` answers that; others answer as they are written."""
        self._answers = answers
        try:
            yield
        finally:
            self._answers = {}

    @contextmanager
    def recording(self) -> Iterator[list[SettingsCall]]:
        self._calls = []
        try:
            yield self._calls
        finally:
            self._calls = None
