"""What was seen beneath the repository's benchmark script: points, launches and their arguments."""

from __future__ import annotations

import msgspec

Scalar = int | float | bool | str | None


class TensorArgument(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor passed to a launch. `storage` numbers distinct storages within one point: equal numbers alias."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    itemsize: int
    storage: int
    offset: int = 0

    @property
    def nbytes(self) -> int:
        count = self.itemsize
        for extent in self.shape:
            count *= extent
        return count


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """One argument of a launch by its parameter's name: a tensor, or a value as Triton specialises on it."""

    name: str
    value: Scalar = None
    tensor: TensorArgument | None = None
    constexpr: bool = False


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch of a jitted kernel: arguments in the order of the parameters, options apart."""

    kernel: str
    module: str
    own: bool
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    options: dict[str, Scalar]

    def value(self, name: str) -> Scalar:
        """The value of a scalar argument, or None."""
        return next((argument.value for argument in self.arguments if argument.name == name), None)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A place on the judge's grid beyond the script's own: configuration keys replaced, x values replaced.

    `config` maps a key of the script's `extra_benchmark_config` to its new value ("2048", "torch.float32").
    An empty cell is the script as it is.
    """

    config: dict[str, str] = {}
    xs: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return label(self.config)


def label(config: dict[str, str]) -> str:
    """Values of a configuration as one phrase."""
    return ",".join(f"{key}={value.removeprefix('torch.')}" for key, value in sorted(config.items()))


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of the benchmark script: (metric, pass, provider, x) in one configuration.

    `apart` is what differs from the first configuration of the script: some scripts run the same sizes in several.
    """

    metric: str
    mode: str
    provider: str
    x_name: str
    x: str
    config: dict[str, str]
    cell: Cell = Cell()
    apart: dict[str, str] = {}

    @property
    def key(self) -> str:
        """A stable name, equal for the same point of two trees."""
        beyond = {**self.apart, **self.cell.config}
        where = f" [{label(beyond)}]" if beyond else ""
        return f"{self.metric}/{self.mode}/{self.provider} {self.x_name}={self.x}{where}"


class SettingsCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a generated settings function, as the host code made it at a point.

    `shape` holds the integer arguments by name (for example n_rows, n_cols), `itemsize` the bytes of the dtype.
    """

    function: str
    shape: dict[str, int]
    dtype: str
    itemsize: int


class PointRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of the point's callable launched."""

    point: Point
    launches: tuple[Launch, ...]
    settings_calls: tuple[SettingsCall, ...] = ()
    function_classes: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[Launch, ...]:
        return tuple(launch for launch in self.launches if launch.own)


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """All points of one walk through the benchmark script."""

    records: tuple[PointRecord, ...]

    @property
    def own_records(self) -> tuple[PointRecord, ...]:
        """The points beneath which the kernel's own file launched something."""
        return tuple(record for record in self.records if record.own)
