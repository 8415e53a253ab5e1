"""Massive activations: the first token counts, left out or kept; none is a finding too."""

import numpy as np
import xarray as xr

from armillary.figures import FIGURES

FIGURE = FIGURES["outlier-tokens"]


def with_first(results, ratio, kept):
    """The run with a first token of so many times the median norm of layer 2, left out of it or kept in it."""
    residual = results["residual"].to_dataset()
    layers, width = residual.sizes["layer"], residual.sizes["d_model"]
    norms = np.where(np.arange(layers) == 2, ratio, 1.0) * results["outliers"].median_norm.values
    if kept:
        each = np.ones((layers, 16, residual.sizes["position"]))
        each[:, :, 0] = norms[:, None]
        largest = residual.norm_largest.values.copy()
        largest[:, 0] = norms
        residual = residual.assign_coords(position=np.arange(residual.sizes["position"]))
        residual["norm_groups"] = (("layer", "group", "position"), each)
        residual["norm_largest"] = (("layer", "position"), largest)
    else:
        residual["first"] = (("layer", "d_model"), norms[:, None] * np.eye(width)[0])
    groups = {f"/{name}": node.to_dataset() for name, node in results.children.items()} | {"/residual": residual}
    changed = xr.DataTree.from_dict(groups)
    changed.attrs.update(results.attrs)
    return changed


def test_no_outliers_is_a_finding(run_of):
    none = run_of(outliers=0)
    words = "No token of this text exceeds 20 times the median norm of a layer"
    assert FIGURE.finding(none) == words
    assert len(FIGURE.draw(none).data) == 2


def test_a_massive_first_token_is_found_whether_it_was_left_out_or_kept(run_of):
    for outliers in (0, 3):
        for kept in (False, True):
            run = with_first(run_of(outliers=outliers), 195.0, kept)
            assert FIGURE.finding(run) == "The first token reaches 195 times the median norm (layer 2)"
            rule = "kept in all results" if kept else "left out of all results"
            assert FIGURE.detail(run).startswith(f"The first token: above 20 times in layer 2; {rule}")
            (curve,) = [
                trace
                for trace in FIGURE.draw(run).data
                if trace.name == "the first token (position 0)" and len(trace.y) > 1
            ]
            assert max(curve.y) == 195


def test_what_the_first_token_would_do_to_the_position_share_is_said(run_of):
    run = with_first(run_of(), 195.0, False)
    assert "With it the plug-in position share of layer 0 would be 30 % instead of 10 %" in FIGURE.detail(run)


def test_an_ordinary_first_token_is_no_massive_activation(run_of):
    run = with_first(run_of(outliers=0), 5.0, True)
    assert FIGURE.finding(run).startswith("No token of this text exceeds 20 times")
