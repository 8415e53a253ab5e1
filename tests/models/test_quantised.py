"""Layers of bitsandbytes are unpacked one matrix at a time; other packings are refused.

The library itself is no dependency. Its layers were compared by hand: what is read gives the layer's own output.
"""

import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from armillary.errors import RequestError
from armillary.models.weights import _matrix


class Int8Params(nn.Parameter):
    """Rows of integers, and the size of each row."""

    SCB: torch.Tensor | None = None


class Params4bit(nn.Parameter):
    """Packed numbers and what is needed to unpack them."""

    quant_state = "state"


def packed(kind, data):
    layer = nn.Linear(4, 3)
    layer._parameters.pop("weight")
    object.__setattr__(layer, "weight", torch.Tensor._make_subclass(kind, data))
    return layer


def eight_bits():
    plain = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    sizes = plain.abs().amax(1)
    return plain, torch.round(127 * plain / sizes[:, None]).to(torch.int8), sizes


@pytest.mark.parametrize("ran", [False, True])
def test_eight_bits_are_rows_times_their_sizes_before_and_after_a_pass(ran):
    plain, integers, sizes = eight_bits()
    layer = packed(Int8Params, integers)
    if ran:
        layer.state = SimpleNamespace(SCB=sizes)
    else:
        layer.weight.SCB = sizes
    weight, bias = _matrix(layer)
    assert weight.shape == (4, 3)
    assert torch.allclose(weight.T, plain, atol=float(sizes.max()) / 127)
    assert torch.equal(bias, layer.bias)


def test_four_bits_are_unpacked_by_the_library(monkeypatch):
    plain, _, _ = eight_bits()
    functional = SimpleNamespace(dequantize_4bit=lambda data, state: plain.half())
    monkeypatch.setitem(sys.modules, "bitsandbytes", SimpleNamespace(functional=functional))
    monkeypatch.setitem(sys.modules, "bitsandbytes.functional", functional)
    weight, _ = _matrix(packed(Params4bit, torch.zeros(6, 1, dtype=torch.uint8)))
    assert weight.dtype == torch.float32
    assert torch.allclose(weight.T, plain, atol=1e-2)


def test_four_bits_without_the_library_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    monkeypatch.setitem(sys.modules, "bitsandbytes.functional", None)
    with pytest.raises(RequestError, match="expected bitsandbytes to unpack 4-bit weights, got none: pip install"):
        _matrix(packed(Params4bit, torch.zeros(6, 1, dtype=torch.uint8)))


def test_another_packing_is_refused():
    layer = nn.Linear(4, 3)
    layer.weight = nn.Parameter(torch.zeros(3, 4, dtype=torch.int8), requires_grad=False)
    with pytest.raises(RequestError, match="expected a plain Linear or Conv1D to read weights from, got Linear"):
        _matrix(layer)
