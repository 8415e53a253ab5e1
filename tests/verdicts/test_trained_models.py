"""Claims about trained models, asked of made-up runs whose answers are known."""

import numpy as np
import pytest

from armillary.errors import RequestError
from armillary.verdicts import registry
from armillary.verdicts.claim import ABSENT, APPROXIMATE, EXACT, UNCHECKED
from armillary.verdicts.registry import CLAIMS
from tests.kit.made_up import changed, run_of

RUN = run_of()
OF_MODELS = [claim for claim in CLAIMS.values() if claim.needs]


def verdict(name, **values):
    return registry.verdict(CLAIMS[name], 0, changed(RUN, **values)).verdict


def test_every_claim_about_models_is_answered_by_a_run_that_holds_what_it_needs():
    assert len(OF_MODELS) == 13
    for claim in OF_MODELS:
        found = registry.verdict(claim, 0, RUN)
        assert "lacks" not in found.why, claim.id


@pytest.mark.parametrize("claim", OF_MODELS, ids=lambda claim: claim.id)
def test_a_run_that_lacks_what_a_claim_needs_says_which_command_adds_it(claim):
    path = claim.needs[0]
    poor = changed(RUN, **{path.replace("/", "__"): None})
    found = registry.verdict(claim, 0, poor)
    assert found.verdict == UNCHECKED
    assert f"This run lacks /{path}: `armillary " in found.why
    with pytest.raises(RequestError, match=f"expected a run with /{path} for {claim.id}, got one without: `armillary"):
        registry.refuse_lacking([claim], poor)


@pytest.mark.parametrize(
    ("name", "variable", "value", "expected"),
    [
        ("SZ-RANK", "position__rank_stable_corrected", 1.5, APPROXIMATE),
        ("SZ-RANK", "position__rank_stable_corrected", 20.0, ABSENT),
        ("SZ-RANK", "position__rank_stable_corrected", np.nan, UNCHECKED),
        ("SZ-SMOOTH", "position__low_frequency_share", 0.99, APPROXIMATE),
        ("SZ-SMOOTH", "position__low_frequency_share", 0.1, ABSENT),
        ("SZ-CLUSTER", "context__similarity_within", 0.99, APPROXIMATE),
        ("SZ-CLUSTER", "context__similarity_within", 0.0, ABSENT),
        ("SZ-CLUSTER", "context__similarity_within", np.nan, UNCHECKED),
        ("SZ-ORTHO", "context__incoherence_mean", 0.0, APPROXIMATE),
        ("SZ-ORTHO", "context__incoherence_mean", 0.9, ABSENT),
        ("SZ-EQ8", "qk_smoothness__argmax_share", 0.95, APPROXIMATE),
        ("SZ-EQ8", "qk_smoothness__argmax_share", 0.5, ABSENT),
        ("BAO-RHO-MODEL", "localization_agreement__rho_agreement", 0.9, APPROXIMATE),
        ("BAO-RHO-MODEL", "localization_agreement__rho_agreement", -0.9, ABSENT),
        ("BAO-RHO-MODEL", "localization_agreement__rho_agreement", 0.0, UNCHECKED),
        ("BAO-ENT-MODEL", "localization_agreement__entropy_agreement", -0.9, APPROXIMATE),
        ("WE-7.2.1-RANK", "heads__rank_effective", 3.0, APPROXIMATE),
        ("WE-7.2.1-RANK", "heads__rank_effective", 60.0, ABSENT),
        ("WE-7.2.2-SPECTRA", "matrices__energy_initial", 0.1, APPROXIMATE),
        ("WE-7.2.2-SPECTRA", "matrices__energy_initial", 2.0, ABSENT),
        ("WE-8-ALIGN", "weights__trace_qk_z", 0.3, APPROXIMATE),
        ("WE-8-ALIGN", "weights__trace_qk_z", 9.0, ABSENT),
        ("TW-NEAREST", "norm_geometry__argmax_agreement", 0.5, ABSENT),
        ("TW-NEAREST", "norm_geometry__argmax_agreement", 1.0, EXACT),
        ("TW-NEAREST", "norm_geometry__argmax_agreement", np.nan, UNCHECKED),
    ],
)
def test_the_answer_follows_the_numbers_of_the_run(name, variable, value, expected):
    errors = {"localization_agreement__rho_agreement_se": 0.01, "localization_agreement__entropy_agreement_se": 0.01}
    held = {path: error for path, error in errors.items() if variable.startswith(path.partition("__")[0])}
    assert verdict(name, **{variable: value}, **held) == expected


def test_states_on_the_sphere_have_its_radius():
    radius = RUN["norm_geometry"]["radius"].values
    assert verdict("TW-SPHERE", norm_geometry__radius_before=radius) == EXACT
    assert verdict("TW-SPHERE", norm_geometry__radius_before=0.95 * radius) == APPROXIMATE
    assert verdict("TW-SPHERE", norm_geometry__radius_before=0.2 * radius) == ABSENT


def test_readings_of_the_first_and_the_last_block_decide_the_claim_about_depth():
    peak, null = (RUN["stores"][name].values for name in ("peak", "peak_null"))
    late = np.broadcast_to(null, peak.shape).copy() - 1.0
    late[-1] = null[-1] + 1.0
    assert verdict("TW-GPT2", stores__peak=late) == APPROXIMATE
    assert verdict("TW-GPT2", stores__peak=np.broadcast_to(null, peak.shape) + 1.0) == ABSENT
