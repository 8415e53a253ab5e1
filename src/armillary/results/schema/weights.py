"""What `armillary weights` reads off a checkpoint without a pass: spectra per head and per matrix, and their nulls."""

from dataclasses import replace

from armillary.measures.localization.agreement import entropy_agreement, rho_agreement
from armillary.measures.localization.heads import data_localization, localization
from armillary.measures.spectra.factors import data_factors, factors, folded_factors
from armillary.measures.spectra.matrices import beside_initial, matrix_noise, power_law_tail
from armillary.measures.spectra.product_null import qk_null, vo_null
from armillary.measures.spectra.products import (
    data_spectrum,
    factor_spectra,
    qk_spectrum,
    qk_spectrum_folded,
    vo_spectrum,
    vo_spectrum_folded,
)
from armillary.measures.spectra.rotary import distance_spectrum, rotary_energy
from armillary.measures.spectra.symmetry import symmetry
from armillary.results.schema.kinds import Group, Variable, axes, with_error

FILE = "weights.nc"
COMMAND = "armillary weights MODEL --run RUN"
PER_HEAD, PER_MODE = axes("block head"), axes("block head mode")
PRODUCTS = {"qk": "W_QK", "vo": "W_VO"}
FACTORS = {"q": "W_Q", "k": "W_K", "v": "W_V", "o": "W_O"}
FOLDED = ", the norm before the attention folded in"


def product_rows(name: str, matrix: str, beside: str = "") -> dict[str, Variable]:
    """Spectrum and traces of one product of weights."""
    optional = bool(beside)
    rows = {
        f"singular_value_{name}": (PER_MODE, "singular values", f"singular values of {matrix}"),
        f"eigenvalue_{name}_real": (PER_MODE, "eigenvalues, real part", f"non-zero eigenvalues of {matrix}, real part"),
        f"eigenvalue_{name}_imag": (PER_MODE, "eigenvalues, imaginary part", "their imaginary part"),
        f"trace_{name}": (PER_HEAD, "trace", f"tr {matrix}"),
        f"trace_square_{name}": (PER_HEAD, "trace of the square", f"tr {matrix}²"),
        f"frobenius_{name}": (PER_HEAD, "Frobenius norm", f"Frobenius norm of {matrix}"),
        f"eigenvalue_mean_{name}": (PER_HEAD, "mean eigenvalue", f"tr {matrix} / d_model: zero eigenvalues count"),
        f"eigenvalue_variance_{name}": (
            PER_HEAD,
            "variance of eigenvalues",
            f"tr {matrix}² / d_model − mean²: zero eigenvalues count; negative where complex ones dominate",
        ),
    }
    return {
        key: Variable(along, "1", f"{text}{beside}", label=f"{label} of {matrix}", optional=optional)
        for key, (along, label, text) in rows.items()
    }


def null_rows(name: str, matrix: str) -> dict[str, Variable]:
    """How one product differs from one of independent factors."""
    null = "of factors with the same singular values in random directions"
    return {
        f"singular_value_{name}_null": Variable(PER_MODE, "1", f"mean singular values of 24 products {null}"),
        f"top_{name}_z": Variable(
            PER_HEAD,
            "standard deviations",
            f"largest singular value of {matrix} against products {null}; Student's t, 23 degrees of freedom",
            label=f"largest singular value of {matrix}, z",
        ),
        f"trace_{name}_z": Variable(
            PER_HEAD,
            "standard deviations",
            f"alignment: tr {matrix} against products {null}, in closed form",
            label=f"alignment in {matrix}, z",
        ),
        f"overlap_{name}": Variable(
            PER_HEAD, "1", "overlap of the two subspaces of the hidden space, 0 to 1", label=f"overlap in {matrix}"
        ),
        f"overlap_{name}_null": Variable(PER_HEAD, "1", "the overlap of random subspaces: d_head / d_model"),
        f"overlap_{name}_z": Variable(
            PER_HEAD, "standard deviations", "the overlap against random subspaces", label=f"overlap in {matrix}, z"
        ),
    }


def head_rows() -> dict[str, Variable]:
    """Every variable of /weights."""
    rows = {
        f"singular_value_{name}": Variable(PER_MODE, "1", f"singular values of {W}", label=f"singular values of {W}")
        for name, W in FACTORS.items()
    }
    for name, matrix in PRODUCTS.items():
        rows |= product_rows(name, matrix) | product_rows(f"{name}_folded", matrix, FOLDED) | null_rows(name, matrix)
    return rows | {
        "symmetry": Variable(
            PER_HEAD, "1", "½ (1 + tr W_QK² / ‖W_QK‖²): 1 symmetric, 0 antisymmetric", label="symmetry of W_QK"
        ),
        "directionality": Variable(
            PER_HEAD, "1", "(C − R)/(C + R) of outstanding column and row norms of W_QK", label="directionality of W_QK"
        ),
        "singular_value_qk_distance": Variable(
            axes("block head distance mode"), "1", "singular values of W_QK at a distance, under RoPE", optional=True
        ),
        "trace_qk_distance": Variable(
            axes("block head distance"),
            "1",
            "tr W_QK at a distance, under RoPE",
            label="trace of W_QK by distance",
            optional=True,
        ),
        "trace_square_qk_distance": Variable(
            axes("block head distance"), "1", "tr W_QK² at a distance, under RoPE", optional=True
        ),
        "rotary_energy": Variable(
            axes("block head plane"),
            "1",
            "share of ‖W_Q‖ ‖W_K‖ in each plane of RoPE",
            label="query–key energy by RoPE plane",
            share=True,
            optional=True,
        ),
        "eigenvalue_qk_data_real": Variable(
            PER_MODE, "1", "non-zero eigenvalues of W_QK Σ, real part; Σ the covariance of the input", optional=True
        ),
        "eigenvalue_qk_data_imag": Variable(PER_MODE, "1", "their imaginary part", optional=True),
        "trace_qk_data": Variable(PER_HEAD, "1", "tr W_QK Σ", label="trace of W_QK Σ", optional=True),
        "trace_square_qk_data": Variable(PER_HEAD, "1", "tr (W_QK Σ)²", optional=True),
    }


HEAD_MEASURES = (
    *(factors, folded_factors, data_factors, factor_spectra),
    *(qk_spectrum, qk_spectrum_folded, vo_spectrum, vo_spectrum_folded, data_spectrum),
    *(qk_null, vo_null, symmetry, distance_spectrum, rotary_energy, localization, data_localization),
)
"""What `probes/weights.py` measures of every head, in this order, while a block is in memory: /weights, /localization.

A measure whose parameters a model does not have is left out.
"""

SHOWN = (
    *("trace_qk", "trace_square_qk", "frobenius_qk", "trace_qk_z", "top_qk_z", "overlap_qk_z", "symmetry"),
    *("directionality", "trace_vo", "frobenius_vo", "trace_vo_z", "top_vo_z", "overlap_vo_z"),
)
"""What tables and the explorer show of every head; a file holds all."""

PER_PLACE = axes("block head place")


def localization_rows(ending: str, matrix: str) -> dict[str, Variable]:
    """ξ, η, ρ and the regime of W."""
    rho = "probability that a linearised softmax lets the key pass, 0 to 1"
    return {
        f"xi{ending}": Variable(PER_HEAD, "1", f"ξ = tr W/√tr W², W = {matrix}; NaN where tr W² ≤ 0", label="ξ"),
        f"eta{ending}": Variable(PER_HEAD, "1", f"η = √tr W², W = {matrix}; NaN where tr W² ≤ 0", label="η"),
        f"rho{ending}": Variable(PER_PLACE, "1", f"{rho}, by the exact law", label="ρ, exact law"),
        f"rho{ending}_gaussian": Variable(PER_PLACE, "1", f"{rho}, Gaussian with exact moments", label="ρ, Gaussian"),
        f"rho{ending}_published": Variable(PER_PLACE, "1", f"{rho}, as published", label="ρ, published"),
        f"regime{ending}": Variable(PER_HEAD, "text", "late, middle, early, uniform or vanishing, by the exact law"),
        f"clipped{ending}": Variable(
            PER_HEAD, "true or false", "whether a middle focus is made by clipping at 1, not by attention"
        ),
    }


PER_MATRIX = axes("block matrix")
MATRIX_MODES = axes("block matrix mode")

CAPTURED = {
    "singular_value": Variable(
        MATRIX_MODES, "1", "singular values of a whole matrix, NaN beyond its shorter side", label="singular values"
    ),
    "rows": Variable(PER_MATRIX, "1", "how many inputs the matrix has"),
    "columns": Variable(PER_MATRIX, "1", "how many outputs it has"),
}

FITTED = {
    "variance": Variable(
        PER_MATRIX, "1", "variance of an entry of the noise that fits the bulk", label="noise variance"
    ),
    "edge": Variable(PER_MATRIX, "1", "singular value at which that noise ends", label="edge of the noise"),
    "edge_scale": Variable(PER_MATRIX, "1", "its fluctuation: one unit of the Tracy–Widom law"),
    "top_p": Variable(
        PER_MATRIX, "1", "p-value of the largest singular value, by the Tracy–Widom law", label="p of σ₁"
    ),
    "outliers": Variable(
        PER_MATRIX, "1", "singular values above the noise, significant at 1 % one after the other", label="outliers"
    ),
    "outlier_energy": Variable(
        PER_MATRIX,
        "1",
        "share of the squared Frobenius norm that outliers hold",
        label="energy of outliers",
        share=True,
    ),
    "ks_distance": Variable(
        PER_MATRIX,
        "1",
        "Kolmogorov–Smirnov distance of the other values from Marchenko–Pastur",
        label="distance from noise",
    ),
    "energy_initial": Variable(
        PER_MATRIX, "1", "‖W‖² over that of Glorot's initialisation", label="energy over Glorot's initialisation"
    ),
    "below_initial": Variable(
        PER_MATRIX,
        "1",
        "share of singular values below those of Glorot's initialisation, rank by rank",
        label="values below Glorot's",
        share=True,
    ),
    "alpha": Variable(PER_MATRIX, "1", "exponent of the tail of squared singular values", label="power-law exponent"),
    "alpha_low": Variable(PER_MATRIX, "1", "lower end of its 95 % interval, by bootstrap of the whole fit"),
    "alpha_high": Variable(PER_MATRIX, "1", "upper end of its 95 % interval"),
    "tail_from": Variable(PER_MATRIX, "1", "squared singular value from which on the tail is fitted"),
    "tail_distance": Variable(PER_MATRIX, "1", "Kolmogorov–Smirnov distance of the tail from the power law"),
    "tail_values": Variable(PER_MATRIX, "1", "how many values the tail has"),
}


AGREEMENT = {
    "rho_agreement": Variable(
        (), "1", "rank correlation over heads of predicted and measured signal propagation", label="agreement of ρ"
    ),
    "entropy_agreement": Variable(
        (), "1", "rank correlation over heads of η and relative entropy; predicted below 0", label="agreement of η"
    ),
}


TAIL = ("alpha", "alpha_low", "alpha_high", "tail_from", "tail_distance", "tail_values")
"""What of these is of the tail."""


def optional(rows: dict[str, Variable]) -> dict[str, Variable]:
    """The rows, none of which a run must have."""
    return {name: replace(row, optional=True) for name, row in rows.items()}


GROUPS: dict[str, Group] = {
    "weights": Group(
        FILE,
        "spectra of every head's W_QK = scale · W_Q W_Kᵀ and W_VO = W_V W_O, and what independent factors would give",
        head_rows(),
        command=COMMAND,
    ),
    "weights_twin": Group(
        FILE,
        "the same of the random-weight control",
        optional(head_rows()),
        command=COMMAND,
    ),
    "localization": Group(
        FILE,
        "what the random-walk theory of Bao and others says of every head, corrected and as published",
        localization_rows("", "W_QK") | optional(localization_rows("_data", "W_QK Σ, Σ the covariance of the input")),
        command=COMMAND,
    ),
    "localization_agreement": Group(
        FILE,
        "how far heads rank on text as that theory predicts",
        {key: row for name, base in AGREEMENT.items() for key, row in with_error(name, base, "blocks").items()},
        (rho_agreement, entropy_agreement),
        ("localization", "heads"),
        COMMAND,
    ),
    "matrix_spectra": Group(FILE, "singular values of whole matrices", CAPTURED, command=COMMAND),
    "matrix_spectra_twin": Group(FILE, "the same of the random-weight control", CAPTURED, command=COMMAND),
    "matrices": Group(
        FILE,
        "whole matrices against noise, and the tail of their spectra",
        FITTED,
        (matrix_noise, beside_initial, power_law_tail),
        ("matrix_spectra",),
        COMMAND,
    ),
    "matrices_twin": Group(
        FILE,
        "the same of the random-weight control, without tails",
        {name: row for name, row in FITTED.items() if name not in TAIL},
        (matrix_noise, beside_initial),
        ("matrix_spectra_twin",),
        COMMAND,
    ),
}
