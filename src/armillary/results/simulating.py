"""Simulations as labelled results: random walks in figure 5's settings, and the theory's curves. No model is asked."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import xarray as xr

from armillary.measures.localization import curves
from armillary.measures.localization.settings import simulated_setting
from armillary.results.labels import labelled
from armillary.results.measuring import described
from armillary.results.reading import SIMULATED
from armillary.system.threads import side_by_side

PAIRS = (
    (0.1, 0.02),
    (0.1, 0.1),
    (0.5, 0.1),
    (0.02, 0.1),
    (0.0, 0.1),
    (-0.1, 0.05),
    (0.0, 1.0),
    (0.0, 10.0),
    (0.01, 0.001),
)
"""Mean and scale of the eigenvalues of W_QK: late, middle, early, nearly uniform and vanishing ρ are among them."""

COVARIANCES = {"iso": True, "aniso": False}
"""Σ = I, and an anisotropic Σ."""

SCORES, KEYS = np.linspace(-6, 6, 121), np.array([2, 40, 512])
DEVIATIONS, SCORE_DRAWS = np.round(np.geomspace(0.1, 10, 21), 4), 500
XI = np.linspace(-10, 10, 41)
ETA = np.array([0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
PRODUCTS, XI_GROWING = np.array([1.28, 5.12]), np.array([8.0, 32.0, 128.0, 512.0])
NU = np.linspace(0, 20, 201)
"""Along which the curves of figures 1 to 4 are drawn. The document's are 1.28 and 5.12 at ξ = 128 and 512."""

Advance = Callable[[int], None]


def localization_groups(
    walks: int, length: int, width: int, draws: int, seed: int, advance: Advance
) -> dict[str, xr.Dataset]:
    """The groups of `armillary simulate localization`; `advance` is told of every setting that is done."""
    sizes = {"walks": walks, "length": length, "d_model": width, "draws": draws, "seed": seed}
    return {
        "localization_simulation": described("localization_simulation", simulated_settings(sizes, advance)),
        "localization_theory": described("localization_theory", theory(length, seed)),
    }


def settings() -> xr.Dataset:
    """Every covariance with every pair of mean and scale, by name: iso 0.1, 0.02."""
    rows = [(kind, mean, scale) for kind in COVARIANCES for mean, scale in PAIRS]
    names = [f"{kind} {mean:g}, {scale:g}" for kind, mean, scale in rows]
    given = {
        "mean": ("setting", [mean for _, mean, _ in rows]),
        "scale": ("setting", [scale for _, _, scale in rows]),
        "isotropic": ("setting", [COVARIANCES[kind] for kind, _, _ in rows]),
    }
    return xr.Dataset(given, coords={"setting": names})


def simulated_settings(sizes: dict[str, int], advance: Advance) -> xr.Dataset:
    """Walks in every setting, beside the laws; settings run side by side and share no random number."""
    given = settings()
    stream = xr.DataArray(np.arange(given.sizes["setting"]), coords=given.coords)

    def counted(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        def done(item: Any) -> Any:
            found = work(item)
            advance(1)
            return found

        return side_by_side(done, items)

    found = labelled(simulated_setting, counted)({**given.data_vars, "stream": stream}, **sizes)
    whole = xr.merge([given, found], join="exact").assign_coords(position=np.arange(1, sizes["length"] + 1))
    return whole.assign_attrs(
        {SIMULATED: sizes["walks"] * sizes["draws"], "walks": sizes["walks"], "draws": sizes["draws"]}
    )


def theory(length: int, seed: int) -> xr.Dataset:
    """Figures 1 to 4: softmax and its piecewise linear approximation, ρ over (ξ, η) and as ξ grows, bound (9)."""
    made = [
        labelled(curves.two_keys)({}, score=SCORES),
        labelled(curves.piecewise_distances)({}, keys=KEYS, deviation=DEVIATIONS, draws=SCORE_DRAWS, seed=seed),
        labelled(curves.rho_plane)({}, xi=XI, eta=ETA, length=length),
        labelled(curves.rho_narrowing)({}, product=PRODUCTS, xi_growing=XI_GROWING, length=length),
        labelled(curves.entropy_bounds)({}, nu=NU, length=length),
    ]
    along = {"score": SCORES, "keys": KEYS, "deviation": DEVIATIONS, "xi": XI, "eta": ETA, "product": PRODUCTS}
    along |= {"xi_growing": XI_GROWING, "nu": NU, "position": np.arange(1, length + 1)}
    return xr.merge(made, join="exact").assign_coords(along).assign_attrs({SIMULATED: SCORE_DRAWS})
