"""The built-in list of words: a hundred common English nouns, ten of each of ten subjects."""

SUBJECTS: dict[str, tuple[str, ...]] = {
    "family": ("mother", "father", "sister", "brother", "daughter", "son", "wife", "husband", "child", "baby"),
    "body": ("hand", "head", "eye", "heart", "blood", "arm", "leg", "skin", "foot", "brain"),
    "time": ("day", "week", "month", "year", "hour", "minute", "morning", "night", "summer", "winter"),
    "school": ("school", "student", "teacher", "class", "book", "lesson", "college", "university", "paper", "test"),
    "state": ("government", "law", "president", "country", "party", "vote", "court", "tax", "police", "army"),
    "money": ("money", "price", "bank", "market", "dollar", "cost", "trade", "business", "company", "pay"),
    "house": ("house", "door", "room", "window", "wall", "floor", "kitchen", "table", "bed", "roof"),
    "nature": ("river", "mountain", "tree", "sea", "rain", "wind", "snow", "forest", "sun", "lake"),
    "food": ("food", "bread", "meat", "milk", "fruit", "sugar", "coffee", "fish", "rice", "salt"),
    "travel": ("car", "road", "train", "bus", "ship", "plane", "street", "city", "bridge", "station"),
}

NOUNS: tuple[str, ...] = tuple(noun for nouns in SUBJECTS.values() for noun in nouns)
