"""The weights of every head taken apart along the position directions that a run found."""

import numpy as np
import xarray as xr

from armillary.errors import refuse_outside
from armillary.measures.dissection import Dissection, dissection, position_frame, random_frame
from armillary.models.view import View
from armillary.probes.inputs import attention_inputs
from armillary.results.measuring import described
from armillary.results.store import Run
from armillary.system.threads import side_by_side

RANK = 20
"""How many of the strongest position directions make the block by default."""

NULL_MODES = 256
"""How many random directions the null looks along: 65 536 entries are enough for a quantile of 0.999."""


def weight_dissection(view: View, run: Run, *, rank: int = RANK, seed: int = 0) -> xr.Dataset:
    """W = V L Vᵀ + D + noise for every head (Song & Zhong, equation 9): all variables are (block, head).

    W = scale · W_Q W_Kᵀ as it acts on the attention's input after its norm; V are the `rank` strongest directions of
    the run's position basis there. Rotation and q/k norm are no part of W: under rotary positions it is what a token
    sees at distance 0. `seed` draws the random directions of the null. See `measures.dissection.dissection`.
    """
    refuse_outside("a rank", rank, 1, view.d_model)
    inputs = attention_inputs(view, run)
    null = random_frame(view.d_model, min(view.d_model, NULL_MODES), seed)

    def taken_apart(block: int) -> list[Dissection]:
        frame, heads = position_frame(inputs.position_basis.isel(block=block).values), view.heads(block)
        W_Q, W_K = (heads.scale * heads.W_Q.double()).cpu().numpy(), heads.W_K.double().cpu().numpy()
        return [dissection(*pair, frame, null, rank) for pair in zip(W_Q, W_K, strict=True)]

    found = side_by_side(taken_apart, range(view.n_blocks))
    columns = np.moveaxis(np.array(found, dtype=np.float64), -1, 0)
    variables = {name: (("block", "head"), column) for name, column in zip(Dissection._fields, columns, strict=True)}
    return described("dissection", xr.Dataset(variables, attrs={"model": view.name, "rank": rank, "seed": seed}))
