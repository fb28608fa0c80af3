"""What is asked for, and the only answers to it."""

from __future__ import annotations

import pytest

from thinkgraph.prompts.tasks import asks_yes_or_no, recall_words, task_labels, task_words


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Do Lebanon and Israel share a land border?", True),
        ("Is Vienna the capital of Austria?", True),
        ("did the Osk ever freeze ?", True),
        ("Is the Osk or the Varn longer?", False),
        ("Is there a river in Arden?", False),
        ("Can you name the capital of Austria?", False),
        ("Does anybody know the capital of Austria?", False),
        ("Did he write it, and when?", False),
        ("Will Varn wrote which book?", False),
        ("Which country borders Austria?", False),
        ("Ist Wien die Hauptstadt?", False),
        ("Is Vienna the capital of Austria", False),
        ("Was Łódź founded before Kraków?", True),
        ("Was Das Boot written by a German?", True),
        ("Was war declared on Arden?", True),
        ("Was gold mined in Arden?", True),
        ("Is Vienna the capital of Austria？", True),
        ('"Is Vienna the capital of Austria?"', True),
        ("Is café culture older than Arden?", True),
        ("Was the café in Arden founded by Osk?", True),
        ("", False),
    ],
)
def test_a_question_for_yes_or_no_is_told(question: str, *, asks: bool) -> None:
    assert asks_yes_or_no(question) is asks
    assert (task_labels("question", question) == ("yes", "no")) is asks
    assert ("asks for yes or no" in task_words("question", question)) is asks
    assert ("asks for yes or no" in recall_words("question", question)) is asks
    # A claim has a verdict, however it is put.
    assert task_labels("truth", question) == ("true", "false")
    assert "yes or no" not in task_words("fact", question) + recall_words("truth", question)


@pytest.mark.parametrize(
    "question",
    [
        "Was ist die Hauptstadt von Norwegen?",
        "Was war der Beruf von Ibsen?",
        "Was exportiert Norwegen?",
        "Was fließt durch Wien?",
        "Was grenzt an Wien?",
        "Was liegt in Wien?",
        "Am Ufer welches Flusses liegt Wien?",
        "Do jakiego państwa należy Wien?",
        "Do kterého moře se vlévá Osk?",
        "Do que é feito o Osk?",
    ],
)
def test_a_word_of_another_language_that_looks_like_is_or_do_asks_for_no_yes_or_no(question: str) -> None:
    """German "was" is "what": a model that may only answer yes or no cannot name the capital."""
    assert not asks_yes_or_no(question)
    assert task_labels("question", question) == ()
