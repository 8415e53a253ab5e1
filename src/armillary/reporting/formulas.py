"""Formulas as MathML: the plain notation of the figures, typeset when the page is made, without script or request.

The notation is that of a text file: `tr Ĝ / (T · variance)`, `x_{t+1}`, `g_k^2m`, `√(C · e)`. Words
of prose between formulas stay prose.
"""

import re
from html import escape
from typing import NamedTuple

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ", "0123456789−⊤", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₋", "0123456789−", strict=True))
FUNCTIONS = {"tr", "Tr", "cos", "sin", "log", "exp", "max", "min", "atan", "softmax", "Cov", "Var", "HSIC", "median"}
JOINING = {"and", "or", "of", "for", "from", "over", "with", "as", "by"}
OPEN, CLOSE, BARS = "([⟨{", ")]⟩}", "|‖"
INFIX = "+−·=≤≥<>~←→±×"
TOKEN = re.compile(
    rf"""(?P<space>\s+)|(?P<word>(?:position_basis|Tr\b|ScreeNOT|LayerNorm|ALiBi|DCT-II|QR\b|SE\b|[A-Z]?[a-z]{{2,}}|[A-Z]{{3,}}|[2A-Za-z](?=-[a-zD]))
    (?:[’'–-][A-Za-z]+)*'?)|(?P<number>\d+(?:\.\d+)?|½)|(?P<letter>[A-Za-zα-ωΑ-Ρϕℓĝ-ĞŜĜιΣΤ-Ω][\u0300-\u036f]?′*)
    |(?P<raised>[{"".join(RAISED)}]+)|(?P<lowered>[{"".join(LOWERED)}]+)|(?P<mark>[_^])|(?P<root>√)|(?P<other>.)""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of the notation, and whether a space stands before it."""

    kind: str
    text: str
    apart: bool


class Item(NamedTuple):
    """A piece of the formula: `atom`, `infix`, `slash`, `word` or `stop`; its markup, and its text."""

    kind: str
    markup: str
    text: str


def formula(text: str) -> str:
    """A formula with its words as HTML: words escaped, mathematics in <math> elements."""
    return laid_out(row(tokens(text), 0, "")[0])


def tokens(text: str) -> list[Token]:
    """The pieces of a text; spaces are kept as a property of what follows."""
    found, apart = [], False
    for match in TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match.group(), apart))
        apart = kind == "space"
    return found


def row(pieces: list[Token], place: int, closer: str) -> tuple[list[Item], int]:
    """Items up to the closing bracket or bar, and the place of it; fractions are made where a slash stands apart."""
    items: list[Item] = []
    while place < len(pieces) and not closes(pieces, place, closer, bool(items)):
        item, place = one(pieces, place)
        items.append(item)
    return fractions(items), place


def closes(pieces: list[Token], place: int, closer: str, begun: bool) -> bool:
    """Whether a piece ends the group; a bar ends one where something stands right before it."""
    token = pieces[place]
    if closer in BARS and closer:
        return token.text == closer and begun and not token.apart and pieces[place - 1].text not in INFIX + OPEN + "/"
    return bool(closer) and token.text == closer


def one(pieces: list[Token], place: int) -> tuple[Item, int]:
    """The item that begins here, with its subscripts and superscripts."""
    token = pieces[place]
    after = place + 1
    if token.kind == "word" and not (token.text in FUNCTIONS or marked(pieces, after)):
        return Item("word", f"<mtext>{escape(token.text)}</mtext>", token.text), after
    if token.text in INFIX:
        return Item("infix", f"<mo>{escape(token.text)}</mo>", token.text), after
    if token.text == "/":
        spaced = token.apart and after < len(pieces) and pieces[after].apart
        return Item("slash" if spaced else "atom", "<mo>/</mo>", "/"), after
    if token.text in OPEN or token.text in BARS:
        return group(pieces, place)
    if token.kind == "root":
        return root(pieces, after)
    if token.text == "Σ" and is_sum(pieces, place):
        return summed(pieces, after)
    if token.text in FUNCTIONS and not marked(pieces, after):
        gap = '<mspace width="0.17em"/>' if after < len(pieces) and pieces[after].apart else ""
        return Item("atom", f"<mi>{token.text}</mi>{gap}", token.text), after
    if token.kind in ("letter", "word", "number"):
        tag = "mn" if token.kind == "number" else "mi"
        return scripted(f"<{tag}>{escape(token.text)}</{tag}>", token.text, pieces, after)
    return Item("stop" if token.text in ",;:." else "atom", f"<mo>{escape(token.text)}</mo>", token.text), after


def marked(pieces: list[Token], place: int) -> bool:
    """Whether a subscript or a superscript follows at once."""
    return place < len(pieces) and not pieces[place].apart and pieces[place].kind in ("mark", "raised", "lowered")


def group(pieces: list[Token], place: int) -> tuple[Item, int]:
    """What stands in brackets or bars, as one item; a bracket that is never closed is a sign like another."""
    begin = pieces[place].text
    end = begin if begin in BARS else CLOSE[OPEN.index(begin)]
    inner, last = row(pieces, place + 1, end)
    if last == len(pieces):
        return Item("atom", f"<mo>{escape(begin)}</mo>", begin), place + 1
    inside, text = typeset(inner), f"{begin}{' '.join(item.text for item in inner)}{end}"
    prose = begin == "(" and pieces[place].apart and not any(item.kind in ("infix", "slash") for item in inner)
    if prose and any(item.kind == "word" for item in inner) and not marked(pieces, last + 1):
        return Item("word", f"<mtext>{escape(text)}</mtext>", text.replace(" ,", ",")), last + 1
    markup = f"<mrow><mo>{escape(begin)}</mo>{inside}<mo>{escape(end)}</mo></mrow>"
    if last + 1 < len(pieces) and pieces[last + 1] == Token("word", "op", False):  # the operator norm
        return Item("atom", f"<msub>{markup}<mi>op</mi></msub>", f"{text}op"), last + 2
    return scripted(markup, text, pieces, last + 1)


def root(pieces: list[Token], place: int) -> tuple[Item, int]:
    """The root of the next item; of a function, of what it is applied to as well."""
    if place >= len(pieces):
        return Item("atom", "<mo>√</mo>", "√"), place
    inner, after = one(pieces, place)
    if inner.text in FUNCTIONS and after < len(pieces):
        argument, after = one(pieces, after)
        inner = Item("atom", f"{inner.markup}{argument.markup}", f"{inner.text} {argument.text}")
    return Item("atom", f"<msqrt>{bare(inner)}</msqrt>", f"√{inner.text}"), after


def is_sum(pieces: list[Token], place: int) -> bool:
    """Whether a Σ adds something up, or is a covariance: a sum stands before a letter, a norm or its limits."""
    follows = pieces[place + 1] if place + 1 < len(pieces) else Token("", "", False)
    before = pieces[place - 1] if place else Token("", "", True)
    attached = not pieces[place].apart and before.kind in ("letter", "raised")
    limits = follows.text == "_" and place + 2 < len(pieces) and pieces[place + 2].text == "{"
    starts = follows.apart or follows.kind in ("letter", "word") or follows.text in ("‖", "(")
    return not attached and (limits or (starts and follows.text not in (")", ",", ";") and follows.kind != "mark"))


def summed(pieces: list[Token], place: int) -> tuple[Item, int]:
    """The sign of a sum, with what stands under it."""
    sign = '<mo largeop="true">∑</mo>'
    if marked(pieces, place) and pieces[place].text == "_":
        under, text, place = script(pieces, place)
        return Item("atom", f"<munder>{sign}{under}</munder>", f"Σ_{text}"), place
    return Item("atom", sign, "Σ"), place


def scripted(markup: str, text: str, pieces: list[Token], place: int) -> tuple[Item, int]:
    """An atom with the subscripts and superscripts that follow at once."""
    below: list[str] = []
    above: list[str] = []
    while marked(pieces, place):
        lower = pieces[place].kind == "lowered" or pieces[place].text == "_"
        inside, mark, place = script(pieces, place)
        (below if lower else above).append(inside)
        text += mark
    parts = markup + "".join(f"<mrow>{''.join(some)}</mrow>" for some in (below, above) if some)
    tag = {(True, True): "msubsup", (True, False): "msub", (False, True): "msup"}.get((bool(below), bool(above)))
    return Item("atom", f"<{tag}>{parts}</{tag}>" if tag else markup, text), place


def script(pieces: list[Token], place: int) -> tuple[str, str, int]:
    """One subscript or superscript: its markup, its text, and where it ends."""
    token = pieces[place]
    if token.kind in ("raised", "lowered"):
        signs = (RAISED | LOWERED)[token.text[0]], *((RAISED | LOWERED)[sign] for sign in token.text[1:])
        marks = "".join(f"<mn>{sign}</mn>" if sign.isdigit() else f"<mo>{sign}</mo>" for sign in signs)
        return marks, token.text, place + 1
    if place + 1 < len(pieces) and pieces[place + 1].text in ("{", "("):
        item, after = group(pieces, place + 1)
        return f"<mrow>{bare(item)}</mrow>", f"{token.text}{item.text}", after
    parts: list[str] = []
    text, after = token.text, place + 1
    while after < len(pieces) and not pieces[after].apart and joins(pieces, after):
        tag = {"number": "mn", "word": "mtext", "letter": "mi"}.get(pieces[after].kind, "mo")
        parts.append(f"<{tag}>{escape(pieces[after].text)}</{tag}>")
        text += pieces[after].text
        after += 1
    return f"<mrow>{''.join(parts)}</mrow>", text, after


def joins(pieces: list[Token], place: int) -> bool:
    """Whether a piece belongs to a subscript: letters, numbers, and a comma between letters."""
    if pieces[place].kind in ("number", "word", "letter"):
        return True
    after = pieces[place + 1] if place + 1 < len(pieces) else Token("", "", True)
    return pieces[place].text == "," and after.kind == "letter" and not after.apart


def bare(item: Item) -> str:
    """An item without the brackets around it."""
    match = re.fullmatch(r"<mrow><mo>[({]</mo>(.*)<mo>[)}]</mo></mrow>", item.markup)
    return match.group(1) if match and balanced(match.group(1)) else item.markup


def balanced(markup: str) -> bool:
    """Whether every bracket inside is closed where it was opened."""
    depth = 0
    for sign in re.findall(r"<mo>([()])</mo>", markup):
        depth += 1 if sign == "(" else -1
        if depth < 0:
            return False
    return depth == 0


def fractions(items: list[Item]) -> list[Item]:
    """Fractions in place of slashes that stand apart: all factors before one, all after it."""
    while (at := next((place for place, item in enumerate(items) if item.kind == "slash"), None)) is not None:
        first = at
        while first and items[first - 1].kind == "atom":
            first -= 1
        last = at + 1
        while last < len(items) and items[last].kind == "atom":
            last += 1
        if last == at + 1:  # words below the line
            while last < len(items) and items[last].kind == "word":
                last += 1
        if first == at and first and items[first - 1].kind == "word":
            first -= 1
        above, below = items[first:at], items[at + 1 : last]
        if not above or not below:
            items[at] = Item("atom", "<mo>/</mo>", "/")
            continue
        markup = "".join(
            f"<mrow>{bare(side[0]) if len(side) == 1 else typeset(side)}</mrow>" for side in (above, below)
        )
        text = f"{' '.join(item.text for item in above)} / {' '.join(item.text for item in below)}"
        items[first:last] = [Item("atom", f"<mfrac>{markup}</mfrac>", text)]
    return items


def typeset(items: list[Item]) -> str:
    """Items side by side within mathematics; words that follow each other are one text."""
    texts, result = [], []
    for item in [*items, Item("", "", "")]:
        if item.kind == "word":
            texts.append(item.text)
            continue
        if texts:
            result.append(f"<mtext>{escape(' '.join(texts))}</mtext>")
            texts = []
        result.append(item.markup)
    return "".join(result)


def laid_out(items: list[Item]) -> str:
    """Prose and mathematics in turn; a word beside an operator is part of a formula, unless it joins two of them."""
    pieces: list[tuple[bool, Item]] = []
    for place, item in enumerate(items):
        beside = [items[near].kind for near in (place - 1, place + 1) if 0 <= near < len(items)]
        article = item.text == "a" and place + 1 < len(items) and items[place + 1].kind == "word"
        article = article and items[place + 1].text != "the"
        prose = (
            article or item.kind == "stop" or (item.kind == "word" and ("infix" not in beside or item.text in JOINING))
        )
        pieces.append((prose, item))
    result, run = [], list[Item]()
    for prose, item in [*pieces, (True, Item("", "", ""))]:
        if not prose:
            run.append(item)
            continue
        if run:
            result.append(f' <math displaystyle="true">{typeset(run)}</math>')
            run = []
        result.append(escape(item.text) if item.kind == "stop" else f" {escape(item.text)}")
    return "".join(result).strip()
