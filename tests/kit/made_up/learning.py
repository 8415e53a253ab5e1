"""A training and a sweep of trainings."""

import numpy as np
import xarray as xr

from armillary.results import sweeping


def training(rng, layers, heads=2, keys=6, steps=5):
    """A model that learns to add: losses fall, W_QK grows, trained lengths are right."""
    along = np.arange(steps)
    per_head, per_layer = (steps, layers - 1, heads), (steps, layers)
    learnt = np.stack([0 * along + 0.02, along / (steps - 1), along / (steps - 1)], axis=1)
    curves = {
        "loss": ("step", 3.0 / (1 + along)),
        "loss_validation": ("step", 3.1 / (1 + along)),
        "loss_validation_se": ("step", 0.02 + 0.0 * along),
        "bigram_entropy": ((), 2.4),
        "accuracy": (("step", "digits"), learnt),
        "accuracy_low": (("step", "digits"), np.maximum(learnt - 0.05, 0)),
        "accuracy_high": (("step", "digits"), np.minimum(learnt + 0.05, 1)),
        "problems": ("digits", np.array([100, 500, 500])),
        "trained": ("digits", np.array([False, True, True])),
        "learning_rate": ("step", 1e-3 + 0.0 * along),
        "gradient_norm": ("step", 1.0 + 0.0 * along),
    }
    of_head = {"frobenius_qk": 1.0, "entropy": 2.0, "signal_propagation": 0.5, "entropy_relative": 0.7, "xi": 0.2}
    of_head |= {"eta": 1.0, "trace_qk": 0.3, "eigenvalue_mean_qk": 0.01, "eigenvalue_variance_qk": 0.1}
    of_head |= {"gradient_qk": 1.0, "gradient_first": 0.9, "gradient_second": 0.2, "gradient_third": 0.1}
    of_layer = {"low_frequency_share": 0.6, "norm": 3.0, "similarity": 0.2, "collapse": 0.8, "rank_stable": 2.0}
    grown = 1 + 0.1 * along
    found = {
        name: (("step", "block", "head"), value * np.broadcast_to(grown[:, None, None], per_head).copy())
        for name, value in of_head.items()
    }
    found |= {
        name: (("step", "layer"), value * np.broadcast_to(grown[:, None], per_layer).copy())
        for name, value in of_layer.items()
    }
    found["rho"] = (("step", "block", "head", "key"), rng.random((*per_head, keys)))
    coordinates = {"step": 100 * along}
    return {
        "training_sweep": swept(),
        "training": xr.Dataset(curves, coords={**coordinates, "digits": [1, 2, 3]}, attrs={"groups": 16}),
        "training_heads": xr.Dataset({name: found[name] for name in (*of_head, "rho")}, coords=coordinates),
        "training_layers": xr.Dataset({name: found[name] for name in of_layer}, coords=coordinates),
    }


def swept():
    """Two strengths of each kind, three seeds: the scale shrinks, the rest stays."""
    cells = {
        (scale, trace, seed): {
            "scale_qk": 1.0 - 0.3 * trace + 0.01 * seed,
            "trace_qk": 0.1,
            "entropy": 2.0 + 0.1 * seed,
            "signal_propagation": 0.5,
            "perplexity": 30.0 + seed,
        }
        for scale in (0.0, 100.0)
        for trace in (0.0, 1.0)
        for seed in range(3)
    }
    return sweeping.swept(cells, (0.0, 100.0), (0.0, 1.0), 3)
