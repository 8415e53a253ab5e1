"""What is measured of position: shares, ranks, spectra, smoothness."""

from armillary.measures.decomposition import variance
from armillary.measures.heldout import heldout
from armillary.measures.position import position_effect, position_share
from armillary.measures.ranks import screenot_ranks
from armillary.measures.smoothness import low_frequency_share_sinusoidal, smoothness
from armillary.schema.kinds import Group, Variable, axes

GROUPS: dict[str, Group] = {
    "variance": Group(
        "states.nc",
        "how the sum of squares about the mean splits into position, context and residual",
        {
            "share": Variable(axes("layer component"), "1", "share of each component; the three add up to 1"),
            "share_floor": Variable(
                axes("layer component"), "1", "what the share would be if it meant nothing; none for the residual"
            ),
        },
        (variance,),
    ),
    "position": Group(
        "states.nc",
        "the position basis: how strong, in how many directions",
        {
            "share_corrected": Variable(axes("layer"), "1", "share without small-sample bias; may be negative"),
            "share_corrected_se": Variable(axes("layer"), "1", "its standard error over documents"),
            "share_null": Variable(axes("layer"), "1", "plug-in share of the turned windows"),
            "singular_value": Variable(axes("layer mode"), "units of the stream", "singular values of position_basis"),
            "energy_heldout": Variable(
                axes("layer mode"), "units of the stream, squared", "squared singular values without small-sample bias"
            ),
            "energy_heldout_null": Variable(
                axes("layer"),
                "units of the stream, squared",
                "95 % point of the leading energy when folds are turned against each other",
            ),
            "rank_heldout": Variable(axes("layer"), "1", "how many of the 20 leading energies exceed that point"),
            "rank_heldout_low": Variable(axes("layer"), "1", "the lowest count with a fold left out of the sum"),
            "rank_heldout_high": Variable(axes("layer"), "1", "the highest count with a fold left out of the sum"),
            "singular_value_without": Variable(
                axes("layer fold mode"), "units of the stream", "singular values of the basis without a fold"
            ),
            "rank_screenot": Variable(axes("layer"), "1", "ScreeNOT rank at k = 20; NaN: fewer than 41 positions"),
            "rank_screenot_low": Variable(axes("layer"), "1", "the lowest with one fold of documents left out"),
            "rank_screenot_high": Variable(axes("layer"), "1", "the highest with one fold of documents left out"),
            "rank_screenot_null": Variable(axes("layer"), "1", "of differences of halves of the contexts, median"),
            "rank_screenot_by_k": Variable(axes("layer k"), "1", "ScreeNOT rank at k = 10, 20, 30"),
            "rank_screenot_half": Variable(axes("layer"), "1", "ScreeNOT rank from half the contexts"),
            "rank_stable": Variable(axes("layer"), "1", "Σσ² / σ₁² of position_basis, plug-in"),
            "rank_stable_null": Variable(axes("layer"), "1", "the same of the turned windows"),
            "rank_stable_corrected": Variable(
                axes("layer"), "1", "stable rank without small-sample bias; NaN: not determined, position too weak"
            ),
            "rank_stable_corrected_se": Variable(axes("layer"), "1", "its standard error over documents"),
            "relative_norm": Variable(axes("layer"), "1", "‖P‖op / ‖M‖op, plug-in; in [0, 1]"),
            "relative_norm_null": Variable(axes("layer"), "1", "the same of the turned windows"),
            "relative_norm_corrected": Variable(
                axes("layer"), "1", "relative norm without small-sample bias; NaN: not determined, position too weak"
            ),
            "relative_norm_corrected_se": Variable(axes("layer"), "1", "its standard error over documents"),
            "gram": Variable(axes("layer position position_"), "1", "cosines of the position vectors (equation 5)"),
            "low_frequency_share": Variable(
                axes("layer frequency"), "1", "share of the Gram's energy in frequencies 0..K of both axes"
            ),
            "low_frequency_share_low": Variable(axes("layer frequency"), "1", "the lowest with one fold left out"),
            "low_frequency_share_high": Variable(axes("layer frequency"), "1", "the highest with one fold left out"),
            "low_frequency_share_null": Variable(axes("layer frequency"), "1", "the same of the turned windows"),
            "low_frequency_share_sinusoidal": Variable(
                axes("frequency"), "1", "the same of the fixed sinusoidal encoding of Vaswani et al."
            ),
            "difference_max": Variable(axes("layer order"), "1", "largest |Δ^(m,m)| of the reflected Gram matrix"),
            "theorem1_residual": Variable(axes("layer"), "1", "what the 10 lowest frequencies leave of the Gram"),
            "theorem1_bound": Variable(axes("layer order"), "1", "what Theorem 1, proved again, allows them to leave"),
            "theorem1_residual_published": Variable(axes("layer"), "1", "the least that the printed basis leaves"),
            "theorem1_bound_published": Variable(axes("layer order"), "1", "what Theorem 1 as printed allows"),
        },
        (heldout, position_effect, screenot_ranks, smoothness, low_frequency_share_sinusoidal),
    ),
    "attention_variance": Group(
        "states.nc",
        "how the inputs of the attentions split into position, context and residual",
        {
            "share": Variable(axes("block component"), "1", "share of each component; the three add up to 1"),
            "share_floor": Variable(
                axes("block component"), "1", "what the share would be if it meant nothing; none for the residual"
            ),
            "share_corrected": Variable(axes("block"), "1", "position share without small-sample bias"),
            "share_corrected_se": Variable(axes("block"), "1", "its standard error over documents"),
        },
        (variance, position_share),
        ("attention", "corpus", "residual"),
    ),
}
