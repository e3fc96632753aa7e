"""Reading a dump: whole or not at all."""

import pytest

from bridge.sameness import plain
from bridge.screen import Unreadable, decode, parse, same_text

DUMPED = "UI hierchary dumped to: /dev/tty"


def node(id: str = "", text: str = "", bounds: str = "[0,0][10,10]", inside: str = "", **more: str) -> str:
    attributes = {
        "text": text,
        "resource-id": id,
        "class": "android.view.View",
        "package": "com.whatsapp",
        "content-desc": "",
        "bounds": bounds,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"<node {written}>{inside}</node>"


def screen(*nodes: str, rotation: str = "0") -> str:
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="{rotation}">{"".join(nodes)}</hierarchy>'


def test_the_line_glued_behind_the_tree_and_warnings_before_it_are_cut():
    tree = parse("WARNING: linker\n" + screen(node("com.whatsapp:id/fab"), rotation="1") + DUMPED)
    assert tree.find("fab") is tree.find("com.whatsapp:id/fab")
    assert tree.package == "com.whatsapp"
    assert tree.rotation == 1
    assert not tree.degraded


def test_a_node_knows_what_it_is_and_where_it_hangs():
    row = node(
        "com.whatsapp:id/row",
        bounds="[0,492][1080,720]",
        clickable="true",
        long_clickable="true",
        enabled="false",
        inside=node("com.whatsapp:id/name", "Ana", "[216,545][358,604]") + node("android:id/list"),
    )
    tree = parse(screen(row))
    found = tree.find("row")
    assert found
    assert (found.clickable, found.long_clickable, found.enabled, found.scrollable) == (
        True,
        True,
        False,
        False,
    )
    assert found.center == (540, 606)
    assert [child.id for child in found.children] == ["name", "list"]
    name = found.find("name")
    assert name
    assert (name.parent, name.text) == (found, "Ana")
    assert (name.inside("row"), name.inside("name")) == (True, False)
    assert (found.contains(0, 492), found.contains(1080, 492)) == (True, False)
    assert (len(tree.all("android:id/list")), len(tree.all("com.whatsapp:id/list"))) == (1, 0)
    assert (tree.has("row", "name"), tree.has("row", "entry")) == (True, False)
    assert tree.ids == ["row", "name", "list"]
    assert [node.id for node in found.descend()] == ["row", "name", "list"]
    assert tree.size == (1080, 720)


def test_nodes_are_walked_in_the_screens_order():
    tree = parse(screen(node("a", inside=node("b", inside=node("c")) + node("d")), node("b")))
    assert [node.full_id for node in tree.nodes] == ["a", "b", "c", "d", "b"]
    assert [node.full_id for node in tree.all("b")] == ["b", "b"]


def test_pages_beside_the_screen_go_and_what_a_folded_holder_shows_stays():
    beside = node(
        "page", bounds="[2880,1028][1440,1332]", inside=node("row", bounds="[2880,1028][1440,1332]")
    )
    folded = node("holder", bounds="[0,656][1440,656]", inside=node("chip", bounds="[0,656][100,700]"))
    tree = parse(screen(node("list", inside=beside + folded)))
    assert tree.ids == ["list", "chip"]
    chip = tree.find("chip")
    assert chip
    assert chip.parent is tree.find("list")


@pytest.mark.parametrize(
    "dump",
    [
        "",
        DUMPED,
        "Killed",
        "ERROR: null root node returned by UiTestAutomationBridge.",
        screen(node())[:-5],
        '<hierarchy rotation="0"/>',
        "</hierarchy><hierarchy>",
        screen(),
        screen(node(bounds="[5,5][5,9]")),
        screen(node()).replace("</node>", ""),
        screen("<node bounds='[0,0][1,1]' text='&bomb;'/>"),
    ],
)
def test_what_is_not_a_whole_tree_is_unreadable_and_never_empty(dump):
    with pytest.raises(Unreadable):
        parse(dump)


def test_no_entity_can_be_declared():
    bomb = '<!DOCTYPE x [<!ENTITY bomb "boom">]>'
    with pytest.raises(Unreadable):
        parse(bomb + screen(node(text="&bomb;")))


@pytest.mark.parametrize(
    ("written", "read", "degraded"),
    [
        ("a&#10;b &#128512; &#8239;pm", "a\nb 😀 \u202fpm", False),
        ("&#55357;&#56832;", "😀", False),
        ("&#xD83D;&#xDE00;!", "😀!", False),
        ("x&#55357;y", "x\ufffdy", True),
        ("x&#11;y", "x\ufffdy", True),
        ("x&#1114112;y", "x\ufffdy", True),
        ("x\x0by", "x\ufffdy", True),
        ("x\ud83dy", "x\ufffdy", True),
        ("&amp;#11;", "&#11;", False),
    ],
)
def test_characters_that_break_parsers_cost_only_themselves(written, read, degraded):
    tree = parse(screen(node("t", written)))
    assert tree.nodes[0].text == read
    assert tree.degraded is degraded


def test_surrogates_written_as_bytes_are_joined():
    assert decode("ñ😀".encode()) == "ñ😀"
    assert decode(b"\xed\xa0\xbd\xed\xb8\x80!") == "😀!"
    assert decode(b"a\xed\xa0\xbdb") == "a\ufffdb"
    assert decode(b"a\xffb") == "a\ufffdb"


def test_equal_screens_have_equal_signatures():
    assert parse(screen(node("a", "x"))).signature == parse(screen(node("a", "x"))).signature
    assert parse(screen(node("a", "x"))).signature != parse(screen(node("a", "y"))).signature


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Ana", " Ana "),
        ("8:15 p. m.", "8:15\u202fp.\u00a0m."),
        ("Ana ❤️", "Ana ❤"),
        ("Ana 😀", "Ana .."),
        ("Ana 😀", "Ana ."),
        ("😀😀 hola", ".... hola"),
        ("Familia 👨‍👩‍👧", "Familia ......"),
        ("Ana 😀", "Ana \ufffd\ufffd"),
        ("\u2068Ana\u2069", "Ana"),
        ("n\u0303", "ñ"),
    ],
)
def test_the_same_text_shown_by_another_phone(a, b):
    assert same_text(a, b)
    assert same_text(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Ana", "ana"),
        ("son 1.5", "son 15"),
        ("Ana.", "Ana"),
        ("Ana 😀", "Ana 😎"),
        ("Ana 😀", "Ana"),
        ("Ana 😀", "Eva .."),
        ("", "."),
    ],
)
def test_other_texts_stay_other_texts(a, b):
    assert not same_text(a, b)
    assert not same_text(b, a)


def test_line_breaks_count_as_spaces():
    assert plain("a\n b\u2003c") == "a b c"
