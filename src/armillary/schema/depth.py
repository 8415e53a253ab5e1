"""What is measured from layer to layer."""

from armillary.measures.anisotropy import anisotropy, outlier_dimensions
from armillary.measures.dimension import dimension
from armillary.measures.identity import token_share
from armillary.measures.layers import layer_likeness
from armillary.measures.norms import norm
from armillary.schema.kinds import Group, Variable, axes

LAYER, PAIRS, LARGEST = axes("layer"), axes("layer layer_"), axes("layer mode")

LIKENESS = {
    "layer_cosine": Variable(PAIRS, "1", "mean cosine of a token's states in two layers, nothing taken off"),
    "cka_debiased": Variable(PAIRS, "1", "linear CKA of two layers without small-sample bias; may be negative"),
    "cka": Variable(PAIRS, "1", "linear CKA of two layers, plug-in"),
}

CLOUD = {
    "anisotropy": Variable(LAYER, "1", "mean cosine of the states of two different tokens"),
    "anisotropy_se": Variable(LAYER, "1", "its standard error over documents"),
    "anisotropy_centred": Variable(LAYER, "1", "the same with the sample's mean taken off; near 0 by construction"),
    "anisotropy_centred_se": Variable(LAYER, "1", "its standard error over documents"),
    "outlier_dimension_count": Variable(LAYER, "dimensions", "coordinates with more than 5 times the average variance"),
    "outlier_dimension_share": Variable(LAYER, "1", "their common share of the variance"),
    "dimension_index": Variable(LARGEST, "index", "the coordinates of largest variance, largest first"),
    "dimension_share": Variable(LARGEST, "1", "their shares of the variance"),
    "dimension_twonn": Variable(LAYER, "dimensions", "intrinsic dimension of the sample by two nearest neighbours"),
    "dimension_twonn_se": Variable(LAYER, "dimensions", "its standard error by likelihood, not over documents"),
    "dimension_twonn_null": Variable(
        LAYER, "dimensions", "the same of a Gaussian cloud with as many points and the same covariance"
    ),
}

IDENTITY = {
    "token_share": Variable(
        LAYER, "1", "share of the residual's variance between tokens, corrected for degrees of freedom; may be negative"
    ),
    "token_share_se": Variable(LAYER, "1", "its standard error over documents"),
    "token_share_null": Variable(LAYER, "1", "highest share of 19 shuffles of the tokens: chance passes it once in 20"),
    "token_count": Variable(
        LAYER, "tokens", "different tokens that entered: those that the sample holds at least twice"
    ),
}

GROUPS: dict[str, Group] = {
    "norms": Group(
        "states.nc",
        "lengths of the states",
        {
            "norm": Variable(axes("layer"), "units of the stream", "mean norm of the kept tokens"),
            "norm_se": Variable(axes("layer"), "units of the stream", "its standard error over documents"),
        },
        (norm,),
    ),
    "depth": Group(
        "states.nc",
        "the cloud of states of each layer, and how the layers resemble each other",
        LIKENESS | CLOUD | IDENTITY,
        (layer_likeness, anisotropy, outlier_dimensions, dimension, token_share),
    ),
}
