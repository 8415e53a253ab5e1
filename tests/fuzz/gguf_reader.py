"""GGUF files that lie: made of parts, each with a chance to be wrong, and a whole model with a few parts changed."""

import struct
from unittest import mock

from mutators import NUMBERS, damaged
from reader import Reader

WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a number by its type, where they are not four."""


def number(rng):
    """Any number that eight bytes hold."""
    large = NUMBERS[int(rng.integers(len(NUMBERS)))]
    return int(large) % 2**64 if abs(large) < 1e40 else 2**63


class Gguf(Reader):
    """A GGUF file made of parts that lie; hardly any gets beyond its head."""

    def begin(self, folder):
        import gguf  # noqa: F401
        import transformers  # noqa: F401

    def spoil(self, folder, rng):
        def lie(true):
            return true if rng.random() < 0.9 else number(rng)

        def text(letters):
            return struct.pack("<Q", lie(len(letters))) + letters

        keys = [b"general.architecture", b"llama.block_count", b"llama.embedding_length", b"llama.context_length"]
        keys += [b"llama.attention.head_count", b"tokenizer.ggml.tokens", b"x"]
        body = b""
        for _ in range(count := int(rng.integers(0, 8))):
            kind = int(rng.integers(0, 14))
            body += text(keys[int(rng.integers(len(keys)))]) + struct.pack("<I", kind)
            if kind == 8:
                body += text(b"llama")
            elif kind == 9:
                inner = int(rng.integers(0, 11))
                body += struct.pack("<IQ", inner, lie(2)) + bytes(16)
            else:
                body += struct.pack("<Q", number(rng))[: WIDTHS.get(kind, 4)]
        tensors = b""
        for _ in range(weights := int(rng.integers(0, 4))):
            axes = int(rng.integers(0, 6))
            tensors += text(b"token_embd.weight") + struct.pack("<I", axes)
            tensors += b"".join(struct.pack("<Q", lie(4)) for _ in range(axes))
            tensors += struct.pack("<IQ", int(rng.integers(0, 40)), lie(0))
        head = b"GGUF" + struct.pack("<IQQ", int(rng.choice([2, 3, 3, 3, 1, 9])), lie(weights), lie(count))
        raw = head + body + tensors + bytes(256)
        (folder / "a.gguf").write_bytes(damaged(raw, rng) if rng.random() < 0.2 else raw)

    def read(self, folder):
        from armillary.models.sources.gguf import dequantised

        with mock.patch.dict("os.environ", {"ARMILLARY_CACHE": str(folder / "cache")}):
            dequantised(folder / "a.gguf")


class GgufModel(Gguf):
    """A whole model, one to three of whose values and tensors are others: most are read, or refused by a library."""

    def begin(self, folder):
        super().begin(folder)
        from tiny_gguf import write_gguf

        self.values, self.tensors, self.data = taken_apart(write_gguf(folder / "a.gguf"))

    def spoil(self, folder, rng):
        values, tensors = list(self.values), list(self.tensors)
        for _ in range(int(rng.integers(1, 4))):
            some = values if rng.random() < 0.5 else tensors
            at = int(rng.integers(len(some))) if some else 0
            match int(rng.integers(6)):
                case _ if not some:
                    pass
                case 0:
                    del some[at]
                case 1:
                    some.append(some[at])
                case 2:
                    other = some[int(rng.integers(len(some)))]
                    some[at] = (some[at][0], *other[1:])
                case _ if some is values:
                    some[at] = (some[at][0], *another_value(rng))
                case _:
                    some[at] = another_tensor(some[at], rng)
        data = damaged(self.data, rng) if rng.random() < 0.2 else self.data
        (folder / "a.gguf").write_bytes(put_together(values, tensors, data))


def taken_apart(path):
    """Values (name, type, bytes), tensors (name, axes, type, offset) and data of a valid file."""
    import gguf

    found = gguf.GGUFReader(path)
    values = [
        (field.name.encode(), int(field.types[0]), b"".join(bytes(part) for part in field.parts[3:]))
        for name, field in found.fields.items() if not name.startswith("GGUF.")
    ]  # fmt: skip
    start = min(tensor.data_offset for tensor in found.tensors)
    tensors = [
        (tensor.name.encode(), tuple(map(int, tensor.shape)), int(tensor.tensor_type), tensor.data_offset - start)
        for tensor in found.tensors
    ]
    return values, tensors, path.read_bytes()[start:]


def put_together(values, tensors, data):
    """The file again."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for name, kind, raw in values:
        head += struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + raw
    for name, axes, kind, offset in tensors:
        head += struct.pack("<Q", len(name)) + name + struct.pack(f"<I{len(axes)}Q", len(axes), *axes)
        head += struct.pack("<IQ", kind, offset)
    return head + bytes(-len(head) % 32) + data


def another_value(rng):
    """Type and bytes of any value: a number, a text, a list of either."""

    def one(kind):
        if kind == 8:
            letters = [b"", b"llama", b"gpt2", b"mamba", b"x" * 5000, b"\xff", b"{% for %}"][int(rng.integers(7))]
            return struct.pack("<Q", len(letters)) + letters
        return struct.pack("<Q", number(rng))[: WIDTHS.get(kind, 4)]

    kind = int(rng.integers(13))
    if kind != 9:
        return kind, one(kind)
    inner = int(rng.choice([0, 4, 5, 6, 8, 10]))
    count = int(rng.integers(12))
    return kind, struct.pack("<IQ", inner, count) + b"".join(one(inner) for _ in range(count))


def another_tensor(tensor, rng):
    """A tensor of another shape, type or place."""
    name, axes, kind, offset = tensor
    match int(rng.integers(4)):
        case 0:
            axes = tuple(int(rng.choice([0, 1, 8, 32, 48, 64])) for _ in range(int(rng.integers(5))))
        case 1:
            kind = int(rng.integers(40))
        case 2:
            offset = int(rng.choice([0, 1, 32, 4096, offset + 32, number(rng) % 2**63]))
        case 3:
            name = [b"", b"x", b"blk.9.attn_q.weight", b"blk.0.attn_q.bias", b"\xff"][int(rng.integers(5))]
    return name, axes, kind, offset
