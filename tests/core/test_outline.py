"""A page as lines: what a reference stands for, whose words are the page's, and what passwords leave behind."""

import pytest

from core.tools.outline import HIDDEN, covered, elements, piece, same

PAGE = """- generic [active] [ref=e1]:
  - 'link "a: b ''c'' \\"d\\"" [ref=e2] [cursor=pointer]':
    - /url: /two
  - textbox "Word" [ref=e6]: "x: \\"y"
  - 'textbox "it''s: one" [ref=f1e7] [active]': plain
  - textbox [ref=e8]: "12345"
  - text: "12345"
  - button "Send" [disabled] [ref=e9]"""


def test_references_are_read_with_their_words() -> None:
    assert elements(PAGE) == {
        "e1": "generic",
        "e2": 'link "a: b \'c\' \\"d\\""',
        "e6": 'textbox "Word"',
        "f1e7": 'textbox "it\'s: one"',
        "e8": "textbox",
        "e9": 'button "Send"',
    }


@pytest.mark.parametrize(
    ("said", "label", "holds"),
    [
        ('button "Send"', 'button "Send"', True),
        ("send", 'button "Send"', True),
        ("Button  send", 'button "Send"', True),
        ("textbox", "textbox", True),
        ("Cancel", 'button "Send"', False),
        ("button", 'button "Send"', False),
        ("Sen", 'button "Send"', False),
        ("", "textbox", False),
        ("!", "textbox", False),
        ("+", 'button "+"', True),
        ('button "+"', 'button "-"', False),
        ('say "hi"', 'button "Say \\"hi\\""', True),
        (
            "Pay now with the card that ends with 1234",
            'button "Pay now with the card that ends with 1234 and more"',
            True,
        ),
        ("Pay", 'button "Pay now with the card that ends with 1234 and more"', False),
    ],
)
def test_words_for_an_element_are_all_of_its_words(said: str, label: str, holds: bool) -> None:
    assert same(said, label) is holds


def test_passwords_are_left_out_and_nothing_else() -> None:
    text = covered(PAGE, ['x:  "y', "plain", "12345", "", " "])
    assert f'textbox "Word" [ref=e6]: {HIDDEN}' in text
    assert f"[ref=f1e7] [active]': {HIDDEN}" in text
    assert f"textbox [ref=e8]: {HIDDEN}" in text
    assert '- text: "12345"' in text
    assert covered(PAGE, []) == PAGE


def test_a_long_text_says_how_to_go_on() -> None:
    assert piece("abcdef", 2, 2, "tool") == "cd\n[cut: 6 characters in all; go on: tool with from_char=4]"
    assert piece("abcdef", 4, 2, "tool") == "ef"
    assert piece("", 0, 5, "tool") == "[nothing]"
