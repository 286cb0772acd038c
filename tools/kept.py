"""What is kept of a session's workspace under docs/results: figures and raw samples, no text of the target repository.

The target's licence is not ours, so its source, the variants' sources, the patch and the pages that quote them stay
behind. Samples lie compressed; everything else is text that a reader can open.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from liger_perf.measure.benchmark import parse_rows
from liger_perf.measure.judge import compare
from liger_perf.model import points
from liger_perf.model.branches import Branch
from liger_perf.model.errors import LigerPerfError
from liger_perf.model.final import ArchitectureCheck, GateResult
from liger_perf.model.measurements import BenchmarkRow, Block, Clock, Comparison, PassSample
from liger_perf.model.profile import ProfileResult
from liger_perf.model.variants import Hypothesis, Trial, VariantResult
from liger_perf.session.entries import StageFailed, Started
from liger_perf.session.journal import Journal
from liger_perf.session.journal import decode as decode_journal
from liger_perf.session.model import fold
from liger_perf.stages import workspace as names

T = TypeVar("T")

RUN = "run.json"
PROFILE = "profile.json"
TRIALS = "trials.csv.gz"
PAGE = "README.md"
PLOT = "speedup.png"
SUMMARY = "summary.md"
MAX_BYTES = 3_000_000
BEST_TRIALS = 5
UNFINISHED = "UNFINISHED"
DAMAGED = (OSError, EOFError, zlib.error)
LEFT_OUT = "(text that holds code is left out)"

# What no sentence of ours says and Python of a kernel's file does.
_CODE = re.compile(
    r"^\s*import triton|^\s*from triton|@triton\.|^\s*(?:async )?def \w+\(|^\s*class \w+[(:]|"
    r"\b(?:tl|triton|torch)\.[\w.]+\([^)]|\.to\(tl\.|\[None, :\]|\[:, None\]|^[-+]{3} [ab]/|^@@ -\d",
    re.MULTILINE,
)
_PATH = re.compile(r"(?<![\w./~$-])(?:/[\w.@+-]+){2,}")
_EMPTY = {"configuration": (), "memory_patterns": (), "compute_patterns": ()}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How the session ended, and what it said of its winner.

    Attributes:
        tool: version of liger-perf; `commit` of the target as whoever collected the session named it.
        base_digest, kernel_digest: of the copied checkout and of the kernel's file, as the journal recorded them.
        seal: the last one of the journal.
        outcome: APPLIED, REVERTED, NO WINNER or UNFINISHED.
        final, gain, gain_low: the winner against the original, as the session judged it.
        rejudged: the session judged with another correction; the figures of its variants were computed again from its
            raw samples when they were collected, its decisions were not changed.
    """

    tool: str
    commit: str
    base_digest: str = ""
    kernel_digest: str = ""
    seal: str = ""
    outcome: str = UNFINISHED
    reason: str = ""
    failure: str = ""
    winner: str = ""
    why: str = ""
    stop: str = ""
    final: tuple[Comparison, ...] = ()
    gain: float = 1.0
    gain_low: float = 0.0
    rejudged: bool = False
    gates: tuple[GateResult, ...] = ()
    architectures: tuple[ArchitectureCheck, ...] = ()
    recommendations: tuple[str, ...] = ()
    reproduction: tuple[str, ...] = ()


class KeptVariant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant without its source, and the branches of its settings functions."""

    number: int
    technique: str
    title: str
    parent: str
    hypothesis: Hypothesis
    branches: dict[str, list[Branch]] = {}
    narrows: str = ""

    @property
    def name(self) -> str:
        return f"v{self.number}"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel's folder, read. `judged` and `whole_grid` are computed afresh from the raw samples, by variant."""

    run: Run
    profile: ProfileResult
    variants: tuple[KeptVariant, ...]
    results: tuple[VariantResult, ...]
    rows: dict[str, tuple[BenchmarkRow, ...]]
    trials: tuple[tuple[str, Trial], ...]
    judged: dict[str, tuple[Comparison, ...]]
    whole_grid: dict[str, tuple[Comparison, ...]]

    def variant(self, name: str) -> KeptVariant | None:
        return next((item for item in self.variants if item.name == name), None)

    def result(self, name: str) -> VariantResult | None:
        return next((item for item in self.results if item.name == name), None)

    def ancestry(self, name: str) -> tuple[KeptVariant, ...]:
        """The variant after those that it builds on."""
        chain: list[KeptVariant] = []
        found = self.variant(name)
        while found is not None and found not in chain:
            chain.insert(0, found)
            found = self.variant(found.parent)
        return tuple(chain)


class _Optimized(msgspec.Struct, frozen=True, kw_only=True):
    """Of `optimize.json` what is kept."""

    stop: str
    winner: str
    why: str
    final: tuple[Comparison, ...] = ()
    gain: float = 1.0
    gain_low: float = 0.0
    architectures: tuple[ArchitectureCheck, ...] = ()


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    """Of `report.json` what is kept."""

    outcome: str
    reason: str
    stop: str
    winner: str = ""
    winner_reason: str = ""
    final: tuple[Comparison, ...] = ()
    gain: float = 1.0
    gain_low: float = 0.0
    rejudged: bool = False
    gates: tuple[GateResult, ...] = ()
    architectures: tuple[ArchitectureCheck, ...] = ()
    recommendations: tuple[str, ...] = ()
    reproduction: tuple[str, ...] = ()


# --- collect ---------------------------------------------------------------------------------------------------------


def collect(workspace: Path, commit: str) -> dict[str, bytes]:
    """What may be kept of a workspace, by path in the kernel's folder.

    Raises:
        LigerPerfError: a file is missing, is not what the journal recorded, holds code, or there is too much.
    """
    journal = _journal(workspace)
    profile = _profile(workspace)
    kept = {PROFILE: _json(profile)}
    kept |= _baseline(workspace)
    trials: list[tuple[str, Trial]] = []
    for name in _variants(workspace):
        result = _result(workspace, name)
        trials += [(name, trial) for trial in result.trials]
        kept[names.variant_result(name)] = _json(msgspec.structs.replace(result, trials=_best(result.trials)))
        kept[names.variant_data(name)] = _json(_variant(workspace, name))
        for path in (names.variant_rows(name), names.variant_samples(name), names.final_samples(name)):
            kept |= _csv(workspace, path)
    kept[TRIALS] = compress(_trials_csv(trials))
    kept[RUN] = _json(_run(workspace, journal, commit))
    for path, data in kept.items():
        if reason := holds_code(path, data):
            raise LigerPerfError(f"{path} cannot be kept: {reason}", where=str(workspace))
    size = sum(len(data) for data in kept.values())
    if size > MAX_BYTES:
        raise LigerPerfError(f"{size} bytes are more than the {MAX_BYTES} that a kernel may take", where=str(workspace))
    return kept


def _journal(workspace: Path) -> Journal | None:
    """The session's journal, with the workspace's files checked against it; None for a workspace without one."""
    path = workspace.parent.parent / "journal.jsonl"
    if not path.is_file():
        return None
    journal = decode_journal(path.read_bytes())
    session = fold(journal.entries)
    for file in session.files if session else ():
        found = workspace / file.path
        if not found.is_file() or hashlib.sha256(found.read_bytes()).hexdigest() != file.sha256:
            raise LigerPerfError(
                f"{file.path} is not what the journal recorded", where=str(workspace), todo="collect an unchanged copy"
            )
    return journal


def _profile(workspace: Path) -> ProfileResult:
    data = _read_json(workspace / names.PROFILE_DATA)["profile"]
    data["baseline"]["rows"] = []
    return _clean(msgspec.structs.replace(_convert(data, ProfileResult), **_EMPTY))


def _baseline(workspace: Path) -> dict[str, bytes]:
    found = _csv(workspace, names.BASELINE_ROWS)
    if not found:
        raise LigerPerfError(f"there is no {names.BASELINE_ROWS}", where=str(workspace))
    return found


def _variants(folder: Path) -> list[str]:
    """Variants that have a result, in their order."""
    found = [path.stem for path in folder.glob("results/v*.json") if path.stem[1:].isdigit()]
    return sorted(found, key=lambda name: int(name[1:]))


def _result(workspace: Path, name: str) -> VariantResult:
    data = _read_json(workspace / names.variant_result(name))
    data["rows"] = []
    return _clean(_convert(data, VariantResult))


def _variant(workspace: Path, name: str) -> KeptVariant:
    data = _read_json(workspace / names.variant_data(name))
    return _clean(_convert({**data["variant"], **data}, KeptVariant))


def _csv(workspace: Path, path: str) -> dict[str, bytes]:
    """Rows of the repository's benchmark as they are, samples compressed; nothing where the file is missing."""
    if not (workspace / path).is_file():
        return {}
    data = (workspace / path).read_bytes()
    return {f"{path}.gz": compress(data)} if "/judge/" in path else {path: data}


def _best(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The fastest few at each point; all of them are in the compressed table."""
    found: list[Trial] = []
    for point in dict.fromkeys(trial.point for trial in trials):
        timed = [(trial.device_us, at) for at, trial in enumerate(trials) if trial.point == point and trial.device_us]
        found += [trials[at] for _, at in sorted(timed)[:BEST_TRIALS]]
    return tuple(found)


def _trials_csv(trials: Iterable[tuple[str, Trial]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("variant", "point", "settings", "device_us", "failure"))
    for name, trial in trials:
        settings = json.dumps(trial.settings, sort_keys=True)
        time = "" if trial.device_us is None else repr(trial.device_us)
        writer.writerow((name, trial.point, settings, time, trial.failure))
    return text.getvalue().encode()


def _run(workspace: Path, journal: Journal | None, commit: str) -> Run:
    run = Run(tool="", commit=commit)
    replace = msgspec.structs.replace
    if journal is not None:
        started = next((entry for entry in journal.entries if isinstance(entry, Started)), None)
        last = journal.entries[-1] if journal.entries else None
        run = replace(
            run,
            tool=started.versions.get("liger-perf", "") if started else "",
            base_digest=started.base_digest if started else "",
            kernel_digest=started.kernel_digest if started else "",
            seal=journal.seal,
            failure=last.what if isinstance(last, StageFailed) else "",
        )
    if (workspace / names.OPTIMIZE_DATA).is_file():
        found = _convert(_read_json(workspace / names.OPTIMIZE_DATA), _Optimized)
        run = replace(run, **{field: getattr(found, field) for field in _Optimized.__struct_fields__})
    if (workspace / names.REPORT_DATA).is_file():
        report = _convert(_read_json(workspace / names.REPORT_DATA)["report"], _Report)
        fields = {field: getattr(report, field) for field in _Report.__struct_fields__ if field != "winner_reason"}
        run = replace(run, why=report.winner_reason or run.why, **fields)
    return _clean(run)


def _clean(value: T) -> T:
    """The value with its texts cut to one line, without code and without places of one machine."""
    return msgspec.convert(_cleaned(msgspec.to_builtins(value)), type(value))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {key: _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value


def clean_text(text: str) -> str:
    """One line of ours. Compilers quote the source below their first line."""
    first, *others = text.strip().split("\n")
    if _CODE.search(first):
        return LEFT_OUT
    return _PATH.sub(lambda found: found[0].rpartition("/")[2], first) + (" …" if others else "")


def compress(data: bytes) -> bytes:
    """gzip without a time or a name, so that the same samples give the same file."""
    target = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0, compresslevel=9) as stream:
        stream.write(data)
    return target.getvalue()


def holds_code(path: str, data: bytes) -> str:
    """Why the file may not be kept: it looks as if it held source of the target. Empty where it does not."""
    if path.endswith((".py", ".patch", ".diff")):
        return "source and patches are not kept"
    if path.endswith(".png"):
        return ""
    try:
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode(errors="replace")
    except DAMAGED:
        return "it is damaged"
    # In JSON a line break is written as two characters.
    found = _CODE.search(text) or _CODE.search(text.replace("\\n", "\n").replace('"', "\n"))
    return f"it holds code: {found[0].strip()!r}" if found else ""


# --- read ------------------------------------------------------------------------------------------------------------


def read(folder: Path) -> Kept:
    """A kernel's folder, every comparison computed from its raw samples.

    Raises:
        LigerPerfError: a file is missing or damaged.
    """
    found = _variants(folder)
    samples = {name: folder / f"{names.variant_samples(name)}.gz" for name in found}
    whole = {name: folder / f"{names.final_samples(name)}.gz" for name in found}
    rows = {"v0": folder / names.BASELINE_ROWS} | {name: folder / names.variant_rows(name) for name in found}
    return Kept(
        run=_convert(_read_json(folder / RUN), Run),
        profile=_convert(_read_json(folder / PROFILE), ProfileResult),
        variants=tuple(_convert(_read_json(folder / names.variant_data(name)), KeptVariant) for name in found),
        results=tuple(_convert(_read_json(folder / names.variant_result(name)), VariantResult) for name in found),
        rows={name: parse_rows(path.read_bytes().decode()) for name, path in rows.items() if path.is_file()},
        trials=tuple(_read_trials(folder / TRIALS)),
        judged={name: judged(path) for name, path in samples.items() if path.is_file()},
        whole_grid={name: judged(path) for name, path in whole.items() if path.is_file()},
    )


def judged(path: Path) -> tuple[Comparison, ...]:
    """The judge's comparisons from raw samples, corrected for how many there are, as the session made them."""
    try:
        blocks, noise = _blocks(_lines(path))
        together = len(blocks) * len(Clock)
        return tuple(
            compare(mine, noise.get(point, ()), clock=clock, mode=points.parse(point).mode, comparisons=together)
            for point, mine in blocks.items()
            for clock in (Clock.DEVICE, Clock.WALL)
        )
    except (KeyError, ValueError) as error:
        raise LigerPerfError("the samples cannot be read", where=str(path), details=str(error)) from error


def _blocks(lines: Iterable[Mapping[str, str]]) -> tuple[dict[str, list[Block]], dict[str, list[Block]]]:
    """Blocks of original and candidate, and of the original against itself, by point."""
    gathered: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        block = gathered.setdefault(
            (line["pair"], line["block"]),
            {"point": line["point"], "restart": int(line["restart"]), "order": line["order"], "a": [], "b": []},
        )
        side = "a" if line["role"] == "original" else "b"
        block[side].append(PassSample(float(line["device_us"]), float(line["wall_us"])))
    found: dict[str, dict[str, list[Block]]] = {"candidate": {}, "noise": {}}
    for (pair, _), block in gathered.items():
        a, b = tuple(block.pop("a")), tuple(block.pop("b"))
        found[pair].setdefault(block["point"], []).append(Block(a=a, b=b, **block))
    return found["candidate"], found["noise"]


def _lines(path: Path) -> list[dict[str, str]]:
    try:
        return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    except (*DAMAGED, UnicodeDecodeError) as error:
        raise LigerPerfError("a compressed table cannot be read", where=str(path), details=str(error)) from error


def _read_trials(path: Path) -> Iterator[tuple[str, Trial]]:
    for line in _lines(path):
        time = float(line["device_us"]) if line["device_us"] else None
        settings = json.loads(line["settings"])
        yield (
            line["variant"],
            Trial(point=line["point"], settings=settings, device_us=time, failure=line["failure"]),
        )


def _read_json(path: Path) -> Any:
    try:
        # Python's reader, because a benchmark may have written nan.
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LigerPerfError("a stored result cannot be read", where=str(path), details=str(error)) from error


def _convert(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise LigerPerfError(f"a stored {kind.__name__} cannot be read", details=str(error)) from error


def rejudge(folder: Path, gain: Callable[[Kept, Sequence[Comparison]], tuple[float, float]]) -> None:
    """Replace the variants' figures in a collected folder by what the raw samples give with the correction of today.

    Args:
        gain: the target's gain and its lower bound from comparisons.
    """
    item = read(folder)
    for result in item.results:
        comparisons = item.judged.get(result.name, ())
        if comparisons:
            found, low = gain(item, comparisons)
            again = msgspec.structs.replace(
                result, comparisons=comparisons, target_gain=found, target_gain_low=low, rows=()
            )
            (folder / names.variant_result(result.name)).write_bytes(_json(again))
    (folder / RUN).write_bytes(_json(msgspec.structs.replace(item.run, rejudged=True)))


def _json(value: msgspec.Struct) -> bytes:
    return (json.dumps(msgspec.to_builtins(value), indent=1, ensure_ascii=False) + "\n").encode()
