"""The forms of many names at once are those of each name by itself."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from thinkgraph.ingest.writers.bulk_names import folded_names, key_labels, normal_names, spoken_names
from thinkgraph.ingest.writers.literals import _BEGINNING
from thinkgraph.tools.linking.names import folded, key_label, normal_name, words
from thinkgraph.tools.values import value_kind

# Characters that compose, fold, decompose, reorder, count as white space or as parts of words.
odd = st.sampled_from("aB_ \t\n\r\x0b\x1c\x1f\x85\u00a0\u2028\u3000éE\u0301\u0345\u0308\u03a3\u03c2ßİ\u0131ﬁ½Å東か\u3099\u1100\u1161\u11a8한नि\u093f\u0bcdأ\u0654٣٪-'&.!\u200b\ufeff²Ⅷ")  # fmt: skip
name = st.one_of(st.text(odd, max_size=8), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))


@settings(max_examples=400)
@given(names=st.lists(name, max_size=6))
@example(names=["", ""])
@example(names=["_", "__a", "a_"])
@example(names=["a", "\u0301b", "\u093f"])
def test_many_are_as_each(names):
    labels = key_labels(names)
    assert labels == [key_label(one) for one in names]
    norms = normal_names(names)
    assert norms == [normal_name(one) for one in names]
    bare = folded_names(norms)
    assert bare == [folded(one) for one in names]
    assert [one.split() for one in spoken_names(bare)] == [words(one) for one in names]


# The long s is an s to a pattern that ignores case; there are digits and a minus beyond ASCII.
values = ["ye\u017f", "Augu\u017ft 5", "\u0663\u0664", "TRUE", "\u22125", " 5"]
shapes = st.from_regex(r"[-+$€]?[A-Z]{0,3}\s?\d{1,4}[- /.][\w%]{0,8}( BC)?")


@settings(max_examples=400)
@given(text=st.one_of(st.text(max_size=12), shapes, st.sampled_from(values)))
def test_no_value_begins_otherwise(text):
    assert value_kind(text) is None or _BEGINNING.match(text)
