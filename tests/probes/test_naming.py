"""Names of heads: a circuit built by hand is found, and what cannot be named is refused."""

import numpy as np
import pytest
import torch
import transformers
import xarray as xr

import armillary as arm
from armillary.errors import RequestError, SourceError
from armillary.figures.heads.panels import hit_share
from armillary.printing.heads import heads_table
from armillary.probes import naming
from armillary.results import store
from armillary.results.schema import GROUPS

TOKENS, LENGTH, WIDE = 24, 48, 48


def circuit():
    """Two layers of attention that do induction: L0H0 copies the token before, L1H0 looks for it; the rest is zero.

    The stream is [token | position | token before], one direction each.
    """
    config = transformers.GPT2Config(
        vocab_size=TOKENS, n_positions=LENGTH, n_embd=2 * WIDE, n_layer=2, n_head=2, n_inner=8, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).eval().requires_grad_(False)
    for name, weight in model.named_parameters():
        if "ln_" not in name:
            weight.zero_()
    body = model.transformer
    token, place, before = torch.arange(TOKENS), TOKENS + torch.arange(LENGTH), TOKENS + LENGTH + torch.arange(TOKENS)
    body.wte.weight[token, token] = 1
    body.wpe.weight[torch.arange(LENGTH), place] = 1
    first, second = (block.attn for block in body.h)
    first.c_attn.weight[place[1:], torch.arange(LENGTH - 1)] = 4
    first.c_attn.weight[place, 2 * WIDE + torch.arange(LENGTH)] = 1
    first.c_attn.weight[token, 4 * WIDE + token] = 1
    first.c_proj.weight[token, before] = 0.15
    second.c_attn.weight[token, token] = 4
    second.c_attn.weight[before, 2 * WIDE + token] = 1
    return arm.load(model)


@pytest.fixture(scope="module")
def run_of():
    """A run of a few random windows with heads measured."""

    def run(view, length=24, sites="residual", **settings):
        vocabulary = view.W_E.shape[0]
        text = np.random.default_rng(0).integers(vocabulary, size=(16, length))
        return arm.survey(view, text, heads=True, sites=sites, progress=False, report=False, **settings)

    return run


def test_a_hand_built_induction_circuit_is_found_and_nothing_else_is_called_induction(run_of):
    view = circuit()
    run = arm.heads(run_of(view, sites="all"), view, progress=False)
    names = run.results["taxonomy"].to_dataset()
    assert names.kind.values.tolist() == [["previous", "uniform"], ["induction", "uniform"]]
    assert float(names.induction[1, 0]) > 0.95
    assert float(names.previous[0, 0]) > 0.95
    assert float(names.induction.values[[0, 0, 1], [0, 1, 1]].max()) < 0.1
    assert float(names.induction_null) < 0.1
    share = run.results["constituents"].share
    assert float(share[0, 0].sel(part_query="position", part_key="position")) > 0.9
    assert float(share[1, 0].sel(part_query="residual", part_key="residual")) > 0.8
    panels, peaks = run.results["six_panels"], run.results["qk_smoothness"].argmax_share
    assert (int(panels.block), int(panels["head"])) == (0, 0)
    before = np.diagonal(panels.position_position.values[1:], 0)
    assert np.allclose(before[1:], np.nanmax(panels.position_position.values[2:], 1))
    assert float(peaks[0, 0]) < 0.1, "it looks at the token before, never at itself"
    examples = run.results["head_examples"].to_dataset()
    assert examples.kind.values.tolist() == ["induction", "previous", "duplicate"]
    assert [(int(block), int(head)) for block, head in zip(examples.block[:2], examples["head"][:2], strict=True)] == [
        (1, 0), (0, 0),
    ]  # fmt: skip
    assert examples.text.values.tolist()[-3:] == examples.text.values.tolist()[len(examples.text) // 2 - 3 :][:3]
    induction, previous = (hit_share(examples.pattern.values[place].astype(float), kind) for place, kind in
                           enumerate(("induction", "previous")))  # fmt: skip
    assert induction > 0.9
    assert previous > 0.9
    table = heads_table(run)
    assert table.dominant_qk_term.tolist() == ["position → position", "", "residual → residual", ""]
    assert "constituents" not in arm.heads(run_of(view), view, progress=False).results


def test_names_are_kept_in_the_folder_and_not_read_again(run_of, random_model, tmp_path, monkeypatch, capsys):
    view = random_model(4)
    run = run_of(view, out=tmp_path)
    named = arm.heads(run, view)
    assert "the repeated-token test reads 8 windows of 80 tokens with the model" in capsys.readouterr().err
    assert (tmp_path / "names.nc").exists()
    monkeypatch.setattr(naming, "repeats", None)
    again = arm.heads(arm.open(tmp_path))
    assert np.array_equal(again.results["taxonomy"].kind, named.results["taxonomy"].kind)
    assert again.provenance == run.provenance
    measured = arm.measure(tmp_path).results
    for group in ("heads", "taxonomy"):
        for name, values in named.results[group].data_vars.items():
            same = np.array_equal(measured[group][name], values, equal_nan=values.dtype.kind == "f")
            assert same, name


def test_what_position_does_is_announced_kept_and_has_the_axes_of_the_schema(run_of, random_model, tmp_path, capsys):
    view = random_model(7)
    named = arm.heads(run_of(view, sites="all", out=tmp_path), view).results
    said = " ".join(capsys.readouterr().err.split())
    places = [
        said.index(words) for words in ("constituents of", "weights of every", "smoothness of", "one head is", "three")
    ]
    assert places == sorted(places)
    kept = arm.open(tmp_path).results
    for group in naming.INPUTS:
        assert set(named[group].data_vars) == set(GROUPS[group].variables)
        for name, row in GROUPS[group].variables.items():
            assert kept[group][name].dims == row.axes
            assert kept[group][name].attrs["units"] == row.unit
    assert int(kept["dissection"].attrs["rank"]) == 20
    assert kept["six_panels"].sizes == {"query": 24, "key": 24}
    again = arm.measure(tmp_path).results
    assert np.array_equal(again["six_panels"].logits, named["six_panels"].logits, equal_nan=True)


def test_a_run_named_by_an_earlier_version_gets_what_it_lacks(run_of, random_model, tmp_path, monkeypatch):
    view = random_model(8)
    whole = arm.heads(run_of(view, sites="all", out=tmp_path), view, progress=False)
    old = {name: whole.results[name].to_dataset().load() for name in ("repeats", "constituents", "taxonomy")}
    store.write(tmp_path, "names.nc", old, whole.provenance)
    monkeypatch.setattr(naming, "repeats", None)
    monkeypatch.setattr(naming, "shares", None)
    assert "dissection" not in arm.heads(arm.open(tmp_path)).results, "a model in memory cannot be had again"
    added = arm.heads(arm.open(tmp_path), view, progress=False).results
    for group in (*naming.INPUTS, "repeats", "taxonomy"):
        for name, values in whole.results[group].data_vars.items():
            assert np.array_equal(added[group][name], values, equal_nan=values.dtype.kind == "f"), name


def test_runs_that_cannot_be_named_are_refused(run_of, random_model):
    view = random_model(5)
    text = np.random.default_rng(0).integers(211, size=(8, 12))
    with pytest.raises(
        RequestError,
        match=r"expected a run with /heads, got one without: `armillary survey --heads` makes a run with it",
    ):
        arm.heads(arm.survey(view, text, progress=False), view)
    run = run_of(view)
    with pytest.raises(RequestError, match="got one made in memory: give it as view"):
        arm.heads(run)
    with pytest.raises(SourceError, match=r"expected the model of this run \(LlamaForCausalLM, sha256 \w{12}…\), got"):
        arm.heads(run, random_model(6))


def test_heads_that_stand_alone_cannot_be_named_without_their_windows(view):
    alone = store.Run(store.tree_of({"heads": xr.Dataset({"entropy": (("block", "head"), np.ones((2, 4)))})}, {}))
    with pytest.raises(
        RequestError, match=r"expected a run with /corpus, got one without: `armillary survey` makes a run with it"
    ):
        naming.named(alone, view, progress=False)
