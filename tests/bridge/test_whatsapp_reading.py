"""Reading WhatsApp's screens: the list, the chats, and how pages become one conversation."""

import json
from pathlib import Path

import pytest

from bridge.whatsapp.bubbles import Bubble, Quote, bubbles, unread_count
from bridge.whatsapp.profile import Profile, load_profile
from bridge.whatsapp.rows import archive_header, join_rows, rows
from bridge.whatsapp.screens import Screen, composer, header, screen_of
from bridge.whatsapp.stitch import join, overlap, stitch
from bridge.wording import clock, digits, international, same_message, same_title, seconds
from core.errors import Invalid
from tests.bridge.drawn import APP, badge, bubble, chat, chat_list, deleted, divider, el, list_row, tree

PROFILE = load_profile()


def screen(shown: object) -> Screen:
    return screen_of(shown, PROFILE, APP)  # type: ignore[arg-type]


# the profile


def test_a_damaged_profile_is_refused_with_the_place(tmp_path: Path) -> None:
    good = json.loads((Path("bridge/profiles/whatsapp.json")).read_text())
    bad = tmp_path / "p.json"
    bad.write_text("{")
    with pytest.raises(Invalid, match="not JSON"):
        load_profile(bad)
    bad.write_text(json.dumps(good | {"elements": {"list": ["android:id/list"]}}))
    with pytest.raises(Invalid, match="no ids for row"):
        load_profile(bad)
    bad.write_text(json.dumps(good | {"words": {"unread": {"en": "("}}}))
    with pytest.raises(Invalid, match=r"words\.unread\.en"):
        load_profile(bad)
    with pytest.raises(Invalid, match="cannot be read"):
        load_profile(tmp_path / "none.json")


def test_a_renamed_id_is_a_change_of_data(tmp_path: Path) -> None:
    data = json.loads((Path("bridge/profiles/whatsapp.json")).read_text())
    data["elements"]["row_title"].insert(0, {"id": "row_headline", "from": "2.27"})
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data))
    profile = load_profile(path)
    renamed = list_row("Ana")
    renamed.inner[1].inner[0].inner[0].inner[0].id = "row_headline"
    shown = chat_list(renamed)
    assert [row.title for row in rows(shown, profile)] == ["Ana"]
    assert rows(shown, profile.for_version("2.26.38")) == []
    assert [row.title for row in rows(shown, profile.for_version("2.27.1"))] == ["Ana"]


def test_the_profile_knows_for_which_versions_it_was_made() -> None:
    assert PROFILE.knows("2.26.36.74")
    assert PROFILE.knows("")
    assert not PROFILE.knows("2.31.1")


# which screen


def test_screens_are_told_by_markers() -> None:
    assert screen(chat_list(list_row("Ana"))) is Screen.LIST
    assert screen(chat_list(list_row("Ana"), fab=False)) is Screen.LIST
    assert screen(chat_list(list_row("Ana"), nav=False)) is Screen.LIST
    assert screen(chat_list()) is Screen.LIST
    assert screen(chat_list(list_row("Ana"), fab=False, nav=False)) is Screen.ARCHIVED
    assert screen(chat_list(list_row("Ana"), selected=2)) is Screen.TAB
    assert screen(chat()) is Screen.CHAT
    assert screen(chat(read_only=True)) is Screen.CHAT_READ_ONLY
    assert screen(chat(entry=None)) is Screen.CHAT_READ_ONLY
    assert (
        screen(tree(el("root", (0, 0, 1080, 2400), el("search_src_text", (0, 0, 900, 100))))) is Screen.SEARCH
    )
    assert screen(tree(el("media_view_fragment_container"))) is Screen.VIEWER
    assert (
        screen(chat_list(list_row("Ana"), more=(el("action_mode_close_button", (0, 120, 90, 200)),)))
        is Screen.SELECTION
    )
    assert (
        screen(tree(el("", (0, 0, 1080, 2400), el("android:id/button1", (1, 1, 9, 9), text="OK"))))
        is Screen.DIALOG
    )
    assert screen(tree(el("", (0, 0, 1080, 2400), el("primary_button", (1, 1, 9, 9))))) is Screen.SHEET
    assert screen(tree(el("", (0, 0, 1080, 2400), el("", (0, 0, 9, 9))))) is Screen.UNKNOWN


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Esta versión de WhatsApp está vencida", "update_required"),
        ("This version of WhatsApp expired on 1 May", "update_required"),
        ("Ingresa tu PIN de verificación en dos pasos", "pin_prompt"),
        ("WhatsApp is locked", "app_lock"),
        ("Protege tus chats con una copia de seguridad", "backup_offer"),
    ],
)
def test_where_no_id_is_known_words_decide_but_never_those_of_a_message(words: str, name: str) -> None:
    assert screen(tree(el("", (0, 0, 1080, 2400), el("", (0, 0, 900, 90), text=words)))) == name
    assert screen(chat(bubble(words))) is Screen.CHAT
    assert screen(chat_list(list_row("Ana", preview=words))) is Screen.LIST


def test_another_apps_window_covers_it() -> None:
    shown = tree(el("x"), package="com.google.android.permissioncontroller")
    assert screen(shown) is Screen.COVERED


def test_the_header_says_who_and_the_number_when_the_title_is_one() -> None:
    shown = header(chat(title="\u2068+54 9 11 5555-0101\u2069"), PROFILE)
    assert shown is not None
    assert (shown.title, shown.number) == ("+54 9 11 5555-0101", "5491155550101")
    named = header(chat(title="Ana 😀", status="en línea"), PROFILE)
    assert named is not None
    assert (named.title, named.status, named.number) == ("Ana 😀", "en línea", "")
    assert header(chat_list(), PROFILE) is None


def test_a_placeholder_is_an_empty_composer_but_the_same_word_typed_is_not() -> None:
    assert composer(chat(entry="Mensaje"), PROFILE) == ""
    assert composer(chat(entry="Nachricht"), PROFILE) == ""
    assert (
        composer(chat(entry="メッセージ"), PROFILE) == ""
    )  # a language we do not know, with the microphone beside it
    assert composer(chat(entry="Mensaje", send=True), PROFILE) == "Mensaje"
    assert composer(chat(entry="borrador de él", send=True), PROFILE) == "borrador de él"
    assert composer(chat(read_only=True), PROFILE) is None


# the list


def test_a_row_says_who_when_what_and_whether_it_is_unread() -> None:
    shown = chat_list(
        list_row("Ana", badge=badge("3"), pinned=True),
        list_row("Club", top=720, preview="Luis: 42", badge=badge("", "12 mensajes no leídos")),
        list_row("Bea", top=948, preview="42", badge=badge("", "")),
        list_row("+34 600 111 222", top=1176, preview="5"),
    )
    found = rows(shown, PROFILE)
    assert [(r.title, r.unread, r.marked, r.pinned) for r in found] == [
        ("Ana", 3, False, True),
        ("Club", 12, False, False),
        ("Bea", None, True, False),
        ("+34 600 111 222", 0, False, False),
    ]
    assert [r.is_unread for r in found] == [True, True, True, False]
    assert found[3].kind == "person"


@pytest.mark.parametrize(
    ("text", "desc", "unread"),
    [
        ("7", "", 7),
        ("99+", "", 99),
        ("1.204", "", 1204),
        ("", "11 ungelesene Nachrichten", 11),
        ("", "1 ungelesene Nachricht", 1),
        ("", "5 unread messages", 5),
        ("", "2 messages non lus", 2),
        ("", "Marcado como no leído", None),
        ("٣", "", 3),
    ],
)
def test_badges_are_read_from_text_or_description(text: str, desc: str, unread: int | None) -> None:
    assert rows(chat_list(list_row("Ana", badge=badge(text, desc))), PROFILE)[0].unread == unread


def test_a_row_without_a_badge_may_say_it_in_its_description() -> None:
    shown = chat_list(
        list_row("Ana", desc="Ana, hola, 5 ungelesene Nachrichten, 12:00"), list_row("Bea", top=720)
    )
    assert [row.unread for row in rows(shown, PROFILE)] == [5, 0]


def test_community_rows_are_marked_and_clipped_rows_too() -> None:
    shown = chat_list(list_row("Vecinos", community=True), list_row("Ana", top=1900))
    assert [(row.kind, row.clipped) for row in rows(shown, PROFILE)] == [
        ("community", False),
        ("unknown", True),
    ]


def test_pages_beside_the_screen_are_no_rows() -> None:
    beside = list_row("Otra página")

    def move(e: object) -> None:
        e.box = (2880, e.box[1], 1080, e.box[3])  # type: ignore[attr-defined]
        for child in e.inner:  # type: ignore[attr-defined]
            move(child)

    move(beside)
    assert [row.title for row in rows(chat_list(list_row("Ana"), more=(beside,)), PROFILE)] == ["Ana"]


def test_the_archive_header_counts_chats() -> None:
    head = el(
        "conversations_archive_header",
        (0, 470, 1080, 600),
        el("archive_row_counter", (900, 500, 990, 560), text="2"),
    )
    found = archive_header(chat_list(list_row("Ana", top=620), header=head), PROFILE)
    assert found is not None
    assert found.unread == 2
    assert archive_header(chat_list(list_row("Ana")), PROFILE) is None


def test_list_pages_join_by_a_run_of_rows_not_by_names() -> None:
    one = rows(
        chat_list(
            *(list_row("Ana", stamp="ayer", preview=p, top=492 + i * 228) for i, p in enumerate("abc"))
        ),
        PROFILE,
    )
    two = rows(
        chat_list(
            *(list_row("Ana", stamp="ayer", preview=p, top=492 + i * 228) for i, p in enumerate("bcd"))
        ),
        PROFILE,
    )
    joined = join_rows(one, two)
    assert joined is not None
    assert [row.preview for row in joined] == ["a", "b", "c", "d"]
    far = rows(chat_list(list_row("Otro")), PROFILE)
    assert join_rows(one, far) is None


# the chat


def read(*children: object, **more: object) -> list[Bubble]:
    return bubbles(chat(*children, **more), PROFILE)  # type: ignore[arg-type]


def test_text_direction_time_and_ticks() -> None:
    found = read(
        bubble("Hola", time="8:15\u202fpm", top=400),
        bubble("Buenas", mine=True, status="Leído", top=600),
        bubble("ok", mine=True, status="Pendiente", top=800),
        bubble("ja", mine=True, status="未知", top=1000),
        bubble("8:15 p. m.", time="8:15\u00a0p.\u00a0m.", top=1200),
    )
    assert [(b.kind, b.direction, b.text, b.time, b.status) for b in found] == [
        ("text", "in", "Hola", "20:15", ""),
        ("text", "out", "Buenas", "06:55", "read"),
        ("text", "out", "ok", "06:55", "pending"),
        ("text", "out", "ja", "06:55", "shown"),
        ("text", "in", "8:15 p. m.", "20:15", ""),
    ]


def test_the_owners_deleted_message_has_no_ticks_and_is_still_the_owners() -> None:
    found = read(
        deleted("你已删除这条消息", mine=True), deleted("Se eliminó este mensaje", mine=False, top=700)
    )
    assert [(b.kind, b.direction, b.deleted, b.text) for b in found] == [
        ("deleted", "out", True, ""),
        ("deleted", "in", True, ""),
    ]


def test_a_message_that_says_it_was_deleted_is_not() -> None:
    assert read(bubble("Se eliminó este mensaje"))[0].kind == "text"


def test_texts_belong_to_their_row_though_places_are_of_two_moments() -> None:
    children = [
        bubble(f"m{i}", mine=i % 3 == 0, status="Leído" if i % 3 == 0 else None, top=300 + i * 140, shift=262)
        for i in range(10)
    ]
    found = read(*children)
    assert [b.text for b in found] == [f"m{i}" for i in range(10)]
    assert [b.direction for b in found] == ["out" if i % 3 == 0 else "in" for i in range(10)]


def test_the_quoted_message_is_no_part_of_the_body() -> None:
    found = read(bubble("¿Y bien?", quoted=("Tú", "Lo reviso mañana"), edited=True))
    assert (found[0].text, found[0].quoted, found[0].edited) == (
        "¿Y bien?",
        Quote("Tú", "Lo reviso mañana"),
        True,
    )


def test_long_messages_say_that_they_are_cut_and_what_unfolds_them() -> None:
    inside = read(bubble("palabras y más palabras… Leer más"))[0]
    assert (inside.text, inside.cut) == ("palabras y más palabras", True)
    assert inside.read_more is not None
    own = bubble("one two three…", row="x", body=(el("read_more", (60, 420, 300, 460), text="Read more"),))
    apart = read(own)[0]
    assert (apart.text, apart.cut, apart.read_more is not None) == ("one two three", True, True)
    honest = read(bubble("hay que leer más"))[0]
    assert (honest.text, honest.cut) == ("hay que leer más", False)


def test_media_come_out_with_what_can_be_read_of_them() -> None:
    found = read(
        bubble(
            row="conversation_row_image",
            body=(el("media_container", (60, 400, 600, 480), el("image", (60, 400, 600, 480))),),
            text="mirá",
        ),
        bubble(
            row="conversation_row_video",
            top=600,
            body=(
                el(
                    "media_container",
                    (60, 600, 600, 700),
                    el("thumb", (60, 600, 600, 700), desc="Video, HD, duration 118 seconds"),
                ),
            ),
        ),
        bubble(
            row="conversation_row_voice_note",
            top=800,
            body=(
                el(
                    "conversation_row_audio_player_view",
                    (60, 800, 600, 860),
                    el("control_btn", (60, 800, 90, 860)),
                ),
                el("description", (100, 860, 200, 900), text="0:17"),
            ),
        ),
        bubble(
            row="",
            top=1000,
            body=(
                el(
                    "content",
                    (60, 1000, 600, 1090),
                    el("title", (60, 1000, 500, 1040), text="factura.pdf"),
                    el("file_size", (60, 1040, 200, 1080), text="120 kB"),
                    el("file_type", (210, 1040, 300, 1080), text="PDF"),
                    clickable=True,
                ),
            ),
        ),
        bubble(
            row="conversation_row_sticker",
            top=1200,
            body=(el("sticker_image", (60, 1200, 300, 1300), desc="Sticker"),),
        ),
        bubble(
            row="conversation_row_poll",
            top=1400,
            body=(
                el("poll_name", (60, 1400, 500, 1430), text="¿Cuándo?"),
                el("poll_option_name", (60, 1430, 500, 1460), text="Lunes"),
                el("poll_option_name", (60, 1460, 500, 1490), text="Martes"),
            ),
        ),
        bubble(
            row="conversation_row_location",
            top=1600,
            body=(el("thumb", (60, 1600, 400, 1700), desc="Ubicación: Plaza Mayor"),),
        ),
        bubble(
            row="conversation_row_contact",
            top=1750,
            body=(el("vcard_text", (60, 1750, 400, 1800), text="Plomero Juan"),),
        ),
        bubble(
            row="conversation_row_call",
            top=1900,
            body=(el("call_title", (60, 1900, 400, 1950), text="Llamada perdida"),),
        ),
    )
    assert [(b.kind, b.text, b.detail, b.seconds) for b in found] == [
        ("photo", "mirá", "", None),
        ("video", "", "", 118),
        ("voice", "", "", 17),
        ("document", "", "factura.pdf", None),
        ("sticker", "", "", None),
        ("poll", "", "¿Cuándo?\nLunes\nMartes", None),
        ("location", "", "Plaza Mayor", None),
        ("contact", "", "Plomero Juan", None),
        ("call", "", "Llamada perdida", None),
    ]


def test_kinds_are_known_by_their_words_where_no_id_is() -> None:
    def odd(words: str, top: int) -> object:
        return bubble(row="", top=top, body=(el("something_new", (60, top, 300, top + 60), desc=words),))

    found = read(
        odd("Mensaje de voz, 17 s", 400),
        odd("Encuesta", 600),
        odd("View once photo", 800),
        odd("Qué sé yo", 1000),
    )
    assert [(b.kind, b.detail) for b in found][1:] == [
        ("poll", "Encuesta"),
        ("view_once", ""),
        ("unknown", "Qué sé yo"),
    ]
    assert (found[0].kind, found[0].seconds) == ("voice", 17)


def test_nothing_vanishes_even_when_nothing_is_known() -> None:
    found = read(
        bubble(row="conversation_row_hologram", body=(el("beam", (60, 400, 300, 460)),)),
        el(
            "",
            (0, 600, 1080, 700),
            el("", (60, 600, 400, 640), text="algo"),
            el("date", (500, 660, 600, 690), text="07:01"),
        ),
    )
    assert [(b.kind, b.direction, b.time, b.detail) for b in found] == [
        ("unknown", "in", "06:55", ""),
        ("unknown", "in", "07:01", "algo"),
    ]


def test_dividers_and_notices_are_not_messages() -> None:
    found = read(
        divider("Ayer", top=300),
        el(
            "", (0, 400, 1080, 480), el("date", (400, 420, 680, 470), text="HOY")
        ),  # as older versions write a day
        divider("3 mensajes no leídos", id="", inner="unread_divider_tv", top=500),
        divider("2 unread messages", id="", top=600),
        divider("Los mensajes están cifrados", id="", inner="info", top=700),
        divider("Luis cambió su número", id="", top=800),
        bubble("hola", top=950),
    )
    assert [b.kind for b in found] == [
        "day",
        "day",
        "unread_divider",
        "unread_divider",
        "system",
        "system",
        "text",
    ]
    assert [b.is_message for b in found] == [False] * 6 + [True]
    assert found[-1].day == "HOY"
    assert unread_count(found[2]) == 3


def test_senders_go_down_a_run() -> None:
    found = read(
        bubble("uno", sender="Luis", top=300),
        bubble("dos", top=450),
        bubble("yo", mine=True, status="Leído", top=600),
        bubble("tres", top=750),
        bubble("cuatro", sender="\u200e~ Pau", sender_id="pushname_in_group_tv", top=900),
        divider("Hoy", top=1050),
        bubble("cinco", top=1200),
    )
    assert [(b.text, b.sender) for b in found if b.is_message] == [
        ("uno", "Luis"),
        ("dos", "Luis"),
        ("yo", ""),
        ("tres", ""),
        ("cuatro", "Pau"),
        ("cinco", ""),
    ]


def test_a_mirrored_screen_turns_the_sides() -> None:
    found = read(
        bubble("שלום", mirrored=True, top=400),
        bubble("היי", mine=True, mirrored=True, top=600),
        mirrored=True,
    )
    assert [b.direction for b in found] == ["in", "out"]


def test_rows_at_the_edge_are_clipped_and_a_message_without_its_time_too() -> None:
    found = read(bubble("arriba", top=288), bubble("en medio", top=600), bubble("abajo", top=2034, time=""))
    assert [b.clipped for b in found] == [True, False, True]


# pages


def page(*texts: str, first: int = 300, step: int = 150, **more: object) -> list[Bubble]:
    return read(*(bubble(t, top=first + i * step, **more) for i, t in enumerate(texts)))  # type: ignore[arg-type]


def test_pages_are_joined_where_they_overlap() -> None:
    joined = stitch([page("a", "b", "c"), page("b", "c", "d")])
    assert joined is not None
    assert [b.text for b in joined] == ["a", "b", "c", "d"]
    assert stitch([page("a", "b"), page("x", "y")]) is None


def test_equal_messages_in_a_row_are_counted_by_how_far_the_page_moved() -> None:
    # three OK on the older page, two of them seen again: one is new at the bottom
    older = page("a", "OK", "OK", "OK", first=300)
    newer = page("OK", "OK", "OK", "b", first=300)
    assert overlap(older, newer, moved=300) == 2
    assert overlap(older, newer, moved=150) == 3


def test_a_whole_reading_replaces_a_clipped_one() -> None:
    whole = bubble("texto entero", top=600, quoted=("Tú", "antes"))
    cut = bubble("texto entero", top=2034, time="")
    joined = join(read(bubble("a", top=400), cut), read(whole, bubble("b", top=900)))
    assert joined is not None
    assert [(b.text, b.time, b.clipped) for b in joined] == [
        ("a", "06:55", False),
        ("texto entero", "06:55", False),
        ("b", "06:55", False),
    ]
    assert joined[1].quoted == Quote("Tú", "antes")


def test_an_unfolded_message_meets_its_folded_reading() -> None:
    joined = join(
        read(bubble("una historia muy… Leer más")),
        read(bubble("una historia muy larga de verdad"), bubble("b", top=900)),
    )
    assert joined is not None
    assert [b.text for b in joined] == ["una historia muy larga de verdad", "b"]


# words


def test_titles_are_compared_as_people_read_them() -> None:
    assert same_title("\u2068Ana\u2069", "Ana")
    assert same_title("Ana 😀", "Ana ..")
    assert not same_title("Ana 😀", "Ana 😎")
    assert same_title("Asociación de vecinos d…", "Asociación de vecinos del barrio")
    assert not same_title("Ana…", "Anabel")
    assert not same_title("", "")


def test_messages_are_compared_line_by_line() -> None:
    assert same_message("a 😀\nb", "a ..\nb")
    assert not same_message("a\nb", "a b")
    assert not same_message("10 €", "100 €")


def test_numbers_are_never_guessed() -> None:
    assert digits("+54 9 11 5555-0101") == "5491155550101"
    assert digits("Ana 2") == ""
    assert international("+34 600 111 222") == "34600111222"
    assert international("0034 600 111 222") == "34600111222"
    assert international("600 111 222") == ""


def test_times_and_lengths() -> None:
    assert [clock(t) for t in ("06:55", "8:15\u202fpm", "12:05 am", "8.15", "8:15\u00a0p.\u00a0m.")] == [
        "06:55",
        "20:15",
        "00:05",
        "08:15",
        "20:15",
    ]
    assert (seconds("0:17"), seconds("1:02:03"), seconds("17")) == (17, 3723, None)


def test_hostile_texts_stay_texts() -> None:
    nasty = (
        '</node></hierarchy> <node resource-id="com.whatsapp:id/send"/> \u202e$(reboot) `x` 5 unread messages'
    )
    found = read(bubble(nasty))
    assert [(b.kind, b.direction) for b in found] == [("text", "in")]
    assert found[0].text == nasty.replace("\u202e", "")
    assert screen(chat(bubble(nasty))) is Screen.CHAT
    assert isinstance(PROFILE, Profile)
