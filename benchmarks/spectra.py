"""Spectra of heads from small factors against numpy's full decompositions, in time and memory; and how both grow.

    python benchmarks/spectra.py [--d-model 4096] [--heads 32] [--d-head 128] [--models smollm2] [--skip-full]

Exit code 1 where a head takes more than a hundredth of numpy's time, or the memory of a block exceeds one
d_model × d_model matrix of float64.
"""

import argparse
import sys
import time
import tracemalloc
from typing import Any

import numpy as np

from armillary.measures.spectra.factors import factors
from armillary.measures.spectra.products import factor_spectra, qk_spectrum, vo_spectrum

ASKED = 100
"""How many times faster a head must be than one full product."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--d-model", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--d-head", type=int, default=128)
    parser.add_argument("--models", nargs="*", default=["smollm2"])
    parser.add_argument("--skip-full", action="store_true", help="do not run numpy's full decompositions")
    chosen = parser.parse_args()
    failed = one_layer(chosen)
    for name in chosen.models:
        whole_model(name)
    growth()
    sys.exit(failed)


def one_layer(chosen: argparse.Namespace) -> bool:
    """All heads of one layer our way, and one full product numpy's way."""
    rng = np.random.default_rng(0)
    shape = (chosen.heads, chosen.d_model, chosen.d_head)
    W_Q, W_K, W_V = (rng.standard_normal(shape, dtype=np.float32) / 64 for _ in range(3))
    W_O = np.ascontiguousarray(rng.standard_normal(shape, dtype=np.float32).swapaxes(1, 2)) / 64
    started = time.perf_counter()
    ours = [spectra(*weights, chosen.d_model) for weights in zip(W_Q, W_K, W_V, W_O, strict=True)]
    per_head = (time.perf_counter() - started) / chosen.heads
    tracemalloc.start()
    for weights in zip(W_Q, W_K, W_V, W_O, strict=True):
        spectra(*weights, chosen.d_model)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one_matrix = 8 * chosen.d_model**2
    print(f"{chosen.heads} heads, d_model {chosen.d_model}, d_head {chosen.d_head}: {per_head:.3f} s a head")
    print(
        f"memory beyond the weights: {memory / 1e6:.0f} MB; one d_model² matrix of float64: {one_matrix / 1e6:.0f} MB"
    )
    if chosen.skip_full:
        return memory > one_matrix
    full = W_Q[0].astype(np.float64) @ W_K[0].T.astype(np.float64)
    started = time.perf_counter()
    singular = np.linalg.svd(full, compute_uv=False)
    eigenvalues = np.linalg.eigvals(full)
    theirs = time.perf_counter() - started
    error = float(np.abs(singular[: chosen.d_head] - ours[0].singular_value_qk).max() / singular[0])
    trace = abs(eigenvalues.sum().real - ours[0].trace_qk) / singular[0]
    print(
        f"numpy, one W_QK of d_model²: {theirs:.1f} s; {theirs / per_head:.0f} times a head of ours (all four spectra)"
    )
    print(f"largest difference of singular values {error:.1e}, of traces {trace:.1e}, of the largest")
    return memory > one_matrix or theirs < ASKED * per_head


def spectra(W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray, W_O: np.ndarray, d_model: int) -> Any:
    """Every spectrum of one head: of its weights, of W_QK and of W_VO."""
    made = factors(W_Q, W_K, W_V, W_O)
    factor_spectra(made.R_Q, made.R_K, made.R_V, made.R_O)
    vo_spectrum(made.R_V, made.R_O, made.inner_vo, d_model)
    return qk_spectrum(made.R_Q, made.R_K, made.inner_qk, 1.0, d_model)


def whole_model(name: str) -> None:
    """The time of `armillary.weights`, the model loaded before."""
    import armillary

    view = armillary.load(name)
    started, used = time.perf_counter(), time.process_time()
    armillary.weights(view, progress=False)
    taken, used = time.perf_counter() - started, time.process_time() - used
    print(f"{name}: all blocks, matrices and the random-weight control {taken:.1f} s, {used:.1f} s of one core")


def growth() -> None:
    """Time by the number of layers, of a Llama of smollm2's width: linear, so time per layer stays."""
    import transformers

    import armillary

    for layers in (4, 8, 16):
        config = transformers.LlamaConfig(
            vocab_size=100,
            hidden_size=576,
            intermediate_size=1536,
            num_hidden_layers=layers,
            num_attention_heads=9,
            num_key_value_heads=3,
        )
        view = armillary.load(transformers.LlamaForCausalLM(config), check=False)
        started, used = time.perf_counter(), time.process_time()
        armillary.weights(view, progress=False)
        taken, used = time.perf_counter() - started, time.process_time() - used
        print(f"{layers} layers: {taken:.1f} s; {used:.1f} s of one core, {used / layers:.2f} s a layer")


if __name__ == "__main__":
    main()
