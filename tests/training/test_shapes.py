"""Fresh models: ordinary models of transformers that pass the contract, the same again from the same seed."""

import pytest
import torch

import armillary
from armillary.training.presets import settings_of
from armillary.training.shapes import fresh_model

SMALL = {"layers": 2, "heads": 2, "width": 16}


def fresh(shape, **changes):
    settings = settings_of("addition", **{"shape": shape, **SMALL, **changes})
    return fresh_model(settings, 14, 15, 0)


@pytest.mark.parametrize(
    ("shape", "position", "place"),
    [("learned", "learned", "pre"), ("rotary", "rope", "pre"), ("post-norm", "learned", "post")],
)
def test_every_shape_passes_the_contract_at_load(shape, position, place):
    view = armillary.load(fresh(shape))
    assert (view.position, view.norm_place, view.max_length) == (position, place, 15)
    assert (view.n_blocks, view.n_heads, view.d_model) == (2, 2, 16)


@pytest.mark.parametrize(("shape", "width"), [("learned", 64), ("rotary", 40), ("post-norm", 64)])
def test_the_mlp_is_four_times_as_wide_or_as_said(shape, width):
    assert armillary.load(fresh(shape)).matrices(0)["mlp_in"].shape == (16, width)
    assert armillary.load(fresh(shape, mlp=24)).matrices(0)["mlp_in"].shape == (16, 24)


def test_a_seed_gives_the_same_weights_and_another_seed_others():
    one, again, other = (fresh("learned", seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_dropout_is_where_the_shape_has_it():
    assert fresh("learned", dropout=0.2).config.resid_pdrop == 0.2
    assert fresh("rotary", dropout=0.2).config.attention_dropout == 0.2
    assert fresh("post-norm", dropout=0.2).config.dropout == 0.2
