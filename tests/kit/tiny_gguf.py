"""A GGUF file of a tiny model, written by the library of the format."""

import gguf
import torch

WIDTH, BLOCKS, HEADS = 32, 2, 4


def write_gguf(path):
    """A tiny model of random weights, with a byte-pair tokenizer of few tokens."""
    tokens = ["<unk>", "<s>", "</s>", "a", "b", "c", "ab", "Ġ"]
    generator = torch.Generator().manual_seed(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(48)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,), "output": (len(tokens), WIDTH)}
    for block in range(BLOCKS):
        shapes |= {f"blk.{block}.{name}": (WIDTH, WIDTH) for name in ("attn_q", "attn_output")}
        shapes |= {f"blk.{block}.{name}": (WIDTH // 2, WIDTH) for name in ("attn_k", "attn_v")}
        shapes |= {f"blk.{block}.{name}": (48, WIDTH) for name in ("ffn_gate", "ffn_up")}
        shapes |= {f"blk.{block}.{name}": (WIDTH,) for name in ("attn_norm", "ffn_norm")}
        shapes[f"blk.{block}.ffn_down"] = (WIDTH, 48)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", (torch.randn(shape, generator=generator) / 4).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
