import pytest


class ByteTokenizer:
    """One token per UTF-8 byte, after three special ids, so that a window can be read back as text."""

    special = ("<pad>", "<bos>", "<eos>")
    all_special_ids = (0, 1, 2)

    def __init__(self, before=(), after=(), bos_token_id=None, cls_token_id=None):
        self.before, self.after = list(before), list(after)
        self.bos_token_id, self.cls_token_id = bos_token_id, cls_token_id
        self.texts_seen = 0

    def __call__(self, texts, *, add_special_tokens, truncation, padding, verbose, **_):
        assert not truncation
        assert not padding
        assert not verbose
        self.texts_seen += len(texts)
        plain = [[byte + 3 for byte in text.encode()] for text in texts]
        return {"input_ids": [self.before + ids + self.after for ids in plain] if add_special_tokens else plain}

    def __len__(self):
        return 259

    def convert_ids_to_tokens(self, ids):
        return [self.special[index] if index < 3 else chr(index - 3) for index in ids]


@pytest.fixture(scope="session")
def byte_tokenizer():
    return ByteTokenizer
