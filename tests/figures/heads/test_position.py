"""What position does in heads: beside its null, with a band for the logits alone."""

import numpy as np
import pytest
from scipy import stats

from armillary.figures import FIGURES
from armillary.figures.kit.colours import NULL


@pytest.mark.parametrize(
    ("name", "path"),
    [("head-dissection", "dissection/energy_position"), ("head-argmax", "qk_smoothness/argmax_share")],
)
def test_every_head_stands_beside_its_null(results, changed, name, path):
    own, null = FIGURES[name].draw(results).data
    assert own.y == pytest.approx(100 * results[path].values.ravel())
    assert null.y == pytest.approx(100 * results[f"{path}_null"].values.ravel())
    assert "null" in null.name
    assert null.marker.line.color == NULL
    assert null.text == own.text
    assert ", and 15 of 16 heads exceed the highest" in FIGURES[name].detail(results)
    high = changed(results, **{f"{path}_null".replace("/", "__"): 2.0})
    assert ", and 0 of 16 heads" in FIGURES[name].detail(high)
    without = changed(results, **{f"{path}_null".replace("/", "__"): None})
    assert "this run has no null for it" in FIGURES[name].detail(without)


def test_smoothness_is_the_mean_over_heads_with_a_band_for_the_logits_alone(results):
    figure = FIGURES["head-smoothness"].draw(results)
    curves = {(trace.name, trace.xaxis): trace for trace in figure.data if trace.fill is None}
    assert {name for name, _ in curves} == {
        "P Pᵀ", "P W Pᵀ", "logits", "circular-shift null of P Pᵀ", "circular-shift null of P W Pᵀ",
    }  # fmt: skip
    node = results["qk_smoothness"]
    assert curves["P W Pᵀ", "x4"].y == pytest.approx(
        100 * node.low_frequency_share_weighted[..., 10].mean("head").values
    )
    bands = [trace for trace in figure.data if trace.fill == "toself"]
    assert len(bands) == 4
    margin = 100 * 0.01 * stats.t.ppf(0.975, 6)
    assert bands[3].y[:4] == pytest.approx(curves["logits", "x4"].y + margin)
    assert (
        FIGURES["head-smoothness"]
        .detail(results)
        .startswith("Energy in frequencies 0 to 10: P Pᵀ 68.6 % (null 22.9 %), P W Pᵀ ")
    )


def test_a_head_is_beside_its_own_null_whatever_the_null_of_another(results, changed):
    own = np.full((4, 4), 0.5)
    share = own + 0.1
    own[0, 0], share[3, 3] = 1.0, 0.2
    run = changed(results, qk_smoothness__argmax_share=share, qk_smoothness__argmax_share_null=own)
    finding = FIGURES["head-argmax"].finding(run)
    assert finding == "14 of 16 heads peak at the query more often than circularly shifted"
