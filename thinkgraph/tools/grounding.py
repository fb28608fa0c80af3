"""Does the evidence that a model was shown hold the answer it gave?"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal

import regex

from thinkgraph.prompts.lines import INVISIBLE, Item, ShownList, parse_item
from thinkgraph.prompts.tasks import AUXILIARIES, QUESTION_WORDS
from thinkgraph.tools.linking.lexical import PAIRED
from thinkgraph.tools.linking.names import UNDECOMPOSED, word_set
from thinkgraph.tools.values import days_in, is_day

_ASCII_WORD = re.compile(r"\w+", re.ASCII)
# Vowel signs (of Indic scripts, Thai …) are marks, which \w leaves out, and yet parts of words.
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}_]+")
# Most writers leave out the points of Hebrew, Arabic and Syriac. The voicing marks of kana tell letters apart.
_ACCENTS = regex.compile(
    r"[[\p{Inherited}\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Syriac}]&&\p{M}--[\u3099\u309a]]+", regex.VERSION1
)
_NUMBER = re.compile(
    r"(?<![\d.,])[1-9]\d{0,2}(?P<sign>[\s,.'_])\d{3}(?:(?P=sign)\d{3})*(?:(?!(?P=sign))[.,]\d+(?![.,]?\d))?"
    r"(?!\d|[eE][-+]?\d)|\d+(?:[.,]\d+)?(?P<power>[eE][-+]?\d{1,2}(?!\w))?"
)
"""A number: digits in groups of three, with decimals behind another sign or without ("1,234.5"), or digits with a decimal point or
comma ("0.925"), and with a power of ten, as RDF writes them ("4.5E6").
"""
_POINT_OR_GROUP = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![.,]?\d)")
"""Digits whose point may stand before decimals or before a group of three: "3.125"."""
IN_WORDS = {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)  # noqa: SIM905
}
"""Small numbers in English words, and in digits. "One" is mostly none."""
_IN_WORDS = re.compile(rf"(?<![\w-])(?:{'|'.join(IN_WORDS)})(?![\w-]| (?:hundred|thousand|million|billion|dozen))")
"""Not within a name: "The Magnificent Seven"."""
_MAGNITUDES = {"thousand": 3, "million": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12}
_IN_MAGNITUDES = re.compile(
    r"(?:\b(?:about|almost|approximately|around|circa|nearly|roughly) )?"
    rf"(?<![\d.,])(\d+(?:[.,]\d+)?)[\s-]*({'|'.join(_MAGNITUDES)})\b",
    re.IGNORECASE,
)
"""A number like "about 53.8 million"."""
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_OTHER_SIGNS = str.maketrans("\u066b\u066c", ".,")
"""The decimal and the thousands sign of Arabic numbers."""
UNITS = {
    word: unit
    for unit, words in {
        "km": "kilometers kilometer kilometres kilometre km 公里 キロメートル 킬로미터",
        "m": "meters meter metres metre m 米 メートル 미터",
        "mi": "miles mile mi",
        "cm": "centimeters centimeter centimetres centimetre cm",
        "mm": "millimeters millimeter millimetres millimetre mm",
        "ft": "feet foot ft",
        "yd": "yards yard",
        "ha": "hectares hectare ha",
        "acre": "acres acre",
        "kg": "kilograms kilogram kg",
        "g": "grams gram",
        "t": "tonnes tonne tons ton",
        "lb": "pounds pound",
        "l": "liters liter litres litre",
        "%": "percent pct %",
        "degree": "degrees degree",
        "year": "years year 年 년",
        "month": "months month",
        "week": "weeks week",
        "day": "days day",
        "hour": "hours hour",
        "minute": "minutes minute",
        "second": "seconds second",
        "usd": "dollars dollar usd",
        "eur": "euros euro eur",
        "person": "people persons inhabitants residents 人 명",
    }.items()
    for word in words.split()
}
"""Units by their words: those of one unit are the same."""
_UNIT = rf"(?:(?:square|sq\.?|cubic)[\s_]+)?(?:{'|'.join(UNITS)})[23]?(?![^\W_])"
_IN_UNITS = re.compile(rf"(?P<number>{_NUMBER.pattern})[\s\u00a0-]*(?P<unit>{_UNIT})?", re.IGNORECASE)
_IN_FEW_WORDS = re.compile(
    r"(?:(?:about|almost|approximately|approx\.|around|ca?\.|circa|nearly|roughly)\s+|[~\u2248\u223c]\s*|(?:in )?the year )?"
    r"(?:(?P<usd>(?:US\s?)?\$)|(?P<eur>\u20ac))?\s?(?P<number>[-\u2212]?\d.{0,60}?)(?: above (?:mean )?sea level)?[\s.]*",
    re.IGNORECASE,
)
"""A number, maybe with its unit, and what may stand around it: "about 3,475 m above sea level", "$5,000"."""
_LETTER = re.compile(r"[^\W\d_]")
"""Where one follows a number and the spaces behind it, the number counts something: "79 lakes"."""
_NAMED_UNIT = re.compile(rf"(?<![^\W_]){_UNIT}", re.IGNORECASE)
_BELOW_ZERO = re.compile(rf"(?<!\w)[-\u2212](?:{_NUMBER.pattern})")
_BETWEEN_NAMES = re.compile(r"[^\s'\u2019.-]")
"""What parts one name from another in an answer: any sign but those that stand within names."""
_LEFT_OUT = re.compile(r", \.\.\. and \d+ more(?=;| \||$)")
YES_OR_NO = frozenset({"yes", "no", "true", "false"})
DERIVED = YES_OR_NO | {"supports", "refutes", "not enough info"}
_SMALL = word_set(
    "a an and are as at be by for from he in is it its of on or she that the these they this those to was were with"
)
_LEADS_IN = re.compile(
    r"(?:according to|based on) the (?:(?:given|provided|cited|knowledge) )?(?:evidence(?: lines?)?|lines?|context|facts|graph), ",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|never|neither|nor|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
_AT = re.compile(r"^\s*(?:on|since|until)\s+", re.IGNORECASE)
"""What may stand before a day."""
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
"""A day, or a month and a day."""
_ASKS_FOR = re.compile(rf"\b{QUESTION_WORDS}\b.*\?", re.IGNORECASE | re.DOTALL)
_ASKS_WHETHER = re.compile(rf"(?:^|[,:;.?!])\W*(?:(?:and|or|but|so|then)\W+)?{AUXILIARIES}\b", re.IGNORECASE)
_SIZES = "larg|small|great|long|short|young|old|bigg|deep|tall|wid|heavi|fast|rich|poor|cold|hott|warm"
_HIGHER = rf"(?:{_SIZES}|high|low)er"
_DEGREE = rf"{_HIGHER}|(?:{_SIZES})est|(?:high|low)est(?=\W*$)"
_COMPARES = re.compile(rf"\b(?:more|less|fewer|most|least|than|both|or|fewest|{_DEGREE})\b", re.IGNORECASE)
_MORE = rf"\b(?:more|less|fewer|{_HIGHER})\b"
_MOST = rf"\b(?:most|least|fewest|(?:{_SIZES}|high|low)est)\b"
_CHOOSES = re.compile(
    # "Which is the largest, A or B?"; "the largest lakes of A or B" leave nothing to choose.
    rf"^(?!.*\bthan\b).*(?:{_MORE}.*\bor\b|{_MOST}[^,:]*[,:][^,:]*\bor\b[^,:]*\?$|\bwhich of (?:the two|them)\b.*{_MORE})",
    re.IGNORECASE | re.DOTALL,
)
_SMALLER = re.compile(r"\b(?:less|fewer|least|fewest|(?:small|short|low|young|poor|cold)(?:er|est))\b", re.IGNORECASE)
_SHARED = re.compile(r"\b(?:both|in common)\b", re.IGNORECASE)
_WHICH_OF = re.compile(r"\bwhich(?: one)? of\b.*\band\b", re.IGNORECASE | re.DOTALL)
_COMPARES_VALUES = re.compile(rf"\b(?:{_DEGREE})\b", re.IGNORECASE)
_LIKE_A_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]+\b")
"""A word that is written like a name, after the first: "Lower Austria" compares nothing."""
ENOUGH = 0.6
"""Share of an answer's words that must stand in the evidence where the answer does not stand there as a whole; of each name
in it likewise.
"""


def beside_the_point(answer: str, question: str) -> bool:
    """Whether an answer is the question itself, or yes or no to an English one that asks for a thing ("In which country …?")."""
    if fold(answer) == fold(question):
        return True
    if fold(answer) not in YES_OR_NO:
        return False
    return _ASKS_FOR.search(question) is not None and _ASKS_WHETHER.search(question) is None


def compares(question: str) -> bool:
    """Whether an English question compares things, so that its answer stands on what is said about the others too."""
    return _COMPARES.search(_LIKE_A_NAME.sub("", question)) is not None


def asks_shared(question: str) -> bool:
    """Whether an English question asks for what several things share ("both A and B")."""
    return _SHARED.search(question) is not None


def may_name_answer(question: str) -> bool:
    """Whether the answer may be one of the things that an English question names: it compares, and not by "both" alone."""
    return compares(_SHARED.sub("", question)) or _WHICH_OF.search(question) is not None


def compared_by(question: str) -> str:
    """The word by which an English question compares values ("smallest", "older"); empty where it does not."""
    found = _COMPARES_VALUES.search(_LIKE_A_NAME.sub("", question))
    return found[0].casefold() if found else ""


def says_most(label: str) -> bool:
    """Whether a relation's label is a superlative itself ("highest point")."""
    return re.search(_MOST, label, re.IGNORECASE) is not None


def chooses(question: str) -> bool:
    """Whether an English question asks which one of the things that it tells is the larger, older … ("…, A or B?")."""
    return _CHOOSES.search(_LIKE_A_NAME.sub("", question)) is not None


def chooses_smaller(question: str) -> bool:
    """Whether the one that a question chooses (see `chooses`) is the one with the smaller value."""
    return _SMALLER.search(_LIKE_A_NAME.sub("", question)) is not None


def fold(text: str) -> str:
    """Text for comparison: compatibility form, no accents, no case, the digits 0 to 9, words separated by one space.

    Accents and strokes are what most writers leave out too; marks that are vowels, tones or other letters stay.
    """
    if not text.isascii():
        plain = _compatible(_ACCENTS.sub("", unicodedata.normalize("NFKD", INVISIBLE.sub("", text))))
        text = plain.casefold().translate(UNDECOMPOSED)
    # Most names are ASCII without their accents, for which this is faster.
    return " ".join(_ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(text))


def _compatible(text: str) -> str:
    """A text in compatibility form, with the digits 0 to 9 for those of other scripts."""
    text = unicodedata.normalize("NFKC", text).translate(_OTHER_SIGNS)
    return _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text)


def names_in(text: str) -> Iterator[str]:
    """The words with a capital that stand side by side, folded: what is written like names. The first word of a sentence may be none."""
    words = re.sub(r"['\u2019]s\b", "", text).split()
    for capital, group in itertools.groupby(words, lambda word: word.lstrip("\"'([\u201c\u201e\u00ab")[:1].isupper()):
        if capital and (name := fold(" ".join(group))):
            yield name


def naming(texts: Iterable[str], names: Collection[str]) -> list[str]:
    """Those of the texts in which one of the names, which are folded, stands as a whole."""
    shown = [(text, fold(text)) for text in texts]
    return [text for text, folded in shown if any(stands_in(name, folded) for name in names)]


def numbers(text: str) -> set[str]:
    """The numbers in a text, each in one form, those up to twelve in English words too."""
    found = {_in_one_form(number) for number in _NUMBER.finditer(_compatible(text))}
    return {IN_WORDS[word] for word in _IN_WORDS.findall(text)} | found


def _in_one_form(number: re.Match[str]) -> str:
    """Without groups and powers, with a decimal point, and without decimals that are all zero: tables write whole numbers as "3475.0"."""
    digits = number[0]
    if number["power"]:
        digits = f"{Decimal(digits.replace(',', '.')):f}"
    elif number["sign"]:
        digits = digits.replace(number["sign"], "")
    elif re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits):
        digits = re.sub(r"\D", "", digits)
    return re.sub(r"\.0+$", "", digits.replace(",", "."))


def value_of(text: str) -> float | None:
    """The only number in a text; None where there is none, where there are several, and where it may be read in two ways ("3.125")."""
    told = numbers(text)
    if len(told) != 1 or _POINT_OR_GROUP.search(text):
        return None
    value = float(told.pop())
    return -value if _BELOW_ZERO.match(text.strip()) else value


def rounds(answer: str, text: str) -> bool:
    """Whether a number in a text is the only one of an answer, where one of them is given in millions or the like: 53771296 is told by
    "53.8 million", not by "50 million", and "53.8 million" by 53800000 alone.
    """
    given = list(_amounts(answer))
    if len(given) != 1:
        return False
    value, step = given[0]
    # "2 million" is not said of 1.6 million.
    most = min(step, value / 10) / 2
    return any(abs(value - other) <= most for other, wide in _amounts(text) if step or wide)


def _is_measured(answer: re.Match[str], line: str) -> bool:
    """Whether a line has the number of an answer with a unit ("386 km"), in that unit or, as a value alone, in none."""
    unit, text = _unit_of(answer["unit"]), _compatible(line)
    # A unit that does not stand behind the number may stand in the relation: "length km".
    fits_alone = unit in (set(map(_unit_of, _NAMED_UNIT.findall(text))) or {unit})
    same = [one for one in _IN_UNITS.finditer(text) if numbers(one["number"]) == numbers(answer["number"])]
    return any(
        _unit_of(one["unit"]) == unit if one["unit"] else fits_alone and not _LETTER.match(text, one.end())
        for one in same
    )


def _unit_of(words: str) -> str:
    """One form of a unit: "km2" of "square kilometres"."""
    *before, word = re.split(r"[\s_]+", words.casefold())
    power = "3" if "cubic" in before else "2" if before else word[-1:] if word[-1:] in "23" else ""
    return UNITS[word.rstrip("23")] + power


def _amounts(text: str) -> Iterator[tuple[float, float]]:
    """The numbers in a text with the step that each is rounded to: 100000 of "53.8 million", 0 of one that is written out."""
    text = _compatible(text)
    for digits, magnitude in _IN_MAGNITUDES.findall(text):
        whole, _, part = re.sub(r",(?=\d{3}$)", "", digits).replace(",", ".").partition(".")
        step = 10.0 ** (_MAGNITUDES[magnitude.casefold()] - len(part))
        yield float(whole + part) * step, step
    yield from ((float(number), 0.0) for number in numbers(_IN_MAGNITUDES.sub(" ", text)))


def counts(lines: Sequence[str]) -> set[int]:
    """How many ends the path and community lines list, and how many answers answered questions have: each list alone, and
    what several lines list together.
    """
    items = [parse_item(0, line) for line in lines]
    found: set[int] = set()
    together: dict[tuple[object, ...], set[str]] = {}
    lists: list[ShownList] = []
    for item in items:
        if item.answers:
            found.add(len(item.answers))
            together.setdefault((), set()).update(item.answers)
        for listed in item.lists if item.hops else ():
            lists.append(listed)
            found.add(len(listed.ends) + listed.more)
            if item.community and listed.more:
                continue
            # A community's lists are of several relations, which nobody would count together.
            sort = (listed.relation, listed.outgoing) if item.community else ()
            together.setdefault(sort, set()).update(listed.ends)
    found |= {many for listed in turned_around(lists) if (many := len(listed.ends)) > 1}
    return found | {len(ends) for ends in together.values()}


def turned_around(lists: Iterable[ShownList]) -> list[ShownList]:
    """What lists lead from to each of their ends, as the list that the end has backwards: two films "directed by" one woman are hers,
    though each has a line of its own.
    """
    found: dict[tuple[str, str, bool], dict[str, None]] = {}
    for listed in lists:
        for end in listed.ends:
            found.setdefault((end, listed.relation, not listed.outgoing), {})[listed.source] = None
    return [
        ShownList(source=end, relation=relation, outgoing=outgoing, ends=tuple(ends), more=0)
        for (end, relation, outgoing), ends in found.items()
    ]


def stands_in(wanted: str, shown: str) -> bool:
    """Whether words stand side by side in a text, both folded; of a script without spaces, and of Korean, whether the characters do."""
    if f" {wanted} " in f" {shown} ":
        return True
    return bool(PAIRED.search(wanted)) and wanted.replace(" ", "") in shown.replace(" ", "")


def holds(answer: str, lines: Iterable[str]) -> bool:
    """Whether the lines hold the answer: as a whole, or most of its content words.

    Yes, no and the labels of fact verification are conclusions and stand on their citation alone. A small number may also be
    the count of what a path line lists.
    """
    return all_hold([answer], list(lines))


def _holds(answer: str, lines: Sequence[str], shown: str) -> bool:  # noqa: PLR0911 - one for each form of answer
    """As `holds`; `shown` is the lines folded."""
    wanted = fold(answer)
    if not wanted or wanted in DERIVED:
        return bool(wanted)
    if below := _BELOW_ZERO.match(bare := _bare(answer)):
        found = ((line, _BELOW_ZERO.finditer(_compatible(line))) for line in lines)
        lines = [line for line, those in found if any(numbers(one[0]) == numbers(below[0]) for one in those)]
        if not lines or below[0] == bare:
            return bool(lines)
        bare = bare[1:]
    if re.fullmatch(r"\d{1,4}", wanted) and int(wanted) in counts(lines):
        return True
    # How many a list leaves out is no statement of the graph.
    lines = [_LEFT_OUT.sub("", line) for line in lines]
    if _NUMBER.fullmatch(bare):
        return any(numbers(answer) & numbers(line) or rounds(answer, line) for line in lines)
    if stands_in(wanted, shown):
        return True
    if (measured := _IN_UNITS.fullmatch(bare)) and measured["unit"]:
        return any(_is_measured(measured, line) for line in lines)
    if is_day(plain := _AT.sub("", bare)) or _SLASHED.fullmatch(plain):
        # Its parts may stand in two other days.
        return any(is_day_in(answer, line) for line in lines)
    return _words_held(answer, lines, set(shown.split()))


def _words_held(answer: str, lines: Sequence[str], have: set[str]) -> bool:
    """Whether most content words of an answer, and of each name in it, are among the words of lines; a number is one word."""
    if _DENIES.search(answer) and not any(map(_DENIES.search, lines)):
        return False
    plain = _ungrouped(_LEADS_IN.sub("", answer, count=1))
    words = [word for word in fold(plain).split() if word not in _SMALL]
    if _NUMBER.search(answer):
        have |= {part for line in lines for number in numbers(line) for part in number.split(".")}
    if (rounded := _IN_MAGNITUDES.search(_compatible(answer))) and any(rounds(answer, line) for line in lines):
        have |= set(fold(_ungrouped(rounded[0])).split())
    return bool(words) and sum(word in have for word in words) / len(words) >= ENOUGH and _names_held(plain, have)


def _bare(answer: str) -> str:
    """An answer in compatibility form; one that is a number in few words without them, a currency's sign as a unit behind it."""
    text = _compatible(answer).strip()
    found = _IN_FEW_WORDS.fullmatch(text)
    if not found or not _IN_UNITS.fullmatch(found["number"].lstrip("-\u2212")):
        return text
    return found["number"] + (" usd" if found["usd"] else " eur" if found["eur"] else "")


def _ungrouped(text: str) -> str:
    """A text with its numbers without groups, so that each is one word."""
    return _NUMBER.sub(lambda number: _in_one_form(number) if number["sign"] else number[0], text)


def is_day_in(answer: str, text: str) -> bool:
    """Whether an answer is nothing but a day that a text names, in whatever form: "1 April 1976" and 1976-04-01.

    "4/1/1976" may be that day and the fourth of January.
    """
    answer = _AT.sub("", answer)
    if slashed := _SLASHED.fullmatch(answer.strip(" .")):
        return any(is_day_in(slashed.expand(form), text) for form in (r"\1.\2.\3", r"\2.\1.\3"))
    return is_day(answer) and days_in(answer) <= days_in(text)


def _names_held(answer: str, have: set[str]) -> bool:
    """Whether most words of each name and number in an answer stand in the evidence: "The capital of Gabon is Rome" does not
    because it speaks of the capital of Gabon.
    """
    runs: list[list[tuple[int, str]]] = [[]]
    end = 0
    text = unicodedata.normalize("NFC", answer)
    for place, found in enumerate(_WORD.finditer(text)):
        word = found[0]
        if word.casefold() in _SMALL or _BETWEEN_NAMES.search(text, end, found.start()):
            runs.append([])
        end = found.end()
        if word.casefold() not in _SMALL and (word[0].isupper() or word[0].isdigit()):
            runs[-1].append((place, word))
    for run in runs:
        names = [set(fold(word).split()) <= have for _, word in run]
        # The first word of a sentence is written large without being a name.
        rest = names[1:] if run and not run[0][0] else []
        if names and not any(part and sum(part) / len(part) >= ENOUGH for part in (names, rest)):
            return False
    return True


def all_hold(answers: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether every answer is held. Raises nothing; no answers means False."""
    shown = fold(" ".join(lines))
    return bool(answers) and all(_holds(answer, lines, shown) for answer in answers)


def needed(answers: Sequence[str], cited: Sequence[int], lines: Sequence[str], question: str = "") -> list[int]:
    """Of the cited lines (numbers from 1) those in which an answer stands, and those that lead there; all where none alone holds one.

    A line leads to another if it names the thing that the other one starts from. Where the question compares, the lines that say
    the same of other things are needed too.
    """
    shown = {number: f" {fold(lines[number - 1])} " for number in cited}
    folded = {answer: fold(answer) for answer in answers}
    kept: set[int] = set()
    for number in cited:
        # Answers that stand there word for word are tried first: one is enough, and the others cost more.
        likely = sorted(folded, key=lambda answer: folded[answer] not in shown[number])
        if any(_holds(answer, [lines[number - 1]], shown[number]) for answer in likely):
            kept.add(number)
    if kept.issuperset(cited) or not all_hold(answers, [lines[number - 1] for number in sorted(kept)]):
        return list(cited)
    items = {number: parse_item(number, lines[number - 1]) for number in cited}
    if compares(question):
        said = {one for number in kept for one in _said(items[number])}
        kept |= {number for number in cited if not said.isdisjoint(_said(items[number]))}
    asked = f" {fold(question)} "
    heads = {number: fold(_head(item)) for number, item in items.items()}
    new = set(kept)
    while new:
        wanted = {heads[number] for number in new if heads[number] and f" {heads[number]} " not in asked}
        new = set()
        for head in wanted:
            leads = [n for n in cited if n not in kept and heads[n] != head and f" {head} " in shown[n]]
            named = [n for n in leads if heads[n] and f" {heads[n]} " in asked]
            new.update(named or leads)
        kept |= new
    return [number for number in cited if number in kept]


def _head(item: Item) -> str:
    """What a line starts from: a path's or community's first thing, a passage's title."""
    return item.hops[0][0].source if item.hops and item.hops[0] else item.title


def _said(item: Item) -> set[tuple[str, bool]]:
    """What a path line says of its last thing but one: the relation and its direction. Of a community: all that have numbers."""
    if item.community:
        return {(hop.relation, hop.outgoing) for hop in item.triples if numbers(hop.target) and hop.outgoing}
    return {(hop.relation, hop.outgoing) for hop in item.triples[-1:]}
