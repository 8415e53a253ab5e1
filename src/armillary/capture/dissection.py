"""The weights of every head taken apart along the position directions that a run found."""

import numpy as np
import xarray as xr

from armillary.capture.constituents import about, attention_inputs
from armillary.errors import RequestError
from armillary.measures.dissection import Dissection, dissection, position_frame, random_frame
from armillary.models.view import View
from armillary.store import Run

NULL_MODES = 256
"""How many random directions the null looks along: 65 536 entries are enough for a quantile of 0.999."""

_MEANING = {
    "energy_position": "share of ‖W‖² in the block on the leading position directions, diagonal taken off",
    "energy_position_null": "the same for directions drawn at random, mean in closed form",
    "energy_diagonal": "share of ‖W‖² on the diagonal",
    "energy_diagonal_null": "the same for a matrix of this spectrum turned at random, mean in closed form",
    "energy_rest": "what neither has",
    "threshold": "size that one in a thousand entries exceeds along random directions",
    "survivors_position": "entries above the threshold in the block",
    "survivors_position_null": "how many would be by chance",
    "survivors_elsewhere": "entries above the threshold outside the block",
    "survivors_elsewhere_null": "how many would be by chance",
}


def weight_dissection(view: View, run: Run, *, rank: int = 20, seed: int = 0) -> xr.Dataset:
    """W = V L Vᵀ + D + noise for every head (Song & Zhong, equation 9): all variables are (block, head).

    W = scale · W_Q W_Kᵀ as it acts on the attention's input after its norm; V are the `rank` strongest directions of
    the run's position basis there. Rotation and q/k norm are no part of W: under rotary positions it is what a token
    sees at distance 0. See `measures.dissection.dissection`.
    """
    if not 1 <= rank <= view.d_model:
        raise RequestError(f"expected a rank from 1 to {view.d_model}, came {rank}")
    node = attention_inputs(view, run)
    null = random_frame(view.d_model, min(view.d_model, NULL_MODES), seed)
    found = []
    for block in range(view.n_blocks):
        frame, heads = position_frame(node.position_basis.isel(block=block).values), view.heads(block)
        W_Q, W_K = (heads.scale * heads.W_Q.double()).cpu().numpy(), heads.W_K.double().cpu().numpy()
        found.append([dissection(*pair, frame, null, rank) for pair in zip(W_Q, W_K, strict=True)])
    columns = np.moveaxis(np.array(found, dtype=np.float64), -1, 0)
    return xr.Dataset(
        {
            name: (("block", "head"), values, about(_unit(name), _MEANING[name]))
            for name, values in zip(Dissection._fields, columns, strict=True)
        },
        attrs={"model": view.name, "rank": rank, "seed": seed},
    )


def _unit(name: str) -> str:
    return "scores per squared unit of the input" if name == "threshold" else "entries" if "surv" in name else "1"
