"""What `armillary gaussian` adds to a run: states, logits and mixing as those of jointly Gaussian tokens."""

from armillary.results.schema.kinds import Group, Variable, axes, with_error, with_range

FILE = "gaussian.nc"
COMMAND = "armillary gaussian RUN"
BY_DISTANCE, LOGIT, HEAD = axes("layer distance"), axes("block head distance"), axes("block head")
BLOCK, LAYER = axes("block"), axes("layer")
PROJECTIONS = ("query", "key", "value", "query–key")
"""Which of a head's maps both tokens go through; in the last the later one through W_Q, the earlier through W_K."""

INFORMATION = {
    **with_range(
        "information",
        Variable(
            BY_DISTANCE,
            "nats",
            "mutual information of two tokens' states in the leading directions, as of Gaussians; bias-corrected, may "
            "be negative",
            label="mutual information",
        ),
        optional=True,
    ),
    "information_plug_in": Variable(
        BY_DISTANCE, "nats", "the same, plug-in: too large where samples are few", label="plug-in mutual information"
    ),
    "information_null": Variable(
        BY_DISTANCE,
        "nats",
        "the same of windows paired with circularly shifted ones of other documents, mean of 4 pairings",
        label="circular-shift null",
    ),
    "information_null_high": Variable(BY_DISTANCE, "nats", "the largest of these 4"),
    "direction_share": Variable(
        axes("layer"), "1", "share of the variance in the leading directions", label="share of variance", share=True
    ),
}

LOGITS = {
    "mean": Variable(LOGIT, "1", "mean logit of queries at this distance after their key", label="mean logit"),
    "mean_predicted": Variable(
        LOGIT, "1", "the same from means and covariances; holds for any law", label="predicted mean logit"
    ),
    "variance": Variable(
        LOGIT, "1", "variance of these logits over windows, mean over positions", label="variance of logits"
    ),
    "variance_predicted": Variable(
        LOGIT, "1", "the same if queries and keys were jointly Gaussian", label="predicted variance of logits"
    ),
    "variance_independent": Variable(
        LOGIT, "1", "the same if they were independent too (equation 6.3)", label="predicted variance, independent"
    ),
    **with_error(
        "log_ratio",
        Variable(LOGIT, "nats", "log of measured over predicted variance; 0 for Gaussians", label="log variance ratio"),
    ),
    "log_ratio_detectable": Variable(
        LOGIT, "nats", "the log ratio that a test at 5 % finds in 80 % of corpora, from the error over documents"
    ),
    **with_range("skewness", Variable(LOGIT, "1", "skewness of the logits; 0 if normal", label="skewness")),
    **with_range(
        "excess_kurtosis",
        Variable(LOGIT, "1", "excess kurtosis of the logits, plug-in; 0 if normal", label="excess kurtosis"),
    ),
    "excess_predicted": Variable(
        LOGIT, "1", "the excess that Gaussian queries and keys would have", label="predicted excess kurtosis"
    ),
    "correlation": Variable(
        axes("distance"), "1", "correlation over heads of the logs of measured and predicted variance"
    ),
    "factor_median": Variable(
        axes("distance"),
        "1",
        "by what factor measured and predicted variance differ, either way, median over heads",
    ),
}

KEPT = {
    "kept": Variable(
        axes("block head projection"),
        "1",
        "share of the mutual information of neighbouring inputs that is left after the head's maps; no error covers, "
        "since other documents have other leading directions",
        label="information kept",
        share=True,
    ),
    "kept_random": Variable(
        BLOCK, "1", "the same of random maps of the same rank, mean of 4", label="kept by random maps", share=True
    ),
    "information_input": Variable(
        BLOCK,
        "nats",
        "mutual information of neighbouring inputs of the attention in these directions; no error covers",
        label="before the maps",
    ),
    "input_directions": Variable((), "directions", "how many leading directions of the inputs are counted"),
    "input_share": Variable(BLOCK, "1", "their share of the inputs' variance", share=True),
}

MIXING = {
    "entropy": Variable(HEAD, "nats", "entropy of a head's outputs in the values' leading directions", label="entropy"),
    "entropy_fixed": Variable(
        HEAD, "nats", "the same with the mean attention over windows as fixed weights", label="entropy, fixed weights"
    ),
    **with_error(
        "entropy_gap",
        Variable(HEAD, "nats", "fixed less real weights: what the formulas miss", label="error of the entropy"),
    ),
    "information": Variable(HEAD, "nats", "mutual information of neighbouring outputs", label="information"),
    "information_fixed": Variable(HEAD, "nats", "the same with fixed weights", label="information, fixed weights"),
    "information_gap": Variable(
        HEAD,
        "nats",
        "fixed less real weights: what the formulas miss; no error covers",
        label="error of the information",
    ),
    "information_values": Variable(
        HEAD, "nats", "mutual information of neighbouring values, before attention", label="information of values"
    ),
}

DEPTH = {
    **with_range(
        "similarity",
        Variable(
            axes("variant layer"),
            "1",
            "mean cosine of two tokens of a window, of the model and of changed ones; that of random weights is of one "
            "draw and has no range",
            label="token similarity",
        ),
        optional=True,
    ),
}

STACKS = {
    **with_error(
        "similarity",
        Variable(
            axes("stack depth"),
            "1",
            "mean cosine of two tokens after each number of random attention layers",
            label="token similarity, random stacks",
        ),
        "simulated",
    ),
}

TOKENS = {
    **with_error(
        "own_token",
        Variable(
            LAYER,
            "1",
            "share of the states' variance, mean over leading directions, that the identity of a likely token explains",
            label="own token",
            share=True,
        ),
    ),
    **with_range(
        "previous_token",
        Variable(
            LAYER,
            "1",
            "the same of the next state: the identity of the likely token before it",
            label="previous token",
            share=True,
        ),
        optional=True,
    ),
    **with_range(
        "previous_predicted",
        Variable(
            LAYER,
            "1",
            "the same as the Gaussian conditional predicts it: linear in the state before",
            label="previous token, predicted",
            share=True,
        ),
        optional=True,
    ),
    **with_range(
        "previous_state",
        Variable(
            LAYER,
            "1",
            "share of the next state's variance that the whole state before it explains, by the Gaussian conditional",
            label="previous state",
            share=True,
        ),
        optional=True,
    ),
    "eigenvalue": Variable(
        axes("layer mode"), "1", "spectrum of one of the likely tokens, mean states of length 1; adds up to 1"
    ),
    **with_range(
        "directions",
        Variable(
            LAYER,
            "directions",
            "effective number of directions of one of the likely tokens, 1/Σ eigenvalue²",
            label="effective directions",
        ),
        optional=True,
    ),
    "directions_orthogonal": Variable(
        LAYER, "directions", "the same if all these tokens were orthogonal", label="orthogonal tokens"
    ),
    "directions_published": Variable(
        LAYER, "directions", "the same by the published formula, which squares probabilities", label="as published"
    ),
    **with_range(
        "cosine",
        Variable(LAYER, "1", "mean cosine of two different likely tokens", label="cosine of likely tokens"),
        optional=True,
    ),
    "probability": Variable(axes("token"), "1", "how often each of the likely tokens occurs, most frequent first"),
}

GROUPS: dict[str, Group] = {
    "gaussian": Group(
        FILE, "mutual information of two tokens by distance, as of Gaussians", INFORMATION, command=COMMAND
    ),
    "gaussian_tokens": Group(
        FILE,
        "the likely tokens as a law of states, and what they and the state before explain",
        TOKENS,
        command=COMMAND,
    ),
    "gaussian_logits": Group(
        FILE, "logits of every head, as the bilinear form of Gaussian queries and keys", LOGITS, command=COMMAND
    ),
    "gaussian_kept": Group(
        FILE, "what the low-rank maps of every head keep of mutual information", KEPT, command=COMMAND
    ),
    "gaussian_mixing": Group(
        FILE, "outputs of every head with real and with fixed attention weights", MIXING, command=COMMAND
    ),
    "gaussian_depth": Group(FILE, "similarity of the tokens of a window through depth", DEPTH, command=COMMAND),
    "gaussian_stacks": Group(
        FILE, "similarity of random tokens in random stacks of attention, simulated", STACKS, command=COMMAND
    ),
}
