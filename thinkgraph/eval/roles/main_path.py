"""The roles that are measured by default, and from where on one holds. Read by the command's help: it imports nothing."""

from __future__ import annotations

MAIN_PATH = (
    "tog2.topic_prune",
    "tog2.relation_prune",
    "tog2.reason",
    "fasttog.extract_subjects",
    "fasttog.header_choice",
    "fasttog.community_prune",
    "fasttog.reason",
    "fiske.extract_clues",
    "fiske.r_mapping",
    "fiske.e_mapping",
    "fiske.conclude",
    "coggrag.decompose",
    "coggrag.extract_keys_joint",
    "coggrag.reason",
    "coggrag.verify",
    "kg_rag.reason",
)
"""The roles that the four methods call with their default settings, and kg_rag's; of `tog2.steer` the two that it joins."""

READABLE, RECALL, JUDGING = 0.99, 0.9, 0.85
"""From where on a role holds: replies read at once; recall of choices and of what is generated; the mean of `can` and `must`."""
HOLDS = (
    f"A role holds where at least {READABLE:.0%} of the replies are readable at once and recall is at least {RECALL}, for a judging "
    f"role the mean of its shares `can` (right where the evidence suffices) and `must` (abstains where not), both measured, at least {JUDGING}."
)
