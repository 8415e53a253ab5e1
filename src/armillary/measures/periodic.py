"""The Fourier side of Song & Zhong's Theorem 1: difference factors, their bounds, and the block of low frequencies."""

from typing import Literal

import numpy as np
from jaxtyping import Complex, Float

from armillary.measures.smoothness import reflected


def difference_factors(size: int) -> Complex[np.ndarray, " frequency"]:
    """γ_t = 1/(N(1 − e^{−2πi(t−1)/N})), γ_1 = 1: a vector's Fourier coefficient over that of N times its difference."""
    turn = np.exp(-2j * np.pi * np.arange(1, size) / size)
    return np.concatenate([[1.0 + 0j], 1 / (size * (1 - turn))])


def factor_bound(frequency: Float[np.ndarray, " frequency"]) -> Float[np.ndarray, " frequency"]:
    """1/(4(t − 1)) ≥ |γ_t| for 1 < t ≤ N/2; from below 1/(2π(t − 1)). `frequency` is t − 1."""
    return np.asarray(1 / (4 * frequency))


def factor_bound_published(frequency: Float[np.ndarray, " frequency"]) -> Float[np.ndarray, " frequency"]:
    """1/(8(t − 1)), Lemma 2 as published: below |γ_t| for every t, since |1 − e^{iθ}| ≥ 2|θ|/π, not 4|θ|/π."""
    return np.asarray(1 / (8 * frequency))


def low_frequency_block(
    gram: Float[np.ndarray, "position position_"], k: int, indices: Literal["corrected", "published"] = "corrected"
) -> Complex[np.ndarray, "position position_"]:
    """What the low frequencies of the reflected Gram matrix give back on its first quarter (Lemma 3 of the proof).

    Frequencies 1..k and 2T−k+2..2T, counted from 1: with their conjugates, so that the block is real and equals ΠGΠ, Π
    the projection on k DCT-II vectors. The published set begins at 2T−k+1 and lacks a conjugate.
    """
    size = 2 * len(gram)
    transform = np.fft.fft(np.eye(size))
    kept = np.zeros(size, dtype=bool)
    kept[:k] = True
    kept[size - k + (indices == "corrected") :] = True
    frequencies = transform @ reflected(gram) @ transform.T
    frequencies = np.where(np.outer(kept, kept), frequencies, 0)
    back = transform.conj() @ frequencies @ transform.conj().T / size**2
    return np.asarray(back[: len(gram), : len(gram)])
