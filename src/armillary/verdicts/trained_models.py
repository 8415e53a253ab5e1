"""What the documents found in trained models, asked of the model of a run; each answer speaks of that model alone."""

import numpy as np
import xarray as xr

from armillary.results.reading import numbers
from armillary.verdicts.claim import ABSENT, APPROXIMATE, EXACT, NONE, UNCHECKED, Finding, claims_among, of_model
from armillary.verdicts.deciding import SIGMAS, direction

TENTH = 9
"""The place of K = 10 among frequencies that count from 0."""


@of_model(
    "SZ-RANK",
    "Finding 1",
    "the positional basis is a significant component of low rank",
    "In this run: the bias-corrected stable rank, median over the layers in which it can be estimated, against that of "
    "circularly shifted windows; it counts as low below a tenth of the positions.",
    ("position/rank_stable_corrected", "position/rank_stable_corrected_se", "position/rank_stable_null"),
)
def low_rank(results: xr.DataTree) -> Finding:
    """Stable rank of the positional basis; corrected: of circularly shifted windows."""
    rank, error, null = (
        numbers(results, f"position/rank_stable{end}") for end in ("_corrected", "_corrected_se", "_null")
    )
    known = np.isfinite(rank)
    if not known.any():
        return Finding(UNCHECKED, note="Position is too weak in every layer for its rank to be estimated.")
    middle = np.flatnonzero(known)[np.argsort(rank[known])[known.sum() // 2]]
    limit = results["position"].sizes["position"] / 10 if "position" in results["position"].sizes else np.inf
    low = rank[middle] < limit
    words = f"Estimable in {int(known.sum())} of {len(rank)} layers."
    return Finding(
        APPROXIMATE if low else ABSENT, NONE, float(np.median(null)), float(rank[middle]), float(error[middle]), words
    )


@of_model(
    "SZ-SMOOTH",
    "Finding 1, Table 3",
    "the Gram matrix of the positional basis holds most of its energy in low frequencies",
    "In this run: share of the energy in the 10 lowest frequencies, median over layers, against circularly shifted "
    "windows. It holds where more than half of the energy lies there, and more than the null in more layers than not.",
    ("position/low_frequency_share", "position/low_frequency_share_null"),
)
def low_frequency(results: xr.DataTree) -> Finding:
    """Share of the energy in the 10 lowest frequencies; corrected: of circularly shifted windows."""
    share, null = (numbers(results, f"position/low_frequency_share{end}")[:, TENTH] for end in ("", "_null"))
    above = int(np.sum(share > null))
    holds = np.median(share) > 0.5 and 2 * above > len(share)
    words = f"Above the null in {above} of {len(share)} layers."
    return Finding(APPROXIMATE if holds else ABSENT, NONE, float(np.median(null)), float(np.median(share)), note=words)


@of_model(
    "SZ-CLUSTER",
    "Finding 2, Table 1",
    "context vectors cluster by topic: within a document they are much more similar than between documents",
    "In this run: mean |cos| of context vectors within documents against the highest of 19 shuffles, layer by layer.",
    ("context/similarity_within", "context/similarity_within_null", "context/similarity_between"),
)
def clusters(results: xr.DataTree) -> Finding:
    """Similarity within documents, median over layers; corrected: between documents."""
    within, null, between = (
        numbers(results, f"context/similarity_{name}") for name in ("within", "within_null", "between")
    )
    known = np.isfinite(within)
    if not known.any():
        return Finding(UNCHECKED, note="No document of this run has two windows.")
    above = int(np.sum(within[known] > null[known]))
    holds = 2 * above > known.sum()
    words = f"Above all 19 shuffles in {above} of {int(known.sum())} layers."
    apart, together = (float(np.median(each[known])) for each in (between, within))
    return Finding(APPROXIMATE if holds else ABSENT, NONE, apart, together, note=words)


@of_model(
    "SZ-ORTHO",
    "Finding 3, Table 1",
    "positional and context basis are nearly orthogonal",
    "In this run: mean |cos| of a position and a context vector, against independent vectors with the states' "
    "covariance. It holds where no more than chance is found, in more layers than not.",
    ("context/incoherence_mean", "context/incoherence_mean_null_covariance"),
)
def orthogonal(results: xr.DataTree) -> Finding:
    """Mean |cos| of position and context vectors, median over layers; corrected: of independent vectors."""
    found, null = (numbers(results, f"context/incoherence_mean{end}") for end in ("", "_null_covariance"))
    below = int(np.sum(found <= null))
    words = f"No larger than chance in {below} of {len(found)} layers."
    holds = 2 * below > len(found)
    return Finding(APPROXIMATE if holds else ABSENT, NONE, float(np.median(null)), float(np.median(found)), note=words)


@of_model(
    "SZ-EQ8",
    "Equation (8), section 4.2",
    "in more than 43 % of heads the positional constituent is largest at t′ = t for more than 80 % of positions",
    "The number is of GPT-2. In this run: the share of heads with that property, and of circularly shifted windows.",
    ("qk_smoothness/argmax_share", "qk_smoothness/argmax_share_null"),
)
def argmax_property(results: xr.DataTree) -> Finding:
    """Share of heads; corrected: of circularly shifted windows."""
    share, null = (float(np.mean(numbers(results, f"qk_smoothness/argmax_share{end}") > 0.8)) for end in ("", "_null"))
    return Finding(APPROXIMATE if share > 0.43 else ABSENT, 0.43, null, share)


@of_model(
    "BAO-RHO-MODEL",
    "Sections 4 and 7",
    "the spectrum of W_QK Σ tells at which tokens the signal passes",
    "In this run: rank correlation over heads of the exact law's mean ρ with the share measured on text, its error "
    "over blocks. Tokens of text do not walk at random.",
    ("localization_agreement/rho_agreement", "localization_agreement/rho_agreement_se"),
)
def predicted_signal(results: xr.DataTree) -> Finding:
    """Rank correlation of predicted and measured signal propagation; the statement says above 0."""
    return correlated(results, "localization_agreement/rho_agreement", 1)


@of_model(
    "BAO-ENT-MODEL",
    "Sections 5 and 7",
    "heads of small scale η have high attention entropy",
    "In this run: rank correlation over heads of η with the relative entropy of attention, its error over blocks.",
    ("localization_agreement/entropy_agreement", "localization_agreement/entropy_agreement_se"),
)
def entropy_and_scale(results: xr.DataTree) -> Finding:
    """Rank correlation of η and entropy; the statement says below 0."""
    return correlated(results, "localization_agreement/entropy_agreement", -1)


@of_model(
    "WE-7.2.1-RANK",
    "Section 7.2.1",
    "attention matrices have low rank, of the order of log n",
    "In this run: effective rank (exp of the spectral entropy) of the heads' maps, median over heads. It holds where "
    "half of the heads lie below twice log n.",
    ("heads/rank_effective",),
)
def rank_of_attention(results: xr.DataTree) -> Finding:
    """Effective rank of a map, median over heads; published: log n."""
    rank = numbers(results, "heads/rank_effective")
    rows = min(int(results.attrs.get("length", 128)), 128)
    middle, full = float(np.nanmedian(rank)), float(np.log(rows))
    words = f"Maps of {rows} rows; a tenth of the heads lie above {np.nanpercentile(rank, 90):.0f}."
    return Finding(APPROXIMATE if middle < 2 * full else ABSENT, full, NONE, middle, note=words)


@of_model(
    "WE-7.2.2-SPECTRA",
    "Section 7.2.2",
    "training presses the spectra of W_q, W_k and W_v down: Σσ² is a tenth or a twentieth of that of random matrices",
    "Published for another model, as a figure. In this run: ‖W‖² of these matrices over that of Glorot's "
    "initialisation, median over blocks. It holds where the ratio is below a fifth.",
    ("matrices/energy_initial",),
)
def pressed_spectra(results: xr.DataTree) -> Finding:
    """‖W‖² over that of a random matrix, median over blocks and W_Q, W_K, W_V; published 0.1."""
    names = [str(name) for name in results["matrices"].to_dataset()["matrix"].values]
    chosen = [at for at, name in enumerate(names) if name in ("query", "key", "value")]
    ratio = float(np.nanmedian(numbers(results, "matrices/energy_initial")[:, chosen]))
    return Finding(APPROXIMATE if ratio < 0.2 else ABSENT, 0.1, 1.0, ratio)


@of_model(
    "WE-8-ALIGN",
    "Chapter 8",
    "the alignment Tr(W_qᵀW_k) of trained heads is like that of random matrices",
    "In this run: share of heads whose trace lies within two standard deviations of factors with the same singular "
    "values in random directions; of random ones 95 % do.",
    ("weights/trace_qk_z",),
)
def alignment(results: xr.DataTree) -> Finding:
    """Share of heads within two standard deviations; corrected: of random factors."""
    z = numbers(results, "weights/trace_qk_z")
    share = float(np.mean(np.abs(z[np.isfinite(z)]) < 2))
    words = f"Largest |z| {np.nanmax(np.abs(z)):.0f}."
    return Finding(APPROXIMATE if share > 0.9 else ABSENT, NONE, 0.954, share, note=words)


@of_model(
    "TW-SPHERE",
    "Key results",
    "norms put the states of a trained model on a sphere of radius √d",
    "In this run: norm of the outputs of each norm over sampled tokens, before gain and bias, over √d_model.",
    ("norm_geometry/radius_before", "norm_geometry/radius"),
)
def model_sphere(results: xr.DataTree) -> Finding:
    """Mean radius over √d, of the norm farthest off; published 1."""
    ratios = numbers(results, "norm_geometry/radius_before") / numbers(results, "norm_geometry/radius")
    known = ratios[np.isfinite(ratios)]
    if not known.size:
        return Finding(UNCHECKED, note="No norm of this model can be read before its gain and bias.")
    worst = float(known[np.abs(known - 1).argmax()])
    return Finding(
        EXACT if abs(worst - 1) < 1e-3 else APPROXIMATE if abs(worst - 1) < 0.1 else ABSENT, 1.0, NONE, worst
    )


@of_model(
    "TW-NEAREST",
    "Open questions",
    "the output layer reads the token whose embedding is nearest on the sphere",
    "In this run: how often the likeliest token also has the largest cosine with the state; always only if all rows of "
    "the unembedding had one norm.",
    ("norm_geometry/argmax_agreement", "norm_geometry/argmax_agreement_se"),
)
def nearest_token(results: xr.DataTree) -> Finding:
    """Share of states; published 1."""
    share, error = (float(numbers(results, f"norm_geometry/argmax_agreement{end}")) for end in ("", "_se"))
    if not np.isfinite(share):
        return Finding(UNCHECKED, note="This model has no output layer.")
    exact = 1 - share <= SIGMAS * np.nan_to_num(error)
    return Finding(EXACT if exact else APPROXIMATE if share > 0.9 else ABSENT, 1.0, NONE, share, error)


def correlated(results: xr.DataTree, path: str, sign: int) -> Finding:
    """The verdict on the sign of a correlation over heads; not decided within five standard errors of 0."""
    value, error = (float(numbers(results, f"{path}{end}")) for end in ("", "_se"))
    if not abs(value) > SIGMAS * error:
        words = f"{value:.2f}, within five standard errors ({error:.2f}) of 0: this run does not decide it."
        return Finding(UNCHECKED, float(sign), NONE, value, error, words)
    found = direction(value, error, published=sign)
    return found._replace(verdict=APPROXIMATE if found.verdict == EXACT else ABSENT)


CLAIMS = claims_among(globals())
