"""What the Gaussian lens finds."""

import numpy as np
import xarray as xr

from made_up.shapes import over


def gaussian(layers, heads=4):
    """Information that halves with distance, tokens that come closer with depth, and what its heads do."""
    distances = np.array([1, 2, 4])
    information = np.outer(np.linspace(2, 1, layers), [1.0, 0.5, 0.25])
    likely = {"own_token": 0.8, "previous_token": np.linspace(0.2, 0.1, layers), "previous_predicted": 0.1}
    likely |= {"previous_state": 0.15, "directions": np.linspace(3, 2, layers), "directions_orthogonal": 4.0}
    likely |= {"cosine": 0.3, "own_token_se": 0.01}
    for name in ("previous_token", "previous_predicted", "previous_state", "directions", "cosine"):
        likely |= {f"{name}_low": likely[name] - 0.02, f"{name}_high": likely[name] + 0.02}
    likely |= {"directions_published": 1.5}
    variants = np.linspace([0.1, 0.2, 0.1, 0.1], [0.5, 0.9, 0.6, 0.4], layers).T
    stacks = np.array([[0.0, 0.9, 0.995, 1.0], [0.0, 0.1, 0.2, 0.4]])
    at, attrs = ("layer", "distance"), {"groups": 16.0, "model": "m", "windows": 64, "directions": 8}
    return of_heads(layers - 1, heads, attrs) | {
        "gaussian": xr.Dataset(
            {
                "information": (at, information),
                "information_low": (at, information - 0.2),
                "information_high": (at, information + 0.2),
                "information_plug_in": (at, information + 0.1),
                "information_null": (at, 0 * information),
                "information_null_high": (at, np.full(information.shape, 0.02)),
                "direction_share": ("layer", np.full(layers, 0.3)),
            },
            {"distance": distances},
            attrs,
        ),
        "gaussian_tokens": over(layers, **likely)
        .assign(eigenvalue=(("layer", "mode"), np.full((layers, 4), 0.25)), probability=("token", np.full(4, 0.1)))
        .assign_attrs(attrs),
        "gaussian_depth": xr.Dataset(
            {
                "similarity": (("variant", "layer"), variants),
                "similarity_low": (("variant", "layer"), variants - 0.02),
                "similarity_high": (("variant", "layer"), variants + 0.02),
            },
            {"variant": ["model", "random weights", "α = 0.5", "α = 2"]},
            attrs,
        ),
        "gaussian_stacks": xr.Dataset(
            {
                "similarity": (("stack", "depth"), stacks),
                "similarity_se": (("stack", "depth"), np.full(stacks.shape, 0.01)),
            },
            {"stack": ["β = 1", "β = 0.5"]},
            attrs | {"simulated": 10},
        ),
    }


def of_heads(blocks, heads, attrs):
    """Logits of the last block vary more than predicted; projections keep half; fixed weights fail."""
    per_logit, per_head = np.ones((blocks, heads, 3)), np.ones((blocks, heads))
    ratio = np.zeros((blocks, heads, 3))
    ratio[-1, :3] = 1.0
    logits = {"mean": 0.1, "mean_predicted": 0.1, "variance": 2 * np.exp(ratio), "variance_predicted": 2.0}
    logits |= {"variance_independent": 1.5, "log_ratio": ratio, "log_ratio_se": 0.05, "log_ratio_detectable": 0.15}
    logits |= {"skewness": 0.2, "excess_kurtosis": 1.0, "excess_kurtosis_low": 0.8, "excess_predicted": 0.3}
    mixed = {"entropy": 5.0, "entropy_fixed": 2.0, "entropy_gap": -3.0, "entropy_gap_se": 0.1}
    mixed |= {"information": 1.0, "information_fixed": 9.0, "information_gap": 8.0}
    return {
        "gaussian_logits": xr.Dataset(
            {name: (("block", "head", "distance"), value * per_logit) for name, value in logits.items()}
            | {
                name: ("distance", np.full(3, value)) for name, value in (("correlation", 0.9), ("factor_median", 1.25))
            },
            {"distance": [0, 1, 8]},
            attrs,
        ),
        "gaussian_kept": xr.Dataset(
            {
                "kept": (("block", "head", "projection"), np.full((blocks, heads, 4), 0.5)),
                "kept_random": ("block", np.full(blocks, 0.4)),
            },
            {"projection": ["query", "key", "value", "query–key"]},
            attrs,
        ),
        "gaussian_mixing": xr.Dataset(
            {name: (("block", "head"), value * per_head) for name, value in mixed.items()}, attrs=attrs
        ),
    }
