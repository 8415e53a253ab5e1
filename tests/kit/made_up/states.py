"""States of a run: sums, text, sampled tokens, and what was measured of position, context and depth."""

import numpy as np
import xarray as xr

from armillary.measures.dimension import SIZES
from made_up.shapes import GROUPS, over


def residual(rng, layers, angle, document, d_model):
    spiral = np.zeros((layers, len(angle), d_model))
    spiral[..., 0], spiral[..., 1] = np.cos(angle), np.sin(angle)
    windows = rng.normal(size=(document.max() + 1, d_model))[document]
    noise = rng.normal(size=(layers, len(angle), d_model))
    return xr.Dataset(
        {
            "mean": (("layer", "d_model"), rng.normal(size=(layers, d_model))),
            "position_basis": (("layer", "position", "d_model"), spiral + 0.02 * noise),
            "position_null": (("layer", "position", "d_model"), 0.1 * noise),
            "context_basis": (
                ("layer", "context", "d_model"),
                windows + 0.3 * rng.normal(size=(layers, len(document), d_model)),
            ),
            "norm_largest": (("layer", "position"), np.full((layers, len(angle)), 40.0)),
        },
        coords={"position": np.arange(1, len(angle) + 1)},
    )


def corpus(rng, document, positions):
    names = np.array([f"document {i}" for i in range(document.max() + 1)])
    return xr.Dataset(
        {
            "tokens": (("context", "position"), rng.integers(0, 99, (len(document), positions + 1))),
            "document_index": ("context", document),
            "document_name": ("document", names),
            "group": ("context", np.arange(len(document)) % GROUPS),
            "shift": ("context", rng.integers(0, positions, len(document))),
        }
    )


def sample(rng, layers, samples, positions, contexts, d_model):
    return xr.Dataset(
        {
            "states": (("layer", "sample", "d_model"), rng.normal(size=(layers, samples, d_model))),
            "context": ("sample", rng.integers(0, contexts, samples)),
            "position": ("sample", rng.integers(1, positions + 1, samples)),
            "text": ("sample", np.array(["a"] * samples)),
            "massive": ("sample", np.arange(samples) == 0),
        }
    )


def outlier_tokens(rng, layers, outliers, positions, contexts):
    return xr.Dataset(
        {
            "context": ("outlier", rng.integers(0, contexts, outliers)),
            "position": ("outlier", rng.integers(1, positions + 1, outliers)),
            "token": ("outlier", rng.integers(0, 99, outliers)),
            "text": ("outlier", np.array([" the", ".", " the", "\\n", " of", ","] * outliers)[:outliers].astype(str)),
            "ratio": (("outlier", "layer"), 25.0 + np.arange(outliers)[:, None] + np.arange(layers)),
            "median_norm": ("layer", np.full(layers, 10.0)),
            "threshold": ((), 20.0),
        }
    )


def influence(layers, samples):
    """Two tokens that hold half of layer 1."""
    share = np.full((layers, samples), 1 / samples)
    together = np.where(np.arange(layers) == 1, 0.5, 0.04)
    curves = over(
        layers,
        dominant_share=together,
        participation_ratio=np.where(together > 0.1, 2.0, 9.0),
        participation_ratio_less_dominant=9.0,
        position_share_less_dominant=0.05,
        first_ratio=3.0,
        position_share_with_first=0.3,
    )
    pairs = {"cka_debiased_less_dominant": (("layer", "layer_"), np.full((layers, layers), 0.8))}
    tokens = {"dominant": ("sample", np.isin(np.arange(samples), [2, 5]))}
    return curves.assign({"token_variance_share": (("layer", "sample"), share)} | pairs | tokens)


def shares(axis, layers):
    values = np.tile([0.1, 0.2, 0.7], (layers, 1))
    floor = np.tile([0.01, 0.02, np.nan], (layers, 1))
    return xr.Dataset(
        {"share": ((axis, "component"), values), "share_floor": ((axis, "component"), floor)},
        coords={"component": ["position", "context", "residual"]},
    )


def position(rng, layers, positions, modes, angle):
    energy = np.tile(100.0 / 2.0 ** np.arange(modes), (layers, 1))
    energy[:, -1] = -0.1
    gram = np.cos(angle[:, None] - angle)
    curves = over(
        layers,
        share_corrected=np.linspace(0.02, 0.1, layers),
        share_corrected_se=0.004,
        share_null=0.015,
        rank_stable=2.4,
        rank_stable_null=9.0,
        rank_stable_corrected=np.linspace(2.0, 2.2, layers),
        rank_stable_corrected_se=0.1,
        relative_norm=0.35,
        relative_norm_null=0.12,
        relative_norm_corrected=np.linspace(0.3, 0.33, layers),
        relative_norm_corrected_se=0.01,
        rank_screenot=12.0,
        rank_screenot_low=11.0,
        rank_screenot_high=13.0,
        rank_screenot_null=8.0,
        rank_heldout=3.0,
        rank_heldout_low=2.0,
        rank_heldout_familywise=2.0,
        rank_heldout_high=4.0,
        energy_heldout_null=0.8,
        theorem1_residual=0.02,
    )
    low = 1 - 0.9 ** (1 + np.arange(21))
    fields = {
        "singular_value": (("layer", "mode"), np.sqrt(np.abs(energy)) + 0.1),
        "energy_heldout": (("layer", "mode"), energy),
        "gram": (("layer", "position", "position_"), np.tile(gram, (layers, 1, 1))),
        "low_frequency_share": (("layer", "frequency"), np.tile(low, (layers, 1))),
        "low_frequency_share_low": (("layer", "frequency"), np.tile(low - 0.03, (layers, 1))),
        "low_frequency_share_high": (("layer", "frequency"), np.tile(low + 0.03, (layers, 1))),
        "low_frequency_share_null": (("layer", "frequency"), np.tile(low / 3, (layers, 1))),
        "low_frequency_share_sinusoidal": ("frequency", low / 2),
        "difference_max": (("layer", "order"), np.tile([10.0, 300.0, 9e4], (layers, 1))),
        "theorem1_bound": (("layer", "order"), np.tile([0.5, 0.3, 0.4], (layers, 1))),
        "theorem1_bound_published": (("layer", "order"), np.tile([0.1, 0.01, 0.4], (layers, 1))),
    }
    return curves.assign(fields)


def context(layers):
    return over(
        layers,
        similarity_within=0.5,
        similarity_within_null=0.24,
        similarity_between=0.2,
        similarity_null=0.033,
        silhouette=0.2,
        silhouette_null=-0.1,
        purity=0.7,
        purity_null=0.1,
        incoherence_mean=0.06,
        incoherence_mean_null_rotation=0.033,
        incoherence_mean_null_covariance=0.08,
        incoherence_max=0.4,
        incoherence_max_low=0.35,
        incoherence_max_high=0.45,
        incoherence_max_null_rotation=0.2,
        incoherence_max_null_covariance=0.5,
        kernel_departure=0.3,
        kernel_bound=9.0,
    )


def depth(layers, modes):
    distance = np.abs(np.arange(layers)[:, None] - np.arange(layers))
    curves = over(
        layers,
        anisotropy=0.6,
        anisotropy_centred=0.01,
        dimension_twonn=12.0,
        dimension_twonn_null=30.0,
        dimension_twonn_null_sd=1.5,
        outlier_dimension_share=0.4,
        token_share=0.5,
        token_share_se=0.01,
        token_share_null=0.1,
    )
    return curves.assign_coords(size=list(SIZES)).assign(
        layer_cosine=(("layer", "layer_"), 0.9**distance),
        cka_debiased=(("layer", "layer_"), 0.8**distance),
        dimension_twonn_by_size=(("layer", "size"), np.tile([5.0, 7, 9, 11, 12], (layers, 1))),
        dimension_share=(("layer", "mode"), np.tile(0.3 / (1 + np.arange(modes)), (layers, 1))),
    )
