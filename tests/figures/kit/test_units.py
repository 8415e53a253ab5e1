"""Units: a share is drawn in per cent, labels and units are those of the schema."""

import pytest

from armillary.figures.kit.units import axis_label, drawn, drawn_estimate, scale_of, unit_of


def test_a_share_is_drawn_in_per_cent_and_nothing_else_is(results):
    assert scale_of("position/share_corrected") == 100
    assert scale_of("norms/norm") == 1
    assert drawn(results, "depth/token_share") == pytest.approx(100 * results["depth"].token_share.values)
    assert drawn(results, "norms/norm") == pytest.approx(results["norms"].norm.values)
    share = drawn_estimate(results, "position/share_corrected")
    assert share.se == pytest.approx(100 * results["position"].share_corrected_se.values)
    assert drawn_estimate(results, "norms/norm").se == pytest.approx(results["norms"].norm_se.values)


@pytest.mark.parametrize(
    ("path", "unit", "label"),
    [
        ("position/share_corrected", "%", "position share, %"),
        ("heads/distance", "tokens", "mean distance, tokens"),
        ("norms/norm", "units of the stream", "residual norm, units of the stream"),
        ("depth/anisotropy", "", "anisotropy"),
        ("depth/dimension_twonn", "dimensions", "intrinsic dimension (TwoNN)"),
        ("position/rank_screenot_half", "", "rank screenot half"),
    ],
)
def test_an_axis_is_named_by_the_schema(path, unit, label):
    assert unit_of(path) == unit
    assert axis_label(path) == label
