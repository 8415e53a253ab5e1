"""Figures of the context basis."""

import numpy as np

from armillary.figures import FIGURES


def test_windows_of_a_document_stand_together(results, changed):
    mixed = changed(results, corpus__document_index=np.arange(32) % 4)
    names = list(FIGURES["context-gram"].draw(mixed).data[0].x)
    documents = [name.split(" ", 2)[2] for name in names]
    assert documents == sorted(documents)
    assert {name.split()[1] for name in names} == {str(window) for window in range(32)}
