"""The words that report, explorer and documentation use; `python -m armillary.reporting.glossary` prints them."""

import sys

from armillary.measures.massive import TIMES
from armillary.measures.taxonomy import GENERAL, SPECIAL, UNIFORM


def margin(kind: str) -> str:
    """How far the score of a head must lie above the highest of the control, as a share of what is left to 1."""
    return f"score above {100 * (SPECIAL | GENERAL)[kind]:g} % of the way from the control's highest to 1"


TERMS: dict[str, str] = {
    # what is read
    "token": "One piece of text as the model's tokenizer cuts it.",
    "window (context)": "A stretch of consecutive tokens that the model reads at once; the axis is called context.",
    "position": "The index of a token in its window; position 0 is left out of all sums by default.",
    "group of documents": "Whole documents taken together, 16 groups in a run; standard errors are over groups.",
    # the model
    "layer": "One set of hidden states, 0 to n: layer 0 is what the first block receives, layer n the last output.",
    "block": "One transformer block, 0 to n − 1: attention and MLP; block l reads layer l and writes layer l + 1.",
    "head": "One attention head of a block; L10H7 is head 7 of block 10.",
    "hidden states": "The vectors that a model carries from block to block, one per token and layer.",
    # the decomposition
    "mean (component)": "The grand mean of a layer's hidden states over all windows and positions.",
    "positional basis": "The mean hidden state at each position, over windows, less the grand mean.",
    "context basis": "The mean hidden state of each window, over positions, less the grand mean.",
    "residual (component)": "What is left of a hidden state after mean, positional basis and context basis.",
    "share": "The part of a layer's variance that one component explains; position, context and residual sum to 1.",
    # estimates
    "plug-in": "An estimate by the definition itself, with its small-sample bias.",
    "bias-corrected": "An estimate from products of different groups of documents, so that noise does not add to it.",
    "jackknife": "A standard error from estimates that leave out one group of documents at a time.",
    "SE": "Standard error; ± in prose is a 95 % interval, not an SE.",
    "leave-one-group-out range": "Lowest and highest value when each group is left out in turn, for ranks and maxima; "
    "what noise lowers may have its value above it.",
    "noise floor": "The share that noise in the averages gives a component without any effect.",
    # nulls
    "circular-shift null": "The same measure on windows that are circularly shifted by random offsets.",
    "permutation null": "The same measure with the tokens of each position permuted across windows.",
    "random-weight control": "The same architecture with freshly drawn weights, on the same input.",
    "significant": "The 95 % interval, for all layers jointly, excludes the null.",
    "not significant": "The interval includes the null.",
    "not estimable": "No interval exists, as where position is too weak for a rank.",
    # position
    "stable rank": "Σσ² / σ₁² of a matrix: 1 where one direction has all the energy.",
    "ScreeNOT rank": "The number of singular values above the optimal threshold of Donoho, Gavish and Romanov (2023).",
    "held-out rank": "The number of modes whose energy in held-out documents exceeds the circular-shift null.",
    "relative norm": "‖P‖op / ‖M‖op: the positional basis over all mean-centred hidden states, between 0 and 1.",
    "low-frequency share": "The share of the energy of the positional Gram matrix in its lowest cosine frequencies.",
    # context and depth
    "incoherence": "The absolute cosine between position vectors and context vectors; near 0: nearly orthogonal.",
    "similarity": "The mean absolute cosine between vectors, within documents or between documents.",
    "silhouette": "How much closer a window lies to its own document than to the nearest other one, from −1 to 1.",
    "anisotropy": "The mean cosine between the hidden states of two tokens; mean-centred: without the mean.",
    "intrinsic dimension (TwoNN)": "Dimension of the cloud of states, from each state's two nearest neighbours.",
    "CKA": "Centred kernel alignment: the similarity of two layers up to rotation and scale, 0 to 1.",
    "token share": "The share of the residual's variance that the identity of the token explains.",
    "massive activation": f"A token whose norm exceeds {TIMES:g} times its layer's median; left out by default.",
    # heads
    "kind of head": "What a head attends to; its score must exceed the random-weight control's by a given margin.",
    "induction head": f"Attends to the token after an earlier occurrence of the current one ({margin('induction')}).",
    "duplicate-token head": f"Attends to an earlier occurrence of the current token ({margin('duplicate')}).",
    "previous-token head": f"Attends to the token before the current one ({margin('previous')}).",
    "attention sink": f"Attends to position 0 ({margin('sink')}).",
    "local head": f"Attends within 4 tokens, the current one included ({margin('local')}).",
    "uniform head": f"Attends almost evenly: relative entropy of at least {UNIFORM:g}, and no other kind.",
    "entropy": "The entropy of a token's attention in nats; 0 where one key has all of it.",
    "signal propagation": "The share of windows and keys whose linearised attention weight lies between 0 and 1.",
    "rank collapse": "The tokens of a window becoming one and the same vector.",
    "QK term": "One of the nine products of a query part and a key part that sum to a head's logits.",
    "dominant QK term": "The QK term with the largest share of a head's logits, for example mean → residual.",
    # use
    "built-in model": "A model that Armillary can fetch by a short name; `armillary models` lists them.",
    "random seed": "The number that fixes every random choice of a run.",
    "resume": "To continue an interrupted survey from its last shard.",
    "continuation": "The tokens that a model writes after a prompt.",
}
"""Every term with its definition, one sentence each, in the order in which a reader meets them."""


def markdown() -> str:
    """The glossary as a page of the documentation."""
    rows = (f"| {term} | {definition.replace('|', chr(92) + '|')} |" for term, definition in TERMS.items())
    return "\n".join(["# Glossary", "", "| term | meaning |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(markdown())
