"""What can go wrong with a phone, each as a switch.

A fault has a name and a code; either may be given. `after` lets the first opportunities pass, `times` ends
the fault after so many strikes. The code that could fail asks `strike(name)` at its opportunity, so a test
decides *when* in a conversation with the phone something breaks, without a sleep.

Faults that live in what the phone contains (two chats with one title, hostile texts) are in `scenes.py`;
those that need a second phone or another port are what `stage.py` composes: start two phones (F13), the
same `SimPhone` twice (F14), or stop and start on another port (F19).
"""

from dataclasses import dataclass

FAULTS: dict[str, tuple[str, str]] = {
    "absent": ("F8", "connections are refused: the phone is not on the list"),
    "unauthorized": ("F9", "the owner never accepts this computer's key"),
    "authorizing": ("F10", "the key is accepted after `value` seconds"),
    "offline": ("F11", "the phone accepts the connection and says nothing"),
    "drop_mid_output": ("F17", "the connection ends after `value` bytes of one answer"),
    "silent": ("F18", "the network vanishes: no byte, no FIN"),
    "latency": ("F21", "every command takes `value` seconds more"),
    "jitter": ("F22", "commands take between 0 and `value` seconds more, in turns"),
    "crlf": ("F23", "lines of text end in CR LF"),
    "invalid_utf8": ("F24", "a byte that is no UTF-8 in the output"),
    "stderr_mixed": ("F25", "what belongs on stderr comes on stdout"),
    "no_shell_v2": ("F26", "no exit codes: an old phone"),
    "exit_code_lies": ("F27", "exit code 0 whatever happened"),
    "permission_denied": ("F28", "the command named `value` answers with a denial"),
    "output_cut": ("F29", "output ends at `value` bytes"),
    "output_flood": ("F30", "`value` bytes of noise before the output"),
    "command_not_found": ("F31", "the command named `value` does not exist"),
    "never_ends": ("F32", "the command named `value` (or any) never ends"),
    "not_idle": ("F33", "uiautomator gives up waiting for an idle screen"),
    "null_root": ("F34", "uiautomator has no root"),
    "empty_dump": ("F35", "uiautomator crashes without a word on stdout"),
    "killed": ("F36", "uiautomator is killed"),
    "stale_file": ("F37", "the dump fails and the file keeps an older screen"),
    "late_write": ("F38", "an abandoned dump writes its file at the next command"),
    "truncated_xml": ("F39", "the dump ends in the middle"),
    "glued_line": ("F40", "words before and behind the XML"),
    "bad_characters": ("F41", "references that no XML parser accepts"),
    "emoji_dots": ("F42", "emoji come as dots"),
    "stale_screen": ("F43", "the dump shows the screen before the last input"),
    "mixed_frames": ("F44", "rows and their children are of two animation frames"),
    "missing_children": ("F45", "a child of the list is missing"),
    "offscreen_pages": ("F46", "neighbour pages appear with inverted bounds"),
    "window_on_top": ("F47", "another window: call, permission, anr, volume or chooser"),
    "already_registered": ("F48", "another program holds UiAutomation"),
    "rotated": ("F49", "the phone lies on its side"),
    "override_size": ("F50", "`value` is WIDTHxHEIGHT, beside another physical size"),
    "large_font": ("F51", "texts are `value` times as large: fewer rows"),
    "rtl": ("F52", "a right-to-left language: everything mirrored"),
    "renamed_id": ("F53", "`value` is OLD=NEW: a version with another id"),
    "no_ids": ("F54", "no resource ids at all"),
    "opens_in_last_chat": ("F55", "WhatsApp starts in the chat it showed last"),
    "opens_in": ("F56", "WhatsApp starts in search, selection or viewer"),
    "update_required": ("F57", "this version has expired"),
    "two_step_pin": ("F58", "the two-step verification reminder is up"),
    "app_lock": ("F59", "WhatsApp wants a fingerprint"),
    "backup_offer": ("F60", "a sheet offers a backup; BACK closes it"),
    "reorder_before_tap": ("F61", "a message moves another chat to the top before the tap lands"),
    "arrives_while_reading": ("F62", "a message `value` arrives in the open chat before a dump"),
    "ellipsised_titles": ("F64", "titles are cut in the list"),
    "badge_without_number": ("F65", "badges carry no number"),
    "history_page": ("F66", "only `value` messages are loaded until one scrolls to the top"),
    "prefill_ignored": ("F72", "a link's text does not reach the composer"),
    "prefill_appended": ("F73", "a link's text is added to the draft"),
    "not_on_whatsapp": ("F74", "the number of a link is not on WhatsApp"),
    "opens_business": ("F75", "links open WhatsApp Business"),
    "send_does_nothing": ("F76", "the send button is dead"),
    "pending": ("F77", "no network: messages wait with a clock"),
    "deleted_after_alert": ("F79", "the sender deletes a message before it is read"),
    "only_summary": ("F81", "notifications: the group summary alone"),
    "update_storm": ("F83", "every notification is updated `value` times"),
    "spannable_title": ("F84", "titles are SpannableString"),
    "redacted_dump": ("F85", "dumpsys shows lengths instead of texts"),
    "glued_key": ("F86", "Android 10: words glued to the key"),
    "named_flags": ("F87", "Android 15: flags as names"),
    "no_time": ("F89", "records without a time"),
    "other_user": ("F90", "the records belong to user 10 and to WhatsApp Business"),
    "noise_records": ("F91", "calls, backups and 'checking for messages' among the records"),
    "ring_overflow": ("F92", "the event log keeps `value` lines"),
    "dumpsys_timeout": ("F93", "dumpsys notification runs out of time"),
    "sensitive_hidden": ("F94", "texts are replaced by the sensitive-content sentence"),
    "inject_events": ("F95", "input is forbidden"),
    "tap_swallowed": ("F96", "the tap does nothing"),
    "inertia": ("F97", "the list moves `value` pixels on between the look and the tap"),
    "keyboard_covers": ("F98", "the keyboard covers the composer instead of lifting it"),
    "ime_missing": ("F99", "the keyboard helper is not listed"),
    "ime_restore_fails": ("F100", "`ime set` says it worked and changes nothing"),
    "ime_no_connection": ("F101", "the helper types into nothing until the field is tapped"),
    "half_typed": ("F102", "half of the text is typed, then the command hangs"),
    "long_press_is_tap": ("F103", "a long press by swipe arrives as a tap"),
    "sleeps_again": ("F107", "the screen goes off after `value` commands"),
    "owner_takes_phone": ("F108", "before an input, the owner opens another app"),
    "battery_saver": ("F109", "battery saver is on"),
    "reboot": ("F110", "the phone restarts: connection lost, locked, nothing open"),
    "black_screenshot": ("F111", "screenshots are black"),
    "warning_before_png": ("F112", "a warning before the picture"),
    "truncated_png": ("F113", "the picture ends in the middle"),
    "wrong_display": ("F114", "the picture is of another display"),
    "crlf_png": ("F115", "line ends in the picture are damaged"),
    "huge_screenshot": ("F116", "the picture has the physical size, uncompressed"),
}
_BY_CODE = {code: name for name, (code, _) in FAULTS.items()}


@dataclass(slots=True)
class Fault:
    """One switch that is on."""

    value: object = True
    after: int = 0
    times: int | None = None
    struck: int = 0


class Faults:
    """The switches of one phone; all are off at first."""

    def __init__(self) -> None:
        self._on: dict[str, Fault] = {}

    def set(self, name: str, value: object = True, *, after: int = 0, times: int | None = None) -> None:
        """Turn a fault on: it strikes after `after` opportunities, `times` times or for ever."""
        self._on[self._known(name)] = Fault(value, after, times)

    def clear(self, name: str | None = None) -> None:
        """Turn one fault off, or all."""
        if name is None:
            self._on.clear()
        else:
            self._on.pop(self._known(name), None)

    def is_set(self, name: str) -> bool:
        """Whether the fault would strike now; asking does not count as an opportunity."""
        fault = self._on.get(self._known(name))
        return fault is not None and fault.after <= 0 and (fault.times is None or fault.times > 0)

    def strike(self, name: str) -> bool:
        """This is an opportunity: does the fault strike?"""
        fault = self._on.get(self._known(name))
        if fault is None or fault.times == 0:
            return False
        if fault.after > 0:
            fault.after -= 1
            return False
        if fault.times is not None:
            fault.times -= 1
        fault.struck += 1
        return True

    def number(self, name: str, default: float) -> float:
        """The fault's value as a number; a plain `True` means the default."""
        fault = self._on.get(self._known(name))
        if fault is None or isinstance(fault.value, bool) or not isinstance(fault.value, (int, float)):
            return default
        return fault.value

    def text(self, name: str, default: str = "") -> str:
        """The fault's value as a text; anything else means the default."""
        fault = self._on.get(self._known(name))
        return fault.value if fault is not None and isinstance(fault.value, str) else default

    def struck(self, name: str) -> int:
        """How many times the fault has struck since it was turned on."""
        fault = self._on.get(self._known(name))
        return 0 if fault is None else fault.struck

    @staticmethod
    def _known(name: str) -> str:
        name = _BY_CODE.get(name, name)
        if name not in FAULTS:
            raise ValueError(f"There is no fault {name!r}.")
        return name
