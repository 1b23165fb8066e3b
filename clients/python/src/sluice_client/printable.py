"""Texts of strangers on a terminal."""

import unicodedata


def printable(text: str) -> str:
    """A name or symbol that a stranger chose, in a form that cannot act on a terminal: without control and format characters."""
    return "".join(char for char in text if unicodedata.category(char) not in ("Zl", "Zp") and unicodedata.category(char)[0] != "C")
