"""Words that the reading of names and pages goes by."""

from __future__ import annotations

from thinkgraph.tools.linking.lexical import STOP_WORDS


def listed(words: str, sign: str | None = None) -> frozenset[str]:
    """A set of words, written one after the other."""
    return frozenset(words.split(sign))


CONNECTORS = listed(
    "of de del della di da do dos das du des der den van von la le les el al bin ibn zu zur for y auf the d l"
)
"""Small words inside names."""

HYPHENED = listed(
    "based born like style speaking era wide led owned backed area bound made related free class trained educated registered "
    "listed raised language type shaped size level only oriented minded friendly built run held style inspired themed time"
)
"""Words that a hyphen ties to a name without making them part of it."""

DATES = listed(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec century bc bce ad ce am pm"
)
"""Words with a capital that make a date."""

PARTS = listed(
    "chapter section figure fig table page appendix step part equation note exhibit annex article volume item question "
    "exercise"
)
"""Words that a number after them makes a place in the document, not a name."""

OPENERS = STOP_WORDS | listed(
    "although however despite since though unlike like among amongst upon within without along throughout during following "
    "according meanwhile moreover furthermore nevertheless therefore thus hence instead finally eventually originally "
    "initially subsequently currently today later early earlier recently several many some few every another such once "
    "first second third one two three four five six seven eight nine ten nothing something everything nobody everybody anyone "
    "everyone someone never always often sometimes perhaps maybe still yet even now here there yes no not whether either "
    "neither including based located founded named known called born also see"
)
"""Words that begin sentences and no names."""

ABBREVIATIONS = listed(
    "mr mrs ms dr st prof sr jr rev hon gen col capt lt sgt sen rep gov pres inc ltd co corp no nos vol vs etc eg ie al ca "
    "approx dept est fig mt ft ph vgl bzw nr bd str mme mlle sra dra"
)
"""Words after which a point ends no sentence."""

PERSON_TITLES = listed(
    "president king queen prince princess emperor empress sir lord lady dr doctor prof professor general colonel captain "
    "major lieutenant sergeant admiral senator governor minister chancellor mayor judge justice pope bishop archbishop "
    "cardinal mr mrs ms miss rev reverend herr frau monsieur madame"
)
"""Words before a person's name."""

LEGAL_FORMS = listed("inc incorporated corp corporation ltd llc plc gmbh ag sa co kg bv nv oy ab")
"""Words after a company's name."""

GENERIC = listed(
    "introduction,abstract,summary,overview,contents,table of contents,conclusion,conclusions,references,bibliography,notes,"
    "see also,external links,further reading,background,discussion,results,methods,appendix,faq,readme,index,untitled,"
    "document,home,changelog,license,getting started,installation,usage,examples,acknowledgements",
    ",",
)
"""Titles and headings that name no thing."""
