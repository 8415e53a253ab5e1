"""What a LayerNorm without gain and bias does in closed form: the radius it leaves, how it stretches, its logits."""

import numpy as np
from jaxtyping import Float

from armillary.measures.similarity import unit_vectors


def radius_with_eps(variance: Float[np.ndarray, " sample"], eps: float, d_model: int) -> Float[np.ndarray, " sample"]:
    """Norm of an output, √(d_model · variance / (variance + eps)): below √d_model, by much for small inputs."""
    return np.asarray(np.sqrt(d_model * variance / (variance + eps)))


def stretch(state: Float[np.ndarray, " d_model"]) -> Float[np.ndarray, " mode"]:
    """Singular values of the norm's derivative at a state: d_model − 2 times 1/deviation, then two zeros.

    The derivative kills the vector of ones, which the norm takes off, and the state's own direction, which it scales
    away; all other directions are scaled alike.
    """
    return np.concatenate([np.full(len(state) - 2, 1 / state.std()), np.zeros(2)])


def stream_radius(d_model: int, blocks: int) -> float:
    """√E|x|² of a stream that starts on the sphere, after random blocks x ← x + √2 relu(LN(x) W), W of variance 1/d.

    A block adds d to the squared norm, and 2d/π for each block before it: outputs of relu share their mean, 1/√π a
    coordinate.
    """
    return float(np.sqrt(d_model * (1 + blocks + blocks * (blocks - 1) / np.pi)))


def sphere_logits(
    states: Float[np.ndarray, "sample d_model"], rows: Float[np.ndarray, "token d_model"]
) -> Float[np.ndarray, "sample token"]:
    """Logits behind a LayerNorm, √d_model |Pw| cos(Pw, Px), P the projection off the vector of ones."""
    centred_rows, centred = (each - each.mean(-1, keepdims=True) for each in (rows, states))
    cosines = unit_vectors(centred) @ unit_vectors(centred_rows).T
    return np.sqrt(states.shape[-1]) * np.linalg.norm(centred_rows, axis=-1) * cosines
