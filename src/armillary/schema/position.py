"""What is measured of position: shares, ranks, spectra, smoothness."""

from armillary.measures.decomposition import variance
from armillary.measures.position import position_effect, position_share
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
        },
        (position_effect,),
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
