"""Planted clusters, incoherence and tokens come back out of the results; what cannot be had comes out as NaN."""

import numpy as np
import pytest
import xarray as xr

from armillary.measures.decomposition import decomposition
from armillary.results.labels import labelled
from armillary.results.measuring import inputs
from armillary.results.schema import GROUPS

IOTA, ALPHA = (
    0.3,
    0.8,
)  # how far context vectors lean on the first position vector, and on their document's own direction
DOCUMENTS, WINDOWS, D_MODEL = 8, 2, 60


def planted(rng, length=4):
    """Positions ±e₀, ±e₁; windows ι e₀ + α f_document + β g_window; later documents are the earlier turned round."""
    axis = np.eye(D_MODEL)
    position = np.stack([axis[0], -axis[0], axis[1], -axis[1]])
    half = DOCUMENTS * WINDOWS // 2
    document = np.arange(half) // WINDOWS
    context = IOTA * axis[0] + ALPHA * axis[2 + document] + np.sqrt(1 - IOTA**2 - ALPHA**2) * axis[20 + np.arange(half)]
    context = np.concatenate([context, -context])
    residual = rng.standard_normal((len(context), length, D_MODEL))
    residual = decomposition(residual).residual
    return 5.0 + position + context[:, None] + 0.1 * residual, np.arange(DOCUMENTS).repeat(WINDOWS)


def captured(states, document, group, tokens=None, sample=64, massive=()):
    """The groups of a run of one layer twice over, as a pass would leave them; position 0 was dropped."""
    rng = np.random.default_rng(0)
    parts = decomposition(states)
    length, d_model = states.shape[1:]
    flat = states.reshape(-1, d_model)
    drawn = rng.choice(len(flat), size=min(sample, len(flat)), replace=False)
    tokens = rng.integers(0, 12, size=len(flat)) if tokens is None else tokens
    twice = {
        "mean": (("d_model",), parts.mean),
        "position_basis": (("position", "d_model"), parts.position_basis),
        "context_basis": (("context", "d_model"), parts.context_basis),
        "covariance": (("d_model", "d_model_"), np.cov(flat.T, bias=True).astype(np.float32)),
    }
    residual = xr.Dataset(
        {name: (("layer", *axes), np.stack([values, values])) for name, (axes, values) in twice.items()},
        coords={"position": np.arange(1, length + 1)},
    ).assign(holes=len(massive))
    states32 = flat[drawn].astype(np.float32)
    return {
        "residual": residual,
        "corpus": xr.Dataset({"document_index": ("context", document), "group": ("context", group)}),
        "sample": xr.Dataset(
            {
                "states": (("layer", "sample", "d_model"), np.stack([states32, 2 * states32])),
                "context": ("sample", drawn // length),
                "position": ("sample", drawn % length + 1),
                "token": ("sample", tokens[drawn]),
                "massive": ("sample", np.isin(drawn, massive)),
            }
        ),
    }


def results(name, groups):
    """What the measures of one group of the schema give."""
    arrays, made = inputs(GROUPS[name].inputs, groups), []
    for measure in GROUPS[name].measures:
        made.append(labelled(measure)(arrays))
        arrays |= made[-1].data_vars
    return xr.merge(made, join="exact")


def test_planted_clusters_and_incoherence_come_back_out():
    states, document = planted(np.random.default_rng(1))
    found = results("context", captured(states, document, document)).isel(layer=0)
    within, beside, across = IOTA**2 + ALPHA**2, IOTA**2, (1 + IOTA**2 + ALPHA**2) / 2
    assert float(found.similarity_within) == pytest.approx(within, rel=1e-5)
    # Of the 7 other documents, 6 share e₀ alone, and one is the document itself turned round.
    assert float(found.similarity_between) == pytest.approx((6 * beside + across) / 7, rel=1e-5)
    assert float(found.purity) == 1
    a, b = 1 - within, 1 - beside
    assert float(found.silhouette) == pytest.approx((b - a) / b, rel=1e-5)
    assert float(found.silhouette) > float(found.silhouette_null) + 0.3
    assert float(found.incoherence_max) == pytest.approx(IOTA)
    assert float(found.incoherence_mean) == pytest.approx(IOTA / 2)
    assert float(found.kernel_bound) == pytest.approx(4 * (2 * IOTA + IOTA**2))
    assert 0 < float(found.kernel_departure) < float(found.kernel_bound)
    # Every window leans alike, so leaving some out changes nothing.
    assert float(found.incoherence_max_low) == pytest.approx(IOTA)


def test_the_results_are_those_that_the_schema_promises_layer_by_layer():
    states, document = planted(np.random.default_rng(2))
    groups = captured(states, document, document)
    for name in ("context", "depth"):
        found = results(name, groups)
        assert set(found.data_vars) == set(GROUPS[name].variables)
        for variable, row in GROUPS[name].variables.items():
            assert found[variable].dims == row.axes
    depth = results("depth", groups)
    np.testing.assert_allclose(depth.layer_cosine, 1, rtol=1e-5)  # layer 1 is layer 0, twice as long
    np.testing.assert_allclose(depth.cka_debiased, 1, rtol=1e-5)
    # In layer 1 the sample is twice as long as the mean and bases that are taken off, in layer 0 it fits.
    for name in ("anisotropy", "anisotropy_centred", "dimension_twonn", "outlier_dimension_count"):
        assert float(depth[name][0]) == pytest.approx(float(depth[name][1]), rel=1e-4)


def test_a_token_that_is_all_of_the_residual_explains_all_of_it():
    rng = np.random.default_rng(3)
    token = (np.arange(16)[:, None] + np.arange(16)) % 4
    effect = rng.standard_normal((4, 10))
    effect -= effect.mean(axis=0)  # every row and column of the square holds every token alike
    states = 2.0 + rng.standard_normal((16, 1, 10)) + rng.standard_normal((1, 16, 10)) + effect[token]
    found = results("depth", captured(states, np.arange(16), np.arange(16), token.ravel(), sample=200))
    assert float(found.token_share[0]) == pytest.approx(1, abs=1e-4)
    assert int(found.token_count[0]) == 4
    assert float(found.token_share_null[0]) < 0.3


def test_massive_tokens_stay_out_of_every_measure_of_the_sample():
    rng = np.random.default_rng(4)
    states, document = planted(rng)
    calm = captured(states, document, document, massive=(5, 9))
    wild = {**calm, "sample": calm["sample"].copy(deep=True)}
    wild["sample"].states.values[:, calm["sample"].massive.values] *= 1000
    assert int(calm["sample"].massive.sum()) == 2
    xr.testing.assert_equal(results("depth", calm), results("depth", wild))


LITTLE = {
    "documents of one window each": (np.arange(6), np.arange(6)),
    "one document": (np.zeros(6, dtype=int), np.arange(6)),
    "one group": (np.arange(6) // 2, np.zeros(6, dtype=int)),
    "two documents, one group each": (np.arange(6) // 3, np.arange(6) // 3),
}


@pytest.mark.parametrize(("document", "group"), LITTLE.values(), ids=LITTLE)
@pytest.mark.parametrize("shape", [(6, 5, 8), (6, 1, 8), (6, 3, 2)], ids=["some", "one position", "narrow"])
def test_what_cannot_be_had_is_nan_and_nothing_warns(document, group, shape):
    states = np.random.default_rng(5).standard_normal(shape)
    groups = captured(states, document, group)
    context, depth = results("context", groups), results("depth", groups)
    assert np.isnan(context.similarity_within).all() == (len(np.unique(document)) == 6)
    assert np.isnan(context.similarity_between).all() == (len(np.unique(document)) == 1)
    assert np.isnan(context.silhouette).all() == (len(np.unique(document)) in (1, 6))
    assert np.isnan(context.incoherence_max_low).all() == (len(np.unique(group)) == 1 or shape[1] == 1)
    assert np.isnan(depth.anisotropy_se).all() == (len(np.unique(group)) < 4)
    assert np.isfinite(depth.layer_cosine).all()


def test_a_layer_of_constant_states_and_a_single_window_give_nan_and_nothing_warns():
    for states in (np.ones((4, 3, 5)), np.random.default_rng(6).standard_normal((1, 4, 5))):
        each = np.arange(len(states))
        groups = captured(states, each, each)
        context, depth = results("context", groups), results("depth", groups)
        assert np.isnan(context.similarity_between).all()
        assert np.isnan(context.incoherence_max).all()
        assert np.isnan(context.purity).all()
        assert np.isnan(depth.token_share).all() or len(states) == 1
