"""Inputs made wrong on purpose, each from a seed: bytes, JSON, and the formats that readers know."""

import json
import struct

BYTES = [0, 1, 127, 128, 255]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    65_535,
    2**31 - 1,
    2**31,
    2**32,
    2**63 - 1,
    2**64,
    -(2**31),
    10**30,
    0.5,
    -0.0,
    1e308,
]
NUMBERS += [float("nan"), float("inf"), 1e-300]
TEXTS = [
    "",
    "x",
    "0",
    "null",
    "a" * 5000,
    "../../etc/passwd",
    "/dev/zero",
    "someone/kernel",
    "\0",
    "\ud800",
    "🦆",
    "%s%n",
]
TEXTS += ["eager", "sdpa", "float16", "auto", "BertModel", "gpt2", "linear", "[UNK]", "<script>", "__class__"]


def deep(depth, opening="[", closing="]"):
    """Brackets in brackets, as text."""
    return opening * depth + closing * depth


def damaged(raw, rng):
    """Bytes with some changed, cut out, doubled or inserted."""
    raw = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        if not raw:
            return bytes(raw)
        at = int(rng.integers(len(raw)))
        length = int(rng.integers(1, 9))
        match int(rng.integers(6)):
            case 0:
                raw[at] ^= 1 << int(rng.integers(8))
            case 1:
                raw[at : at + length] = bytes(int(rng.choice(BYTES)) for _ in range(length))
            case 2:
                del raw[at : at + int(rng.integers(1, 2 + len(raw) // 4))]
            case 3:
                raw[at:at] = raw[at : at + 64]
            case 4:
                number = int(rng.choice([0, 1, 255, 65_536, 2**31, 2**32 - 1]))
                raw[at : at + 4] = struct.pack("<I", number)
            case 5:
                raw[at : at + 8] = struct.pack("<Q", int(rng.integers(2**62)) << int(rng.integers(2)))
    return bytes(raw)


def places(value, at=()):
    """Every place in nested JSON."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*at, key))


def anything(rng):
    """A value of any type."""
    match int(rng.integers(8)):
        case 0 | 1 | 2:
            return NUMBERS[int(rng.integers(len(NUMBERS)))]
        case 3 | 4:
            return TEXTS[int(rng.integers(len(TEXTS)))]
        case 5:
            return [None, True, False][int(rng.integers(3))]
        case 6:
            return [anything(rng) for _ in range(int(rng.integers(4)))]
        case _:
            return {str(anything(rng))[:20]: anything(rng) for _ in range(int(rng.integers(4)))}


def mutated(value, rng):
    """JSON with a few places changed: another value, another type, gone, or under another name."""
    value = json.loads(json.dumps(value))
    for _ in range(int(rng.integers(1, 4))):
        known = [place for place in places(value) if place]
        if not known:
            return anything(rng)
        *path, last = known[int(rng.integers(len(known)))]
        inside = value
        for key in path:
            inside = inside[key]
        match int(rng.integers(6)):
            case 0:
                del inside[last]
            case 1 if isinstance(inside, dict):
                inside[str(anything(rng))[:40]] = inside.pop(last)
            case 2:
                *other, end = known[int(rng.integers(len(known)))]
                there = value
                try:
                    for key in other:
                        there = there[key]
                    inside[last] = json.loads(json.dumps(there[end]))
                except (KeyError, IndexError, TypeError):
                    inside[last] = anything(rng)
            case _:
                inside[last] = anything(rng)
    return value


def text_of(value, rng):
    """JSON as text, sometimes damaged, sometimes far too deep."""
    text = json.dumps(value)
    match int(rng.integers(20)):
        case 0:
            return damaged(text.encode(), rng)
        case 1:
            at = int(rng.integers(len(text)))
            kind = [("[", "]"), ('{"a":', "}")][int(rng.integers(2))]
            return (text[:at] + deep(int(rng.choice([50, 1000, 100_000])), *kind) + text[at:]).encode()
    return text.encode(errors="surrogatepass")
