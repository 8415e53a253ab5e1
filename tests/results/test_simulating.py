"""Simulations as labelled results: names and axes of the schema, settings that cover every regime, no shared walk."""

import numpy as np
import pytest

from armillary.measures.localization.regimes import plane_shares, regimes
from armillary.results.schema import GROUPS
from armillary.results.simulating import PAIRS, localization_groups, settings

SIZES = {"walks": 12, "length": 6, "width": 5, "draws": 2}


@pytest.fixture(scope="module")
def groups():
    return localization_groups(**SIZES, seed=1, advance=lambda steps: None)


@pytest.mark.parametrize("name", ["localization_simulation", "localization_theory"])
def test_the_results_have_the_names_axes_and_units_of_the_schema(groups, name):
    rows = GROUPS[name].variables
    assert set(groups[name].data_vars) == set(rows)
    for variable, values in groups[name].data_vars.items():
        assert values.dims == rows[variable].axes
        assert values.attrs == {"units": rows[variable].unit, "long_name": rows[variable].text}
        assert set(values.dims) <= set(values.coords)
    assert groups[name].attrs["description"] == GROUPS[name].text


def test_every_covariance_meets_every_pair_of_mean_and_scale():
    given = settings()
    assert given.sizes["setting"] == 2 * len(PAIRS)
    assert given.setting.values[0] == "iso 0.1, 0.02"
    assert given.sel(setting="aniso -0.1, 0.05").to_array().values.tolist() == [-0.1, 0.05, 0]


def test_positions_are_counted_from_1_and_errors_rest_on_all_walks(groups):
    simulated = groups["localization_simulation"]
    assert simulated.position.values.tolist() == [1, 2, 3, 4, 5, 6]
    assert simulated.attrs["simulated"] == SIZES["walks"] * SIZES["draws"]


def test_every_setting_that_is_done_is_reported():
    told = []
    localization_groups(**SIZES, seed=0, advance=told.append)
    assert told == [1] * 2 * len(PAIRS)


def test_settings_do_not_depend_on_which_thread_ran_them(groups):
    again = localization_groups(**SIZES, seed=1, advance=lambda steps: None)["localization_simulation"]
    assert again.identical(groups["localization_simulation"])
    other = localization_groups(**SIZES, seed=2, advance=lambda steps: None)["localization_simulation"]
    assert not np.array_equal(other.rho, again.rho)


def test_the_pairs_cover_all_five_regimes():
    # Gaussian regimes of the expected spectra at the default size, for which nothing is simulated.
    found = set()
    for mean, scale in PAIRS:
        for steps, square in ((1.0, 1.0), (25 / 12, 2 * (25 / 12) ** 2)):  # tr Σ/d and tr Σ²/d of both covariances
            size = mean**2 * square + scale**2 * steps**2
            trace, eta = np.sqrt(128) * mean * steps, np.sqrt(size)
            shares = plane_shares(np.array(trace / eta), np.array(eta), 40)
            found.add(str(regimes(shares.below, shares.rho).regime))
    assert found == {"late", "middle", "early", "uniform", "vanishing"}
