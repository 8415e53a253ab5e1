"""A task by examples: a word and a clue for it, a few times, then a word alone. Words and clues are our own."""

import random
from dataclasses import dataclass

from armillary.errors import refuse_outside

CLUES: dict[str, str] = {
    "anchor": "It holds a ship where the wind would not",
    "bridge": "It lets a road walk over water",
    "candle": "It gets shorter the longer it shines",
    "compass": "A needle that always knows the north",
    "desert": "A sea without a drop in it",
    "drum": "It speaks only when it is beaten",
    "echo": "It answers in your own voice",
    "feather": "What a bird leaves and a pillow keeps",
    "forest": "Too many trees to see one",
    "garden": "Where a patient person grows dinner",
    "harbour": "Boats come here to rest",
    "island": "Land that is surrounded and does not mind",
    "kettle": "It sings before the tea",
    "ladder": "Two rails and many steps upward",
    "lantern": "A small sun with a handle",
    "mirror": "It shows everyone the same guest",
    "needle": "One eye, and it never sleeps",
    "orchard": "A field that is planted for pies",
    "pepper": "Black dust that makes you sneeze",
    "pillow": "It carries heads all night",
    "river": "It runs all day and stays in its bed",
    "saddle": "A chair for someone who gallops",
    "shadow": "It follows you on sunny days",
    "spider": "It weaves its own dinner table",
    "telescope": "It brings the moon closer without moving it",
    "thunder": "The sound that comes after the flash",
    "umbrella": "A roof that you fold up",
    "violin": "Four strings under a chin",
    "window": "A hole in the wall that keeps the rain out",
    "winter": "The season that comes in white",
}
"""Thirty words, each with a clue as a crossword might put it."""

OPENING = "Write one short clue for each word.\n"


@dataclass(frozen=True)
class FewShot:
    """A prompt, the characters [start, end) of each of its examples, and the word that it asks for."""

    text: str
    spans: tuple[tuple[int, int], ...]
    word: str


def fewshot(word: str, shots: int, seed: int = 0) -> FewShot:
    """A prompt that shows `shots` other words with their clues and asks for one of `word`."""
    others = [other for other in CLUES if other != word]
    refuse_outside("a number of shots", shots, 1, len(others))
    drawn = random.Random(f"{seed} {word}").sample(others, shots)
    text, spans = OPENING, []
    for shown in drawn:
        start = len(text)
        text += f"\nWord: {shown}\nClue: {CLUES[shown]}\n"
        spans.append((start, len(text)))
    return FewShot(f"{text}\nWord: {word}\nClue:", tuple(spans), word)


PROMPTS = {
    "Two names": "When Mary and John went to the store, John gave a drink to",
    "A repeated list": "red green blue yellow red green blue yellow red green",
    "A fact": "The capital of Italy is Rome. The capital of France is",
    "Code": "def double(x):\n    return 2 * x\n\ndef triple(x):\n    return",
    "Grammar": "The keys to the old cabinet in the hall are on the table, and the door is",
    "Bytes": "She waved 👋 and said שלום to the crowd.",
    "A task by examples": fewshot("window", 2).text,
}
"""Texts to try, by what they show: who is meant, induction, recall, syntax, agreement, byte tokens, a task."""
