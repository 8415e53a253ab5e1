"""Simulated walks and the curves of their theory."""

import numpy as np
import xarray as xr


def localization(tokens=8):
    """Three simulated settings: late, middle by clipping, uniform; and curves of the theory."""
    early, middle = np.linspace(0, 1, tokens), 1 - np.abs(np.linspace(-1, 1, tokens))
    rho = np.stack([early, middle, np.full(tokens, 0.5)])
    attention = np.stack([early**4 / (early**4).sum(), 0.9 * (early == 1) + 0.1 / tokens, np.full(tokens, 1 / tokens)])
    curves = {"rho": rho, "probability": attention, "slope": attention * (1 - attention)}
    curves |= {f"{name}_se": np.full(rho.shape, 0.01) for name in curves}
    curves |= {"rho_exact": rho + 0.01, "rho_gaussian": rho + 0.02, "rho_published": rho + 0.3}
    scalars = {"published_error": [0.2, 0.3, 0.4], "exact_deviation": [1.0, 2.0, 1.5], "entropy": [1.2, 0.2, 2.0]}
    scalars |= {"entropy_se": [0.01] * 3, "clipped": [False, True, False], "regime": ["late", "middle", "uniform"]}
    simulated = {name: (("setting", "position"), values) for name, values in curves.items()}
    simulated |= {name: ("setting", np.array(values)) for name, values in scalars.items()}
    names = ["iso 0.1, 0.02", "iso 0.5, 0.1", "aniso 0, 0.1"]
    position = np.arange(1, tokens + 1)
    return {
        "localization_simulation": xr.Dataset(
            simulated, {"setting": names, "position": position}, {"simulated": 3000, "walks": 300, "draws": 10}
        ),
        "localization_theory": theory_curves(position),
    }


def theory_curves(position):
    """The published ρ is 0.3 above the corrected one, the published bound 2 nats above the largest entropy."""
    score, deviation, nu = np.linspace(-4, 4, 9), np.array([0.1, 1.0, 10.0]), np.linspace(0, 10, 6)
    plane, growing = np.zeros((2, 3, len(position))), np.zeros((2, 2, len(position)))
    growing[0, :, len(position) // 2 :], growing[1, :, len(position) // 2 : -2] = 1, 1
    variables = {
        "softmax": ("score", 1 / (1 + np.exp(-score))),
        "piecewise": ("score", np.clip(0.5 + score / 4, 0, 1)),
        "piecewise_distance": (("keys", "deviation"), np.outer([0.5, 1.0], [0.002, 0.2, 2.0])),
        "piecewise_distance_se": (("keys", "deviation"), np.full((2, 3), 0.0005)),
        "piecewise_distance_small": ("deviation", 0.242 * deviation**2),
        **dict.fromkeys(("rho", "rho_many"), (("eta", "xi", "position"), plane + 0.5)),
        "rho_published": (("eta", "xi", "position"), plane + 0.8),
        **dict.fromkeys(("rho_narrowing", "rho_narrowing_published"), (("product", "xi_growing", "position"), growing)),
        "bound_published": ("nu", np.array([2.1, 3.0, 4.1, 2.0, 1.0, 0.5])),
        "bound_corrected": ("nu", 2 * np.exp(-nu)),
        "entropy_largest": ((), 2.1),
    }
    along = {"score": score, "keys": [2, 40], "deviation": deviation, "xi": [-1.0, 0.0, 1.0], "eta": [0.5, 1.0]}
    along |= {"product": [1.28, 5.12], "xi_growing": [8.0, 32.0], "nu": nu, "position": position}
    return xr.Dataset(variables, along, {"simulated": 500})
