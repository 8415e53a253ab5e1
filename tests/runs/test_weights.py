"""Weights as a run: by themselves, in a folder, added to a run; what is refused before anything is read."""

import io

import numpy as np
import pytest
from rich.console import Console

import armillary as arm
from armillary.errors import RequestError, SourceError, StoreError
from armillary.figures import available
from armillary.printing.weights import by_block, head_rows, of_block
from families import tiny_model

GROUPS = {
    "weights",
    "weights_twin",
    "localization",
    "matrix_spectra",
    "matrix_spectra_twin",
    "matrices",
    "matrices_twin",
}


@pytest.fixture(scope="module")
def view():
    return arm.load(tiny_model("llama"), check=False)


@pytest.fixture(scope="module")
def alone(view):
    return arm.weights(view, progress=False)


@pytest.fixture(scope="module")
def surveyed(view, tmp_path_factory):
    """A run of the same model with heads and the covariance of the attentions' inputs."""
    text = np.random.default_rng(0).integers(5, 60, size=(12, 16))
    out = tmp_path_factory.mktemp("runs") / "run"
    return arm.survey(view, text, heads=True, covariance="attention", out=out, progress=False, report=False)


def shown(table, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_a_run_of_weights_needs_no_text(alone):
    assert set(alone.results.children) >= GROUPS
    assert "localization_agreement" not in alone.results.children
    assert alone.results["localization"].attrs["length"] == 40
    assert "on" not in alone.title.split()


def test_a_run_of_weights_is_kept_with_its_page_and_opens_again(view, alone, tmp_path):
    kept = arm.weights(view, out=tmp_path / "w", progress=False)
    assert (tmp_path / "w" / "report.html").exists()
    opened = arm.open(tmp_path / "w")
    assert opened.results["weights"].trace_qk.equals(alone.results["weights"].trace_qk)
    assert {figure.section for figure in available(opened.results)} >= {"weights"}
    assert arm.measure(tmp_path / "w").results["matrices"].outliers.equals(kept.results["matrices"].outliers)


def test_the_same_seed_gives_the_same_control_and_another_another(view, alone):
    again, other = (arm.weights(view, seed=seed, progress=False).results["weights_twin"] for seed in (0, 1))
    assert again.trace_qk.equals(alone.results["weights_twin"].trace_qk)
    assert not np.allclose(other.trace_qk, again.trace_qk)


def test_added_to_a_run_they_use_its_covariance_its_heads_and_its_window(view, surveyed):
    run = arm.weights(view, surveyed, progress=False)
    assert set(surveyed.results.children) | GROUPS <= set(run.results.children)
    weights = run.results["weights"]
    heads, covariance = view.heads(1), surveyed.results["attention"].covariance.values[1]
    product = heads.scale * heads.W_Q[2].double().numpy() @ heads.W_K[2].double().numpy().T @ covariance
    assert weights.trace_qk_data[1, 2] == pytest.approx(np.trace(product), rel=1e-6)
    assert run.results["localization"].attrs["length"] == 16
    agreement = run.results["localization_agreement"]
    assert -1 <= float(agreement.rho_agreement) <= 1
    assert np.isnan(agreement.rho_agreement_se)  # three blocks say nothing about an error


def test_a_taken_folder_two_places_and_another_model_are_refused(view, surveyed, tmp_path):
    with pytest.raises(StoreError, match=r"expected a folder without a run, got .*: choose another --out, or give"):
        arm.weights(view, out=surveyed.folder, progress=False)
    with pytest.raises(StoreError, match="expected a run to add to or a folder to write to, got both: give one"):
        arm.weights(view, surveyed, out=tmp_path, progress=False)
    with pytest.raises(SourceError, match="survey this model, or load that one"):
        arm.weights(arm.load(tiny_model("llama", seed=5), check=False), surveyed, progress=False)


def test_an_unknown_family_has_no_weights_that_can_be_read(view):
    import transformers

    config = transformers.XGLMConfig(
        vocab_size=40, d_model=16, num_layers=2, attention_heads=2, ffn_dim=16, max_position_embeddings=20
    )
    unknown = arm.load(transformers.XGLMForCausalLM(config))
    with pytest.raises(RequestError, match="expected a known family for weights, got 'xglm'"):
        arm.weights(unknown, progress=False)


def test_normalised_queries_and_keys_are_said_in_the_result_and_the_table():
    run = arm.weights(arm.load(tiny_model("qwen3"), check=False), progress=False)
    assert "This model normalises queries and keys" in run.results["weights"].attrs["note"]
    assert "This model normalises queries and keys" in " ".join(shown(by_block(run)).split())


def test_tables_have_a_row_per_block_or_head_and_fit_a_terminal(alone):
    table = shown(by_block(alone))
    assert max(map(len, table.splitlines())) <= 80
    for word in ("not random", "control", "outliers", "symmetry"):
        assert word in " ".join(table.split())
    heads = shown(of_block(alone, 2))
    assert [f"L2H{head}" in heads for head in range(4)] == [True] * 4
    frame = head_rows(alone)
    assert frame.shape[0] == 12
    assert {"trace_qk", "trace_qk_twin", "symmetry"} <= set(frame.columns)
    with pytest.raises(RequestError, match="expected a block from 0 to 2, got 7"):
        of_block(alone, 7)
