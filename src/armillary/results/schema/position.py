"""What is measured of position: shares, ranks, spectra, smoothness."""

from armillary.measures.decomposition import variance
from armillary.measures.heldout import heldout, rank_heldout_familywise
from armillary.measures.position import position_effect, position_share
from armillary.measures.ranks import screenot_ranks
from armillary.measures.smoothness import low_frequency_share_sinusoidal, smoothness
from armillary.results.schema.kinds import Group, Variable, axes, with_error, with_range

LAYER, MODES, ORDERS, FREQUENCIES = axes("layer"), axes("layer mode"), axes("layer order"), axes("layer frequency")
SHIFTED = "the same of circularly shifted windows"


def components(axis: str) -> dict[str, Variable]:
    """How a sum of squares splits."""
    along = axes(f"{axis} component")
    return {
        "share": Variable(along, "1", "share of each component; the three add up to 1", label="share", share=True),
        "share_floor": Variable(
            along, "1", "expected share of a component without any effect; none for the residual", share=True
        ),
    }


STRENGTH = {
    **with_error(
        "share_corrected",
        Variable(LAYER, "1", "bias-corrected share; may be negative", label="position share", share=True),
        without=True,
    ),
    "share_null": Variable(LAYER, "1", "plug-in share of circularly shifted windows", share=True),
    "rank_stable": Variable(LAYER, "1", "Σσ² / σ₁² of position_basis, plug-in", label="stable rank, plug-in"),
    "rank_stable_null": Variable(LAYER, "1", SHIFTED),
    **with_error(
        "rank_stable_corrected",
        Variable(
            LAYER,
            "1",
            "bias-corrected stable rank; NaN: not estimable, position too weak",
            label="stable rank",
            folds=True,
        ),
        without=True,
    ),
    "relative_norm": Variable(LAYER, "1", "‖P‖op / ‖M‖op, plug-in; in [0, 1]", label="relative norm, plug-in"),
    "relative_norm_null": Variable(LAYER, "1", SHIFTED),
    **with_error(
        "relative_norm_corrected",
        Variable(
            LAYER,
            "1",
            "bias-corrected relative norm; NaN: not estimable, position too weak",
            label="relative norm",
            folds=True,
        ),
        without=True,
    ),
}

SPECTRUM = {
    "singular_value": Variable(MODES, "units of the stream", "singular values of position_basis"),
    "energy_heldout": Variable(MODES, "units of the stream, squared", "bias-corrected squared singular values"),
    "energy_heldout_without": Variable(
        axes("layer fold"), "units of the stream, squared", "the leading one when a fold is left out", optional=True
    ),
    "energy_heldout_null": Variable(
        LAYER, "units of the stream, squared", "95 % point of the leading energy when folds are shifted by themselves"
    ),
    **with_range(
        "rank_heldout",
        Variable(LAYER, "1", "how many of the 20 leading energies exceed that point", label="held-out rank"),
        "fold",
    ),
    "rank_heldout_familywise": Variable(
        LAYER, "1", "the same at 95 % for all layers together", optional=True, label="held-out rank, all layers jointly"
    ),
    "singular_value_without": Variable(
        axes("layer fold mode"), "units of the stream", "singular values of the basis without a fold"
    ),
    **with_range(
        "rank_screenot",
        Variable(LAYER, "1", "ScreeNOT rank at k = 20; NaN: fewer than 41 positions", label="ScreeNOT rank"),
        "fold of documents",
    ),
    "rank_screenot_null": Variable(LAYER, "1", "of differences of halves of the contexts, median"),
    "rank_screenot_by_k": Variable(axes("layer k"), "1", "ScreeNOT rank at k = 10, 20, 30"),
    "rank_screenot_half": Variable(LAYER, "1", "ScreeNOT rank from half the contexts"),
}

SMOOTHNESS = {
    "gram": Variable(axes("layer position position_"), "1", "cosines of the position vectors (equation 5)"),
    **with_range(
        "low_frequency_share",
        Variable(
            FREQUENCIES,
            "1",
            "share of the Gram's energy in frequencies 0..K of both axes",
            label="low-frequency share",
            share=True,
        ),
        "fold",
    ),
    "low_frequency_share_null": Variable(FREQUENCIES, "1", SHIFTED, share=True),
    "low_frequency_share_sinusoidal": Variable(
        axes("frequency"), "1", "the same of the fixed sinusoidal encoding of Vaswani et al.", share=True
    ),
    "difference_max": Variable(ORDERS, "1", "largest |Δ^(m,m)| of the reflected Gram matrix"),
    "theorem1_residual": Variable(LAYER, "1", "what the 10 lowest frequencies leave of the Gram"),
    "theorem1_bound": Variable(ORDERS, "1", "what the corrected Theorem 1 allows them to leave"),
    "theorem1_residual_published": Variable(LAYER, "1", "the least that the published basis leaves"),
    "theorem1_bound_published": Variable(ORDERS, "1", "what Theorem 1 as published allows"),
}

GROUPS: dict[str, Group] = {
    "variance": Group(
        "states.nc",
        "how the sum of squares about the mean splits into position, context and residual",
        components("layer"),
        (variance,),
        splits=True,
    ),
    "position": Group(
        "states.nc",
        "the positional basis: how strong, in how many directions",
        STRENGTH | SPECTRUM | SMOOTHNESS,
        (heldout, rank_heldout_familywise, position_effect, screenot_ranks, smoothness, low_frequency_share_sinusoidal),
        splits=True,
    ),
    "attention_variance": Group(
        "states.nc",
        "how the inputs of the attentions split into position, context and residual",
        components("block")
        | with_error(
            "share_corrected",
            Variable(
                axes("block"),
                "1",
                "bias-corrected position share",
                label="position share of the attention's input",
                share=True,
            ),
            without=True,
        ),
        (variance, position_share),
        ("attention", "corpus", "residual"),
        splits=True,
    ),
}
