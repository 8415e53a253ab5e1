"""`armillary weights` on a checkpoint in shards: how much memory it takes beside the size of the file.

    python benchmarks/large.py [--layers 40] [--d-model 1024]

Writes a Llama of random weights to a temporary folder, one shard per layer and never whole in memory, and reads its
weights in a process of its own. Exit code 1 where that fails, or where its data, all that is not a page of a file and
could be given up, exceeds half of the checkpoint.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

VOCABULARY = 32000


def main() -> None:
    """Write the checkpoint, read it, and print what both took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--d-model", type=int, default=1024)
    parser.add_argument("--reads", help="read this folder and say the peaks; what the second process does")
    chosen = parser.parse_args()
    if chosen.reads:
        sys.exit(read(chosen.reads))
    with tempfile.TemporaryDirectory() as folder:
        size = written(Path(folder), chosen.layers, chosen.d_model)
        print(f"checkpoint: {size / 1e6:.0f} MB in {chosen.layers + 1} shards", flush=True)
        code = subprocess.run([sys.executable, __file__, "--reads", folder], check=False).returncode
    sys.exit(code)


def written(folder: Path, layers: int, d_model: int) -> int:
    """A sharded checkpoint of random weights, float32; its size in bytes."""
    heads, width = d_model // 64, d_model * 11 // 4
    shapes = {
        **{f"self_attn.{name}_proj": (d_model, d_model) for name in "qo"},
        **{f"self_attn.{name}_proj": (d_model // 4, d_model) for name in "kv"},
        **{f"mlp.{name}_proj": (width, d_model) for name in ("gate", "up")},
        "mlp.down_proj": (d_model, width),
        **{f"{name}_layernorm": (d_model,) for name in ("input", "post_attention")},
    }
    parts = [{f"model.layers.{layer}.{name}.weight": shapes[name] for name in shapes} for layer in range(layers)]
    parts.append({"model.embed_tokens.weight": (VOCABULARY, d_model), "model.norm.weight": (d_model,)})
    generator, where = torch.Generator().manual_seed(0), {}
    for place, part in enumerate(parts):
        file = f"model-{place:05d}.safetensors"
        save_file({name: 0.02 * torch.randn(shape, generator=generator) for name, shape in part.items()}, folder / file)
        where |= dict.fromkeys(part, file)
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    config = {
        **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True},
        **{"hidden_size": d_model, "intermediate_size": width, "num_hidden_layers": layers, "vocab_size": VOCABULARY},
        **{"num_attention_heads": heads, "num_key_value_heads": heads // 4, "dtype": "bfloat16"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    return size_of(folder)


def read(folder: str) -> bool:
    """Weights of the folder as the command reads them; prints the peaks of both kinds of memory, says if too much."""
    import armillary

    peaks: dict[str, int] = {}
    threading.Thread(target=watch, args=(peaks,), daemon=True).start()
    started = time.perf_counter()
    run = armillary.weights(armillary.load(folder, dtype="stored"), progress=False)
    taken, blocks = time.perf_counter() - started, run.results["weights"].sizes["block"]
    shown = ", ".join(f"{name} {size / 1e3:.0f} MB" for name, size in peaks.items())
    print(f"{blocks} blocks in {taken:.0f} s; peaks: {shown} (RssAnon is data, RssFile pages that can be given up)")
    return 2 * 1024 * peaks["RssAnon"] > size_of(Path(folder))


def size_of(folder: Path) -> int:
    """How many bytes the weight files have."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def watch(peaks: dict[str, int]) -> None:
    """Note the largest resident memory of each kind, in kB, for as long as the process lives."""
    while True:
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("RssAnon", "RssFile"):
                peaks[name] = max(peaks.get(name, 0), int(value.split()[0]))
        time.sleep(0.02)


if __name__ == "__main__":
    main()
