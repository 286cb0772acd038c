"""The proof behind pipelining, and the number of stages."""

from __future__ import annotations

import pytest

from liger_perf.techniques.base import Opportunity, Refusal, Rewrite
from liger_perf.techniques.examples import NORM_BACKWARD, SOFTMAX, Example, evidence_for
from liger_perf.techniques.pipelining import Pipelining


def _example(**fields: object) -> Example:
    given = {"name": "", "source": NORM_BACKWARD.source, "in_place": NORM_BACKWARD.in_place}
    return Example(**{**given, **fields})  # type: ignore[arg-type]


def test_stages_that_fit_no_launch_are_left_out() -> None:
    stages = {}
    for columns in (4096, 16384, 65536):
        example = _example(columns=columns)
        result = Pipelining().rewrite(example.source, evidence_for(example))
        stages[columns] = result.knobs[0].values if isinstance(result, Rewrite) else result.reason
    # Two loads of 2 bytes a column; all but one stage wait in 227 KB of shared memory.
    assert stages == {
        4096: (1, 2, 3, 4),
        16384: (1, 2, 3, 4),
        65536: "_norm_backward_kernel: the loads of two turns do not fit into shared memory",
    }


def test_a_stride_narrower_than_the_row_is_refused() -> None:
    source = NORM_BACKWARD.source.replace("dY_stride", "dY_pitch").replace("dX_stride", "dX_pitch")
    # The captured value of a parameter without «stride» in its name is 1 here.
    example = _example(source=source)
    result = Pipelining().rewrite(example.source, evidence_for(example))
    assert isinstance(result, Refusal)
    assert "wider than its stride" in result.reason


def test_separate_buffers_need_no_proof_of_rows() -> None:
    source = NORM_BACKWARD.source.replace("dX_ptr + row * dX_stride", "dX_ptr + (row + 1) * dX_stride").replace(
        "dY if in_place else torch.empty_like(dY)", "torch.empty_like(dY)"
    )
    example = _example(source=source, in_place=())
    assert isinstance(Pipelining().rewrite(example.source, evidence_for(example)), Rewrite)


def test_an_alias_in_the_host_code_counts_though_no_launch_showed_it() -> None:
    source = NORM_BACKWARD.source.replace("dX_ptr + row * dX_stride", "dX_ptr + (row + 1) * dX_stride")
    example = _example(source=source, in_place=())
    assert isinstance(Pipelining().rewrite(example.source, evidence_for(example)), Refusal)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP: tl.constexpr)", "STEP: tl.constexpr, HALF: tl.constexpr)"),
        ("range(0, n_cols, STEP)", "range(0, n_cols, 512)"),
    ],
)
def test_columns_are_disjoint_only_where_the_step_is_the_block(old: str, new: str) -> None:
    example = _example(source=SOFTMAX.source.replace(old, new), in_place=())
    result = Pipelining().rewrite(example.source, evidence_for(example))
    assert isinstance(result, Rewrite)
    # The first loop only loads and stays safe; the second stores in place.
    assert result.source.count("num_stages=LOOP_STAGES") == (1 if "512" in new else 2)


def test_many_turns_promise_more_than_few() -> None:
    found = Pipelining().consider(evidence_for(NORM_BACKWARD))
    assert isinstance(found, Opportunity)
    assert found.predicted_gain == 1.35


def test_a_used_name_is_not_taken() -> None:
    source = NORM_BACKWARD.source.replace("BLOCK: tl.constexpr,", "LOOP_STAGES: tl.constexpr,").replace(
        "(0, BLOCK)", "(0, LOOP_STAGES)"
    )
    source = source.replace("((BLOCK,)", "((LOOP_STAGES,)").replace("BLOCK=BLOCK", "LOOP_STAGES=BLOCK")
    example = _example(source=source)
    result = Pipelining().rewrite(example.source, evidence_for(example))
    assert isinstance(result, Rewrite)
    assert result.knobs[0].constexpr == "LOOP_STAGES_2"
    assert "num_stages=LOOP_STAGES_2" in result.source
    assert Pipelining().rewrite(result.source, evidence_for(example)) == result
