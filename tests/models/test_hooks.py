"""Hooks last as long as a `with`, also after an error, and a module that stands for several blocks is hooked once."""

import pytest
import torch
from torch import nn

from armillary.models.hooks import first_output, hidden_states, hooked


def test_hooks_see_every_call_and_are_gone_afterwards():
    module, seen = nn.Linear(2, 2), []
    before = (((module, module), lambda *_: seen.append("before")),)
    after = (((module,), lambda *_: seen.append("after")),)
    with hooked(before, after):
        module(torch.zeros(1, 2))
        module(torch.zeros(1, 2))
    assert seen == ["before", "after"] * 2
    with pytest.raises(KeyError), hooked(before, after):
        raise KeyError
    module(torch.zeros(1, 2))
    assert len(seen) == 4


def test_states_are_found_by_position_and_by_name_and_in_outputs_of_several():
    states = torch.ones(2, requires_grad=True)
    for found in (
        hidden_states((states,), {}),
        hidden_states((), {"hidden_states": states}),
        first_output(states),
        first_output((states, None)),
    ):
        assert torch.equal(found, states)
        assert not found.requires_grad
