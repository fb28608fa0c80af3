"""How names are compared: one normal form for equality, one folded form for words and spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from thinkgraph.prompts.lines import INVISIBLE


def word_set(words: str, sign: str | None = None) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split(sign))


_WORD = re.compile(r"[^\W_]+")
UNDECOMPOSED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
"""Small Latin letters that no accent is taken from, and what stands for them where they cannot be typed."""
_MARKS = {**dict.fromkeys(range(0x300, 0x370)), **UNDECOMPOSED}
_LOCAL_NAME = re.compile(
    r"(?:https?://[^/?#]+/(?:[^?#]*/)?|(?:https?|file)://[^#]*(?P<mark>\#)|urn:(?:[^#?]*:))(?P<name>[^/?#]+)"
)
_PAGE = re.compile(r"\.(?:html?|php|aspx?|jsp|pdf|xml|jpe?g|png|svg|gif)$", re.IGNORECASE)
_SMALL = word_set("a an and at by de der des di du for from in la le les of on or the to und van von y")
"""Words in small letters within titles."""
_INITIALS = re.compile(r"((?:[^\W\d_]\.\s?)+[^\W\d_]?\.?|[A-Z]{2,4})(\s.*)?")
"""A name that begins with the first letters of words, and the rest of it."""
_SHORT = {"n": "North", "s": "South", "e": "East", "w": "West", "mt": "Mount", "st": "Saint", "ft": "Fort"}
"""First words of names by the way they are written short."""
_IN_FULL = {word.lower(): short.capitalize() for short, word in _SHORT.items()}
_MOST_SPACES = 2
"""In a name any of whose spaces may be a hyphen."""
_APOSTROPHES = str.maketrans("'\u2019\u2018\u02bb\u02bc", "\u2019" + 4 * "'")
"""Curved apostrophes, as phones and word processors write them, for straight ones, and the other way round."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def well_formed(text: str) -> str:
    """The text with lone surrogates, which no encoder and no database takes, as U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normal_name(text: str) -> str:
    """The form in which two names are equal: NFKC, case folded, white space collapsed, no invisible marks. Accents count."""
    if text.isascii():
        return " ".join(text.lower().split())
    # Folding can undo the composition (as for U+0345), so the result is composed again.
    return " ".join(
        unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", INVISIBLE.sub("", text)).casefold()).split()
    )


def lowered(text: str) -> str:
    """A text in NFKC and small letters, without the folding of the normal name ("ß" stays)."""
    return unicodedata.normalize("NFKC", text).lower()


def spellings(name: str) -> list[str]:
    """Usual spellings of a name: as it is, in lower case, in upper case, with a capital, as a title."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    lower = plain.lower()
    capitals = [word[:1].upper() + word[1:] for word in lower.split()]
    small = [word.lower() if at and word.lower() in _SMALL else word for at, word in enumerate(capitals)]
    ways = [" ".join(name.split()), plain, lower, plain.upper(), lower[:1].upper() + lower[1:]]
    return list(dict.fromkeys(filter(None, [*ways, " ".join(capitals), " ".join(small)])))


def ways_to_write(name: str) -> Iterator[str]:
    """The ways to write a name, its own first: other apostrophes, spaces for hyphens, English short forms ("N. Korea", "JK Simmons")."""
    for way in dict.fromkeys((name, name.translate(_APOSTROPHES))):
        yield way
        yield from _short_or_long(way)
        yield way.replace("-", " ")
        spaces = [at for at, sign in enumerate(way) if sign == " "]
        if len(spaces) <= _MOST_SPACES:
            yield from (f"{way[:at]}-{way[at + 1 :]}" for at in spaces)
            yield way.replace(" ", "-")


def _short_or_long(name: str) -> Iterator[str]:
    """A name whose beginning is written short, or may be."""
    if found := _INITIALS.fullmatch(name):
        letters, rest = re.sub(r"[\s.]", "", found[1]), found[2] or ""
        yield from (f"{way}{rest}" for way in (letters, f"{'.'.join(letters)}.", f"{'. '.join(letters)}."))
    first, _, rest = name.partition(" ")
    if rest and (word := _SHORT.get(first.lower().removesuffix("."))):
        yield f"{word} {rest}"
    if rest and (word := _IN_FULL.get(first.lower())):
        yield from (f"{word}. {rest}", f"{word} {rest}")


def is_name(text: str) -> bool:
    """Whether a text is written as a name is: with a capital, or in a script that has none."""
    return any(letter.isupper() for letter in text) or not any(letter.islower() for letter in text)


def folded(text: str) -> str:
    """The normal name without Latin, Greek and Cyrillic accents and strokes; other scripts keep their marks, which are vowels."""
    return without_accents(normal_name(text))


def without_accents(name: str) -> str:
    """The folded form of a name that is normal already."""
    if name.isascii():
        return name
    bare = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).translate(_MARKS))
    # A lone surrogate has no UTF-8 form, so SQLite could not be asked for it.
    return bare.encode("utf-8", "replace").decode("utf-8")


def words(text: str) -> list[str]:
    """The words of the folded name, in order, repetitions kept; punctuation and underscores separate."""
    return folded_words(folded(text))


def folded_words(name: str) -> list[str]:
    """The words of a name that is folded already."""
    if name.isascii():
        return _WORD.findall(name)
    # Marks (Indic vowel signs) are part of a word, though the regular expression's \w leaves them out.
    return "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in name).split()


def trigrams(text: str) -> list[str]:
    """The distinct runs of three characters of the folded name with one space on each side, in order."""
    padded = f" {folded(text)} ".replace("\0", " ")
    return list(dict.fromkeys(padded[i : i + 3] for i in range(len(padded) - 2)))


def key_label(key: str) -> str:
    """The label of an entity that was given none: its key with underscores shown as spaces, an IRI by its last part."""
    if key.startswith(("http://", "https://", "file:///", "urn:", "_:")):
        key = iri_label(key)
    return " ".join(key.replace("_", " ").split()) or key


def iri_label(iri: str) -> str:
    """The part of an IRI that names the thing (`…/resource/Le_Mans` → `Le_Mans`); the whole of what looks like a page."""
    if iri.startswith("_:"):
        return f"(unnamed {iri[2:]})"
    found = _LOCAL_NAME.fullmatch(iri)
    if found is None or (not found["mark"] and (found["name"].count(".") and _PAGE.search(found["name"]))):
        return iri
    return unquote(found["name"], errors="replace").replace("\0", " ").strip() or iri


def relation_label(name: str) -> str:
    """The label of a relation that was given none (`shares_border_with` and `sharesBorderWith` read alike)."""
    if name.startswith(("http://", "https://", "file:///", "urn:")):
        name = iri_label(name)
    label = " ".join(name.replace("_", " ").split()) or name
    if name.isascii() and name.isalnum() and not name.isupper():
        parts = _CAMEL.split(name)
        if len(parts) > 1:
            return " ".join(part if part.isupper() else part.lower() for part in parts)
    return label
