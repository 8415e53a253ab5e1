"""What `armillary train` keeps of a training run: its curves, how well it does, and its geometry while it learns."""

from armillary.results.schema.kinds import Group, Variable, axes, with_error

FILE = "training.nc"
COMMAND = "armillary train"
TRAINING, OF_HEADS, OF_LAYERS = "training", "training_heads", "training_layers"

LOW = 10
"""K of the low-frequency share that is followed: frequencies 0..K."""

ALONG, BY_DIGITS = axes("step"), axes("step digits")
PER_HEAD, PER_LAYER = axes("step block head"), axes("step layer")

CURVES = {
    "loss": Variable(
        ALONG,
        "nats",
        "loss on what is learnt, mean over the steps since the one before; no penalty",
        label="training loss",
    ),
    "penalty": Variable(ALONG, "nats", "LocAteR penalty added to it", label="LocAteR penalty", optional=True),
    "learning_rate": Variable(ALONG, "1", "learning rate of the step", label="learning rate"),
    "gradient_norm": Variable(ALONG, "1", "norm of the gradient before it is clipped", label="gradient norm"),
    **with_error(
        "loss_validation",
        Variable(
            ALONG, "nats", "loss on what was kept for validation, NaN between two validations", label="validation loss"
        ),
        "stretches",
    ),
    "bigram_entropy": Variable(
        (), "nats", "entropy of a token given the one before it, in the whole text", label="bigrams", optional=True
    ),
    "accuracy": Variable(
        BY_DIGITS,
        "1",
        "share of problems whose whole answer is right, written greedily",
        label="exact match",
        share=True,
        optional=True,
    ),
    "accuracy_low": Variable(BY_DIGITS, "1", "lower end of its 95 % interval (Clopper–Pearson)", optional=True),
    "accuracy_high": Variable(BY_DIGITS, "1", "upper end of its 95 % interval (Clopper–Pearson)", optional=True),
    "problems": Variable(axes("digits"), "1", "how many distinct problems are tested", optional=True),
    "trained": Variable(axes("digits"), "true or false", "whether numbers of this length were learnt", optional=True),
}

HEADS = {
    "trace_qk": Variable(PER_HEAD, "1", "tr W_QK", label="trace of W_QK"),
    "frobenius_qk": Variable(PER_HEAD, "1", "Frobenius norm of W_QK, √tr(W_QKᵀ W_QK)", label="scale of W_QK"),
    "eigenvalue_mean_qk": Variable(PER_HEAD, "1", "tr W_QK / d_model", label="mean eigenvalue of W_QK"),
    "eigenvalue_variance_qk": Variable(
        PER_HEAD,
        "1",
        "tr W_QK² / d_model − mean²; negative where complex ones dominate",
        label="variance of eigenvalues of W_QK",
    ),
    "xi": Variable(PER_HEAD, "1", "ξ = tr W/√tr W², W = W_QK; NaN where tr W² ≤ 0", label="ξ"),
    "eta": Variable(PER_HEAD, "1", "η = √tr W², W = W_QK; NaN where tr W² ≤ 0", label="η"),
    "entropy": Variable(PER_HEAD, "nats", "entropy of attention, mean over queries but the first", label="entropy"),
    "entropy_relative": Variable(
        PER_HEAD,
        "1",
        "entropy over its largest value, mean over queries",
        label="relative entropy",
        share=True,
    ),
    "signal_propagation": Variable(
        PER_HEAD, "1", "mean of ρ over the keys of the last query", label="signal propagation", share=True
    ),
    "rho": Variable(
        axes("step block head key"),
        "1",
        "ρ: share of windows whose last query's linearised softmax lies in [0, 1] at the key",
        label="ρ",
    ),
}
GRADIENT = {
    "gradient_qk": Variable(
        PER_HEAD, "1", "norm of the QK gradient (3) of Bao et al.", label="QK gradient", optional=True
    ),
    "gradient_first": Variable(
        PER_HEAD, "1", "norm of its first term, quadratic in the values", label="first term", optional=True
    ),
    "gradient_second": Variable(
        PER_HEAD, "1", "norm of its second term, of the constant part of attention", label="second term", optional=True
    ),
    "gradient_third": Variable(
        PER_HEAD, "1", "norm of its third term, of the error without attention", label="third term", optional=True
    ),
}
LAYERS = {
    "rank_stable": Variable(PER_LAYER, "1", "stable rank of the positional basis, plug-in", label="stable rank"),
    "low_frequency_share": Variable(
        PER_LAYER,
        "1",
        f"share of the positional Gram matrix in frequencies 0 to {LOW}, plug-in",
        label="low-frequency share",
        share=True,
    ),
    "norm": Variable(PER_LAYER, "1", "norm of hidden states, mean over tokens", label="norm"),
    "similarity": Variable(
        PER_LAYER, "1", "mean cosine of two different tokens of a window", label="similarity of tokens"
    ),
    "collapse": Variable(
        PER_LAYER, "1", "‖X − 1x̄ᵀ‖/‖X‖ over the tokens of a window: 0 where all are one vector", label="residual norm"
    ),
}

AT_END, CLAIMED = axes("kappa_scale kappa_trace"), axes("claim baseline")


def over_seeds(name: str, row: Variable) -> dict[str, Variable]:
    """A variable with its error over seeds, and its value for each seed."""
    each = Variable((*row.axes, "seed"), row.unit, "its value for each random seed")
    return {**with_error(name, row, "seeds"), f"{name}_seeds": each}


SWEPT = {
    **over_seeds(
        "scale_qk",
        Variable(AT_END, "1", "tr(W_QKᵀ W_QK) with the scale of the scores, mean over heads", label="scale of W_QK"),
    ),
    **over_seeds("trace_qk", Variable(AT_END, "1", "tr W_QK, mean over heads", label="trace of W_QK")),
    **over_seeds("entropy", Variable(AT_END, "nats", "entropy of attention, mean over heads", label="entropy")),
    **over_seeds(
        "signal_propagation", Variable(AT_END, "1", "mean of ρ over keys and heads", label="mean ρ", share=True)
    ),
    **over_seeds(
        "perplexity",
        Variable(AT_END, "1", "exp of the loss on what was kept for validation", label="validation perplexity"),
    ),
}
JUDGED = {
    **with_error(
        "change",
        Variable(
            CLAIMED,
            "1",
            "difference that the largest κ₂ makes at the largest κ₁, paired by seed, mean over seeds",
            label="change",
        ),
        "seeds",
    ),
    "verdict": Variable(CLAIMED, "text", "holds, or does not hold here: where the 95 % interval of the change lies"),
}
SWEEP, SWEEP_FILE = "training_sweep", "sweep.nc"

GROUPS: dict[str, Group] = {
    SWEEP: Group(
        SWEEP_FILE,
        "what a LocAteR penalty of several strengths does to a trained model, at the end of training",
        {**SWEPT, **JUDGED},
        inputs=(),
        command="armillary train sweep locater",
        apart=True,
    ),
    TRAINING: Group(
        FILE,
        "how a model was trained: losses by step, and how well it does",
        CURVES,
        inputs=(),
        command=COMMAND,
        apart=True,
    ),
    OF_HEADS: Group(
        FILE,
        "geometry of heads while training, on a few fixed windows; W_QK has the scale of the scores",
        {**HEADS, **GRADIENT},
        inputs=(),
        command=COMMAND,
        apart=True,
    ),
    OF_LAYERS: Group(
        FILE,
        "geometry of hidden states while training, on a few fixed windows",
        LAYERS,
        inputs=(),
        command=COMMAND,
        apart=True,
    ),
}
