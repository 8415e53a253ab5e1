"""States on the sphere: what norms make of them (`armillary weights`), how tokens travel (`armillary travel`)."""

from armillary.results.schema.kinds import Group, Variable, axes

NORMS, TRAVEL = "armillary weights MODEL --run RUN", "armillary travel MODEL TEXT --run RUN"
PER_NORM, PER_STATE, PER_TOKEN = axes("norm"), axes("layer position"), axes("position")
SAMPLED = "sampled tokens, massive ones left out; NaN where the sample does not hold the norm's states"
CONTROL = "of the random-weight control, mean over its tokens"


def measured(text: str, label: str = "", unit: str = "1") -> Variable:
    """A result that needs the sampled states of a run."""
    return Variable(PER_NORM, unit, text, optional=True, label=label)


SHAPE = {
    "kind": Variable(PER_NORM, "text", "LayerNorm (centred: on the hyperplane orthogonal to 1) or RMSNorm"),
    "gain_largest": Variable(
        PER_NORM,
        "1",
        "largest over median |gain|: the longest axis of the ellipsoid that gain makes of the sphere",
        label="largest over median gain",
    ),
    "gain_smallest": Variable(
        PER_NORM, "1", "median over smallest |gain| that is not zero to float32", label="median over smallest gain"
    ),
    "flat_axes": Variable(PER_NORM, "1", "how many gains are zero beside the median, to float32", label="flat axes"),
    "gain_variation": Variable(
        PER_NORM, "1", "standard deviation over mean of |gain|; 0: the ellipsoid is a sphere", label="variation of gain"
    ),
    "shift": Variable(PER_NORM, "1", "|bias| / √d_model: the ellipsoid's centre in radii", label="shift"),
    "radius": Variable(PER_NORM, "1", "√d_model: the sphere's radius before gain and bias", label="√d_model"),
}

RADII = {
    "radius_before": measured(f"norm of the norm's output before gain and bias, mean over {SAMPLED}", "radius"),
    "radius_before_sd": measured("its standard deviation over sampled tokens"),
    "radius_after": measured(f"the same after gain and bias, mean over {SAMPLED}", "radius after gain and bias"),
    "radius_after_sd": measured("its standard deviation over sampled tokens"),
    "along_ones": measured(
        "mean |cosine| of the output before gain and bias with the vector of ones; 0 for a LayerNorm",
        "|cosine| with ones",
    ),
}

HEAD = {
    "argmax_agreement": Variable(
        (),
        "1",
        "share of sampled last states whose likeliest token also has the row of W_U with the largest cosine",
        optional=True,
        label="argmax by logit is argmax by cosine",
        share=True,
        error="documents",
    ),
    "argmax_agreement_se": Variable((), "1", "its standard error over documents", optional=True, share=True),
    "row_variation": Variable(
        (),
        "1",
        "standard deviation over mean of the norms of the rows of W_U; NaN without a head",
        label="variation of unembedding norms",
    ),
}

PATH = {
    "token": Variable(PER_TOKEN, "token id", "the tokens as the model saw them, special ones counted"),
    "text": Variable(PER_TOKEN, "text", "their texts, escaped"),
    "counted": Variable(
        PER_TOKEN, "true or false", "whether the token enters means: not position 0, not a special token"
    ),
    "angle": Variable(
        PER_STATE, "degrees", "angle to the same token's state one layer before; NaN at layer 0", label="angle"
    ),
    "angle_null": Variable(axes("layer"), "degrees", f"the angle {CONTROL}"),
    "length": Variable(PER_TOKEN, "degrees", "sum of the angles: the path's length on the sphere", label="path length"),
    "length_null": Variable((), "degrees", f"the path length {CONTROL}"),
    "direct": Variable(PER_TOKEN, "degrees", "angle between the first and the last state", label="direct angle"),
    "direct_null": Variable((), "degrees", f"the direct angle {CONTROL}"),
    "straightness": Variable(PER_TOKEN, "1", "direct angle over path length", label="straightness"),
    "straightness_null": Variable((), "1", f"the straightness {CONTROL}"),
}

TOP = axes("layer position choice")

LENS = {
    "top_token": Variable(TOP, "token id", "what a state decodes to through the model's own final norm and head", True),
    "top_text": Variable(TOP, "text", "the texts of these tokens, escaped", True),
    "top_probability": Variable(TOP, "1", "their probabilities", True, label="probability", share=True),
    "settled": Variable(PER_TOKEN, "layer", "layer from which on the likeliest token is the last layer's", True),
}


def coordinates(name: str, cloud: str, words: str, *, optional: bool) -> dict[str, Variable]:
    """Where the states stand in three dimensions, and some embeddings beside them."""
    return {
        name: Variable(axes("layer position mode"), "1", f"the states' directions {words}", optional),
        cloud: Variable(axes("embedding mode"), "1", "some token embeddings, in the same way", True),
    }


PLACES = {
    **coordinates(
        "coordinate", "cloud", "along the three directions in which the embeddings vary most", optional=False
    ),
    "variance_share": Variable(axes("mode"), "1", "share of the embeddings' variance along each", share=True),
    "path_share": Variable(axes("mode"), "1", "share of the states' variance along each", share=True),
    **coordinates("coordinate_own", "cloud_own", "along the three directions in which they vary most", optional=False),
    "path_share_own": Variable(axes("mode"), "1", "share of the states' variance along each", share=True),
    **coordinates("umap", "cloud_umap", "by UMAP, fitted on the embeddings", optional=True),
    "cloud_text": Variable(axes("embedding"), "text", "the texts of these embeddings' tokens, escaped", True),
}

GROUPS: dict[str, Group] = {
    "norm_geometry": Group("weights.nc", "what each norm makes of states", SHAPE | RADII | HEAD, command=NORMS),
    "travel": Group(
        "travel.nc",
        "the states of one text on the sphere, layer by layer, each through the model's own final norm",
        PATH | LENS | PLACES,
        command=TRAVEL,
    ),
}
