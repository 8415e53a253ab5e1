"""`travel`: what it keeps, where it keeps it, what it adds to a run, and what it refuses."""

import numpy as np
import pytest

import armillary as arm
from armillary.errors import RequestError, SourceError, StoreError
from armillary.reporting.content import run_report
from tiny_run import saved_model, surveyed

TEXT = "word1 <b>bold</b> word3 word4"


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    return arm.load(saved_model(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def run(view):
    return arm.travel(view, TEXT, progress=False)


def test_without_a_folder_the_run_is_in_memory(run):
    assert run.folder is None
    travel = run.results["travel"]
    assert travel.text.values.tolist() == TEXT.split()
    assert travel.attrs["source"] == TEXT
    assert travel.top_text.shape == (3, 4, 5)


def test_a_folder_holds_the_paths_and_a_page_that_names_the_text(view, tmp_path, run):
    kept = arm.travel(view, TEXT, out=tmp_path / "run", progress=False)
    assert (kept.folder / "report.html").exists()
    assert (kept.folder / "travel.nc").exists()
    opened = arm.open(tmp_path / "run")
    for name, variable in run.results["travel"].data_vars.items():
        assert np.array_equal(
            opened.results["travel"][name].values, variable.values, equal_nan=variable.dtype.kind == "f"
        )
    page = run_report(opened)
    assert page.about.endswith(f"followed text: ‘{TEXT}’")
    assert [plot.name for plot in page.plots] == ["travel-paths", "travel-paths-own", "travel-angles", "travel-lens"]
    assert (
        not arm.travel(view, TEXT, out=tmp_path / "bare", report=False, progress=False)
        .folder.joinpath("report.html")
        .exists()
    )


def test_a_long_text_is_cut_on_the_page(view):
    page = run_report(arm.travel(view, "word1 word2 " * 15, progress=False))
    assert page.about.endswith(" …’")
    assert len(page.about) < 140


def test_ids_are_taken_as_they_are(view):
    run = arm.travel(view, [7, 8, 9], progress=False)
    assert run.results["travel"].token.values.tolist() == [7, 8, 9]
    assert run.results["travel"].attrs["source"] == "word0 word1 word2"


def test_a_run_of_the_model_gets_the_paths_and_another_text_replaces_them(tmp_path):
    survey = surveyed(tmp_path, heads=False)
    view = arm.load(survey.provenance["model"])
    first = arm.travel(view, "word1 word2", survey, progress=False)
    second = arm.travel(view, "word3", first, progress=False)
    assert {"residual", "travel"} <= set(second.results.children)
    assert arm.open(survey.folder).results["travel"].attrs["source"] == "word3"


def test_norms_of_a_run_know_radii_and_agreement(tmp_path):
    survey = surveyed(tmp_path, heads=False)
    found = arm.weights(arm.load(survey.provenance["model"]), survey, progress=False).results["norm_geometry"]
    assert float(found.radius_before.sel(norm="final")) == pytest.approx(np.sqrt(32), rel=1e-3)
    assert 0 <= float(found.argmax_agreement) <= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "^expected at least one word, got an empty prompt: write a text$"),
        ("word1 " * 41, "^expected at most 40 tokens, as .* allows, got 41: shorten the prompt$"),
        ([99], "^expected token ids from 0 to 56, got 99"),
    ],
)
def test_a_text_that_the_model_cannot_read_is_refused(view, text, message):
    with pytest.raises(RequestError, match=message):
        arm.travel(view, text, progress=False)


def test_a_text_for_a_model_without_a_tokenizer_is_refused(tiny_llama):
    with pytest.raises(RequestError, match=r"^expected token ids, got a text: LlamaForCausalLM has no tokenizer$"):
        arm.travel(tiny_llama, "a text", progress=False)


def test_a_run_of_another_model_and_a_folder_that_is_taken_are_refused(view, tmp_path, run, tiny_llama):
    other = arm.Run(run.results.copy())
    other.results.attrs["model_sha256"] = "0" * 64
    if view.provenance.get("model_sha256"):
        with pytest.raises(SourceError, match=r"^expected the model of this run "):
            arm.travel(view, TEXT, other, progress=False)
    arm.travel(view, TEXT, out=tmp_path / "run", progress=False, report=False)
    with pytest.raises(StoreError, match=r"^expected a folder without a run, got "):
        arm.travel(view, TEXT, out=tmp_path / "run", progress=False)


def test_an_unknown_family_is_refused():
    import torch
    import transformers

    shape = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.ElectraConfig(**shape, embedding_size=32, intermediate_size=48)
    with torch.random.fork_rng(devices=[]):
        view = arm.load(transformers.ElectraModel(config))
    with pytest.raises(RequestError, match=r"^expected a known family for the final norm, got 'electra', "):
        arm.travel(view, [5, 6], progress=False)


def test_what_runs_is_said_unless_told_not_to(view, capsys):
    arm.travel(view, "word1 word2")
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("2 tokens through 2 blocks, and through the random-weight control")
    arm.travel(view, "word1 word2", progress=False)
    assert capsys.readouterr().err == ""
