"""The notification dump and the event log of Android 8 to 16, and texts that imitate them."""

import pytest

from bridge.event_log import EventLines, enqueued
from bridge.notifications import NoticeMessage, notices, parse_flags

APP = "com.whatsapp"
UID = 10148
TAG = "q9Xk0y3pVb1m7ZtR2wUeJ5hNcL8sAaDf4GiOo6PjKk="
JID = "5491155550101@s.whatsapp.net"


def bundle(sender: str | None, text: str, time: int | None, *, order: str = "sender first") -> str:
    who = f", sender={sender}" if sender is not None else ""
    when = f", time={time}" if time is not None else ""
    if order == "time first":
        return f"Bundle[{{time={time}, text={text}, sender_person=android.app.Person@1, extras=Bundle[{{}}]{who}}}]"
    return f"Bundle[{{extras=Bundle[{{}}], sender_person=android.app.Person@1f{who}, text={text}{when}}}]"


def record(
    *,
    android: int = 12,
    tag: str = TAG,
    title: str = "String (Ana)",
    text: str = "String (hola)",
    messages: tuple[str, ...] = (),
    announced: int | None = None,
    jid: str = JID,
    flags: str = "0x8",
    channel: str = "individual_chat_defaults_1",
    category: str = "msg",
    group: bool = False,
    extras: tuple[str, ...] = (),
    user: int = 0,
    uid: int = UID,
    package: str = APP,
    me: str = "Tú",
    break_tag: bool = False,
) -> str:
    nl = "\n" if break_tag else ""
    key = f"{user}|{package}|1|{tag}{nl}|{uid}"
    importance = " importance=4 " if android != 10 else nl + " "
    glued = "appImportanceLocked=false" if android == 10 else ""
    if android >= 15:
        flags = {
            "0x8": "ONLY_ALERT_ONCE",
            "0x208": "ONLY_ALERT_ONCE|GROUP_SUMMARY",
            "0x62": "ONGOING_EVENT|NO_CLEAR",
        }[flags]
    pri = "pri=1 " if android == 8 else ""
    ends = nl if android != 10 else ""
    zero = "0" if android >= 15 else "0x0"
    head = (
        f"    NotificationRecord(0x0abc1234: pkg={package} user=UserHandle{{{user}}} id=1 tag={tag}{ends}"
        f"{importance}key={key}{glued}: Notification({pri}channel={channel} shortcut={jid} contentView=null "
        f"vibrate=null sound=null defaults={zero} flags={flags} color=0xff075e54 category={category} "
        f"groupKey=group_key_messages sortKey=1 actions=2 vis=PRIVATE "
        f"publicVersion=Notification(channel=other shortcut=no@where flags=0x0 category=x)))"
    )
    deep = "      " if android < 11 else "          "
    lines = [
        head,
        f"      uid={uid} userId={user}",
        "      opPkg=" + package,
        f"{deep}when=1780000000123",
        f"{deep}extras={{",
    ]
    inner = deep + "    "
    lines += [f"{inner}android.title={title}", f"{inner}android.subText=null", f"{inner}android.text={text}"]
    if messages:
        lines.append(f"{inner}android.selfDisplayName=String ({me})")
        lines.append(f"{inner}android.template=String (android.app.Notification$MessagingStyle)")
        lines.append(f"{inner}android.messages=Parcelable[] ({announced or len(messages)})")
        lines += [f"{deep}      [{n}] {one}" for n, one in enumerate(messages)]
        lines.append(f"{inner}android.isGroupConversation=Boolean ({str(group).lower()})")
    lines += [inner + extra for extra in extras]
    lines += [f"{inner}last_row_id=Long (4711)", f"{deep}}}", "      stats=SingleNotificationStats{x}"]
    if android >= 15:
        lines.append("      mSensitiveContent=false")
    return "\n".join([*lines, "      mCreationTimeMs=1780000000200"])


def dump(*records: str) -> str:
    before = "Current Notification Manager state:\n  StatusBarNotification(pkg=com.whatsapp user=UserHandle{0} id=1)\n"
    after = f"\n  Enqueued Notification List:\n{record(title='String (Copia)')}\n  mRankingHelper:\n"
    return before + "  Notification List:\n" + "\n".join(records) + after


SUMMARY = {"tag": "null", "flags": "0x208", "jid": "null"}


@pytest.mark.parametrize("android", [8, 9, 10, 11, 12, 14, 15, 16])
@pytest.mark.parametrize("order", ["sender first", "time first"])
def test_a_chat_is_read_on_every_android(android: int, order: str) -> None:
    text = dump(
        record(
            android=android,
            messages=(bundle("Ana", "hola", 1780000000001, order=order),),
            break_tag=android in (10, 12),
        ),
        record(android=android, **SUMMARY),
    )
    (notice,) = notices(text, APP)
    assert notice.key == f"0|{APP}|1|{TAG}|{UID}"
    assert (notice.chat, notice.jid, notice.number, notice.group) == ("Ana", JID, "5491155550101", False)
    assert notice.messages == (NoticeMessage("Ana", "hola", 1780000000001),)
    assert (notice.summary_only, notice.doubtful, notice.row_id) == (False, False, 4711)


def test_a_summary_counts_only_when_it_is_alone() -> None:
    alone = dump(record(**SUMMARY, title="String (WhatsApp)", text="String (7 mensajes de 2 chats)"))
    (notice,) = notices(alone, APP)
    assert (notice.summary_only, notice.messages, notice.text) == (True, (), "7 mensajes de 2 chats")


def test_groups_have_their_own_name_and_their_senders() -> None:
    said = (bundle("\u200e~ Luis", "partido?", 1780000000001), bundle("Pau", "voy", 1780000000002))
    jid = "120363000000000001@g.us"
    hidden = record(
        title="String (Fútbol (2 mensajes): Pau)",
        messages=said,
        group=True,
        jid=jid,
        extras=(
            "android.conversationTitle=String (Fútbol (2 mensajes))",
            "android.hiddenConversationTitle=String (\u2068Fútbol\u2069)",
        ),
    )
    named = record(
        title="String (Club: Pau)",
        tag="b=",
        messages=said,
        group=True,
        jid=jid,
        extras=("android.conversationTitle=String (Club (2 mensagens))",),
    )
    titled = record(title="String (Coro: Pau)", tag="c=", messages=said, group=True, jid=jid)
    found = notices(dump(hidden, named, titled), APP)
    assert [(n.chat, n.group, n.number) for n in found] == [
        ("Fútbol", True, ""),
        ("Club", True, ""),
        ("Coro", True, ""),
    ]
    assert [m.sender for m in found[0].messages] == ["Luis", "Pau"]


def test_own_echoes_are_not_messages() -> None:
    both = record(messages=(bundle("Ana", "hola", 1), bundle("Tú", "hola Ana", 2), bundle(None, "y más", 3)))
    assert [m.text for m in notices(dump(both), APP)[0].messages] == ["hola"]
    mine = record(messages=(bundle("Du", "nur ich", 2),), me="Du")
    assert notices(dump(mine), APP) == []


def test_titles_may_be_spannable_and_carry_marks_and_counters() -> None:
    text = dump(
        record(title="SpannableString (\u2068Ana\u2069 (3 mensajes))", messages=(bundle("Ana", "x", 1),))
    )
    assert notices(text, APP)[0].chat == "Ana"


def test_texts_of_several_lines_are_whole() -> None:
    body = "uno\ndos, time=5, sender=Otro\n    cuatro espacios)\n}"
    (notice,) = notices(dump(record(messages=(bundle("Ana", body, 9), bundle("Ana", "fin", 10)))), APP)
    assert notice.messages == (NoticeMessage("Ana", body, 9), NoticeMessage("Ana", "fin", 10))
    assert not notice.doubtful


def test_a_message_without_a_time_keeps_none() -> None:
    assert notices(dump(record(messages=(bundle("Ana", "x", None),))), APP)[0].messages == (
        NoticeMessage("Ana", "x", None),
    )


def test_a_forged_record_in_a_message_is_text() -> None:
    forged = record(
        title="String (Banco)",
        tag="z=",
        uid=10999,
        messages=(bundle("Banco", "pague ya", 1),),
        jid="1@s.whatsapp.net",
    )
    text = dump(
        record(messages=(bundle("Ana", "mira\n" + forged, 5),)),
        record(tag="d=", title="String (Bea)", messages=(bundle("Bea", "yo", 6),)),
    )
    found = notices(text, APP)
    assert "Banco" not in [n.chat for n in found]
    assert [n.chat for n in found] == ["Ana", "Bea"]


def test_a_forged_record_that_closes_the_extras_first_is_refused_by_its_uid() -> None:
    closing = "mira\n          }\n" + record(
        title="String (Banco)", tag="z=", uid=10999, messages=(bundle("Banco", "pague", 1),)
    )
    found = notices(dump(record(text=f"String ({closing})", messages=(bundle("Ana", "x", 5),))), APP)
    assert "Banco" not in [n.chat for n in found]
    assert found[0].doubtful


def test_a_forged_record_with_the_right_uid_is_not_among_the_phones_own_keys() -> None:
    closing = "mira\n          }\n" + record(
        title="String (Banco)", tag="z=", messages=(bundle("Banco", "pague", 1),)
    )
    text = dump(record(text=f"String ({closing})", messages=(bundle("Ana", "x", 5),)))
    assert "Banco" not in [n.chat for n in notices(text, APP, keys=[f"0|{APP}|1|{TAG}\n|{UID}"])]


def test_a_forged_title_makes_the_notice_doubtful_and_changes_nothing() -> None:
    gap = " " * 14
    body = f"hola\n{gap}android.title=String (Banco)\n{gap}android.hiddenConversationTitle=String (Banco)"
    (notice,) = notices(dump(record(text=f"String ({body})", messages=(bundle("Ana", body, 5),))), APP)
    assert (notice.chat, notice.group, notice.doubtful) == ("Ana", False, True)


def test_a_forged_record_in_a_ticker_is_text() -> None:
    whole = record(messages=(bundle("Ana", "x", 5),), package="com.whatsapp.w4b", uid=10149)
    forged = record(title="String (Banco)", tag="z=", messages=(bundle("Banco", "pague", 1),))
    before, after = whole.split("          extras={", 1)
    ticker = f"          tickerText=mira\n{forged.split(chr(10))[0]}\n          vis=PRIVATE\n"
    text = dump(f"{before}{ticker}          extras={{{after}").split("  Enqueued")[0]
    assert notices(text, APP) == []
    assert [n.chat for n in notices(text, "com.whatsapp.w4b")] == ["Ana"]


def test_more_messages_than_announced_are_doubtful() -> None:
    body = "hola}]\n                [1] Bundle[{sender=Mamá, text=manda plata, time=3"
    (notice,) = notices(dump(record(messages=(bundle("Ana", body, 5),))), APP)
    assert notice.doubtful


def test_hidden_and_redacted_contents_are_said_to_be() -> None:
    (hidden,) = notices(dump(record(text="String (Se ocultó contenido sensible de la notificación)")), APP)
    assert hidden.hidden
    (redacted,) = notices(dump(record(title="String [length=3]", text="String [length=19]")), APP)
    assert (redacted.hidden, redacted.messages, redacted.chat) == (True, (), "")
    counted = record(title="String [length=3]", text="String [length=4]", messages=("x",)).replace(
        "[0] x", ""
    )
    counted = "\n".join(line for line in counted.split("\n") if line.strip())
    (notice,) = notices(dump(counted), APP)
    assert (notice.hidden, notice.doubtful) == (True, False)


def test_calls_backups_and_other_apps_are_left_out() -> None:
    text = dump(
        record(category="call", channel="voip_notification", flags="0x62"),
        record(category="progress", channel="other_notifications", tag="e="),
        record(category="service", channel="chat_history_backup", flags="0x62", tag="f="),
        record(package="com.other", tag="g=", messages=(bundle("X", "y", 1),), uid=10200),
        record(user=10, uid=1010148, tag="h=", messages=(bundle("Eva", "trabajo", 2),)),
    )
    assert [(n.user, n.chat) for n in notices(text, APP)] == [(10, "Ana")]
    assert notices(text, APP, user=0) == []


def test_a_dump_that_failed_has_no_notices() -> None:
    assert notices("*** SERVICE 'notification' DUMP TIMEOUT (10000ms) EXPIRED ***", APP) == []
    assert notices("", APP) == []


def test_flags_are_read_as_bits_or_names() -> None:
    assert parse_flags("0x208") & 0x200
    assert parse_flags("ONLY_ALERT_ONCE|AUTO_CANCEL|GROUP_SUMMARY") == 0x200
    assert parse_flags("0x18") & 0x200 == 0


def event(
    tag: str = TAG,
    flags: str = "0x8",
    status: int = 0,
    package: str = APP,
    prefix: str = "1780000000.123  1508  1508 I ",
) -> str:
    return (
        f"{prefix}notification_enqueue: [10148,7214,{package},1,{tag},0,"
        f"Notification(channel=individual_chat_defaults_1 shortcut={JID} contentView=null flags={flags} "
        f"color=0x00000000 category=msg groupKey=group_key_messages vis=PRIVATE "
        f"publicVersion=Notification(channel=x flags=0x0)),{status}]"
    )


def test_events_name_the_chat_and_never_the_text() -> None:
    (one,) = enqueued([event(status=1)])
    assert (one.package, one.user, one.tag, one.jid, one.channel) == (
        APP,
        0,
        TAG,
        JID,
        "individual_chat_defaults_1",
    )
    assert (one.summary, one.status, one.at) == (False, 1, 1780000000.123)
    (summary,) = enqueued(
        [event(tag="NULL", flags="GROUP_SUMMARY|AUTO_CANCEL", prefix="08-10 11:20:03.820 1508 1508 I ")]
    )
    assert (summary.summary, summary.tag, summary.at) == (True, "", None)


def test_an_event_spread_over_lines_by_its_tag_is_one() -> None:
    text = "\n".join(
        [
            "--------- beginning of events",
            event(tag=TAG + "\n"),
            "1780000001.000 1 1 I am_proc_start: [0,1]",
            event(tag="k=\n"),
        ]
    )
    reader = EventLines()
    found = [one for line in text.split("\n") if (one := reader.feed(line))]
    assert [one.tag for one in found] == [TAG, "k="]


def test_half_an_event_is_dropped_when_another_begins() -> None:
    half = event(tag="abc").split("Notification(")[0]
    assert [one.tag for one in enqueued([half, event(tag="k=")])] == ["k="]
    assert list(enqueued([half, "1780000001.000 1 1 I am_kill: [x]", "tail]"])) == []
