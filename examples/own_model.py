"""How do I survey a model that I hold in memory, without a tokenizer?

    python examples/own_model.py

A loaded transformers model goes in as it is, with ready windows: an integer array [context, position]. `documents` says
which windows belong together, so that errors are taken over whole documents.
"""

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import armillary as arm

torch.manual_seed(0)
shape = {"n_layer": 3, "n_head": 4, "n_embd": 64, "n_positions": 64, "vocab_size": 500}
model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0))
tokens = np.random.default_rng(0).integers(500, size=(96, 32))
corpus = arm.corpus(tokens, name="uniform tokens", documents=[row // 4 for row in range(96)])

run = arm.survey(arm.load(model), corpus, progress=False)
columns = ["position_share_corrected", "position_share_corrected_se", "rank_stable_corrected"]
print(arm.table(run)[columns].round(4).to_string())
