import mmap

import numpy as np
import torch

from armillary.system import mappings
from armillary.system.mappings import Lender, mapping


def test_a_mapping_is_zero_and_can_be_written():
    values = np.frombuffer(mapping(1 << 22), np.float64)
    assert not values.any()
    values[:] = 1


def test_nothing_can_be_mapped_too():
    assert len(mapping(0)) == 1


def test_a_kernel_without_large_pages_gives_small_ones(monkeypatch):
    class Refusing(mmap.mmap):
        def madvise(self, *advice):
            raise OSError("not here")

    monkeypatch.setattr(mappings.mmap, "mmap", Refusing)
    assert len(mapping(4096)) == 4096


def test_memory_is_lent_again_when_the_last_tensor_that_looks_at_it_is_gone():
    lender = Lender(3)
    whole = torch.from_numpy(lender.lend(64)).view(torch.float32)
    whole.fill_(7)
    part, address = whole[2:4], whole.data_ptr()
    del whole
    assert torch.from_numpy(lender.lend(64)).data_ptr() != address
    assert part.tolist() == [7, 7]
    del part
    assert address in {torch.from_numpy(lender.lend(64)).data_ptr() for _ in range(2)}


def test_a_numpy_view_holds_lent_memory_too():
    lender = Lender(3)
    view = torch.from_numpy(lender.lend(64)).view(torch.float32).numpy()[3:]
    view[:] = 5
    np.frombuffer(lender.lend(64), np.uint8)[:] = 0
    assert (view == 5).all()


def test_memory_that_is_too_small_is_not_lent():
    lender = Lender(3)
    del [lender.lend(64)][:]
    assert len(lender.lend(1 << 20)) == 1 << 20


def test_no_more_waits_than_the_lender_may_hold():
    lender = Lender(2)
    held = [lender.lend(64) for _ in range(5)]
    held.clear()
    assert len(lender.free) == 2
