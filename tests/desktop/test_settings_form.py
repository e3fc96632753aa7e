"""Settings rows come from the declarations, apply at once, and never take the caret away."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from core.config import Config
from core.errors import Refused
from core.events import Bus
from core.identity import Identity, IdentityFile
from core.paths import Home
from core.settings import Settings
from core.store import Store
from core.texts import catalogue
from core.vault import Vault
from desktop.settings import editors
from desktop.settings.form import Form
from desktop.settings.identity import IdentityPage
from desktop.settings.models import ModelsPage
from desktop.settings.permissions import PermissionsPage
from desktop.settings.plain import FilesPage, PhonePage, under
from desktop.settings.telegram import Claim, TelegramPage
from desktop.words import Words
from tests.desktop.conftest import Until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def config(home: Home, bus: Bus, store: Store) -> Config:
    return Config(home, bus, Vault(home, store))


@pytest.fixture
async def change(config: Config) -> Any:
    async def set_one(key: str, value: Any) -> None:
        await config.set({key: value})

    return set_one


@pytest.fixture
async def form(config: Config, change: Any, words: Words, qtbot: QtBot) -> Form:
    form = Form(words, config.now.whatsapp, under("whatsapp", change))
    qtbot.addWidget(form)
    form.show()
    return form


async def test_every_titled_field_has_a_row_and_no_other(form: Form) -> None:
    fields = type(Settings().whatsapp).model_fields
    assert list(form.rows) == [name for name, field in fields.items() if field.title]
    assert isinstance(form.rows["enabled"].editor, editors.Switch)
    assert isinstance(form.rows["posture"].editor, editors.Choice)
    assert isinstance(form.rows["max_chats"].editor, editors.Whole)
    assert isinstance(form.rows["quiet_s"].editor, editors.Decimal)


async def test_bounds_come_from_the_declaration(form: Form) -> None:
    editor = form.rows["max_chats"].editor
    assert isinstance(editor, editors.Whole)
    assert (editor.minimum(), editor.maximum()) == (1, 500)


async def test_a_switch_applies_at_once_and_says_so(
    form: Form, config: Config, words: Words, until: Until, qtbot: QtBot
) -> None:
    row = form.rows["enabled"]
    qtbot.mouseClick(row.editor, Qt.MouseButton.LeftButton)
    await until(lambda: config.now.whatsapp.enabled is False)
    await until(lambda: row.said.text() == words("settings.applied"))


async def test_a_choice_applies_at_once(form: Form, config: Config, until: Until) -> None:
    editor = form.rows["posture"].editor
    assert isinstance(editor, editors.Choice)
    editor.setCurrentIndex(editor.findData("read_only"))
    editor.activated.emit(editor.currentIndex())
    await until(lambda: config.now.whatsapp.posture == "read_only")


async def test_what_does_not_hold_says_why_and_keeps_the_text(
    home: Home, bus: Bus, config: Config, words: Words, qtbot: QtBot, until: Until
) -> None:
    identity = IdentityFile(home, bus, config)

    async def apply(name: str, value: Any) -> None:
        await identity.set(**{name: value})

    form = Form(words, identity.now, apply, names=("agent_name",))
    qtbot.addWidget(form)
    editor = form.rows["agent_name"].editor
    assert isinstance(editor, editors.Line)
    editor.clear()
    editor.editingFinished.emit()
    await until(lambda: form.rows["agent_name"].said.text())
    assert form.rows["agent_name"].said.property("role") == "error"
    assert identity.now.agent_name == "APX"
    editor.setText("Roby")
    editor.editingFinished.emit()
    await until(lambda: identity.now.agent_name == "Roby")


async def test_a_change_from_outside_does_not_take_the_caret(words: Words, qtbot: QtBot) -> None:
    async def apply(name: str, value: Any) -> None: ...

    form = Form(words, Identity(owner_name="Alex"), apply, names=("owner_name",))
    qtbot.addWidget(form)
    editor = form.rows["owner_name"].editor
    assert isinstance(editor, QLineEdit)
    editor.setCursorPosition(2)
    form.take(Identity(owner_name="Alexa"))
    assert (editor.text(), editor.cursorPosition()) == ("Alexa", 2)
    qtbot.keyClicks(editor, "x")  # somebody is writing
    form.take(Identity(owner_name="Other"))
    assert editor.text() == "Alxexa"


async def test_titles_and_help_change_their_language(form: Form, words: Words) -> None:
    words.speak("es")
    assert form.rows["enabled"].title.text() == "Hacer rondas"
    editor = form.rows["posture"].editor
    assert isinstance(editor, editors.Choice)
    assert editor.currentText() == "Escribir un borrador y preguntarte"


def declared(section: Any, found: set[str]) -> set[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if field.title:
            found |= {field.title} | ({field.description} if field.description else set())
        if hasattr(type(value), "model_fields"):
            declared(value, found)
    return found


@pytest.mark.parametrize("lang", ["en", "es"])
async def test_every_declaration_has_its_words(lang: str) -> None:
    assert declared(Settings(), set()) | declared(Identity(), set()) <= set(catalogue(lang))


async def test_a_key_goes_to_the_vault_and_never_back_to_the_screen(
    config: Config, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    kept: list[tuple[str, str]] = []

    async def keep(provider: str, secret: str) -> None:
        kept.append((provider, secret))
        await config.set({f"engines.{provider}.api_key": "vault:x"})

    async def attempt() -> str:
        return "It works."

    async def explain() -> dict[str, Any]:
        raise Refused("Not now.")

    page = ModelsPage(
        words, now=lambda: config.now, change=change, keep=keep, attempt=attempt, explain=explain
    )
    qtbot.addWidget(page)
    page._show("openai")
    secret = page.providers["openai"].key.editor
    assert isinstance(secret, editors.Secret)
    assert secret.line.echoMode() is QLineEdit.EchoMode.Password
    secret.line.setText("sk-1")
    secret.line.editingFinished.emit()
    await until(lambda: kept == [("openai", "sk-1")])
    page.refresh()
    assert "sk-1" not in secret.line.text() + secret.line.placeholderText()
    assert secret.line.placeholderText() == words("settings.secret.stored")
    page.trial.button.click()
    await until(lambda: page.trial.said.text() == "It works.")


async def test_files_and_permissions_write_their_keys(
    config: Config, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    files = FilesPage(words, now=lambda: config.now, change=change)
    permissions = PermissionsPage(
        words, now=lambda: config.now, change=change, tools=lambda: ("run_shell", "fetch")
    )
    phone = PhonePage(words, now=lambda: config.now, change=change)
    for page in (files, permissions, phone):
        qtbot.addWidget(page)
    files.kinds.rows["video"].editor.click()  # type: ignore[attr-defined]
    await until(lambda: config.now.file_delivery.kinds.video)
    permissions.modes["permiso"].click()
    await until(lambda: config.now.super_agent.permission_mode == "permiso")
    assert list(phone.phone.rows) == ["serial", "package", "user"]


async def test_the_face_is_worn_at_once(
    home: Home, bus: Bus, config: Config, words: Words, qtbot: QtBot, until: Until
) -> None:
    identity = IdentityFile(home, bus, config)

    async def apply(name: str, value: Any) -> None:
        await identity.set(**{name: value})

    async def wear(key: str) -> None:
        await config.set({"super_agent.icon": key})

    page = IdentityPage(
        words, identity=lambda: identity.now, icon=lambda: identity.icon, apply=apply, wear=wear
    )
    qtbot.addWidget(page)
    page.faces.buttons["sol"].click()
    await until(lambda: config.now.super_agent.icon == "sol")
    page.refresh()
    assert page.faces.buttons["sol"].isChecked()
    assert page.faces.buttons["sol"].accessibleName()


async def test_nobody_owns_the_bot_until_the_person_here_says_so(
    config: Config, change: Any, words: Words, qtbot: QtBot, until: Until
) -> None:
    decided: list[tuple[int, bool]] = []

    async def decide(claim: Claim, yes: bool) -> None:
        decided.append((claim.user_id, yes))

    async def nothing(*_: object) -> str:
        return ""

    await config.set(
        {"telegram.enabled": True, "telegram.channels": [{"name": "default", "bot_token": "vault:t"}]}
    )
    page = TelegramPage(
        words, now=lambda: config.now, change=change, keep=nothing, decide=decide, attempt=nothing
    )
    qtbot.addWidget(page)
    page.show()
    assert not page.claim_card.isVisible()
    assert page.owner.text() == words("settings.telegram.owner.none")
    assert not page.trial.isEnabled()
    page.claimed(Claim(7, "Alex"))
    assert page.claim_card.isVisible()
    assert "Alex" in page.claimant.text()
    page.no.click()
    await until(lambda: decided == [(7, False)])
    assert not page.claim_card.isVisible()


async def test_the_bots_state_is_shown_with_who_else_has_it_and_what_to_do(
    config: Config, change: Any, words: Words, qtbot: QtBot
) -> None:
    async def nothing(*_: object) -> str:
        return ""

    await config.set(
        {"telegram.enabled": True, "telegram.channels": [{"name": "default", "bot_token": "vault:t"}]}
    )
    page = TelegramPage(
        words, now=lambda: config.now, change=change, keep=nothing, decide=nothing, attempt=nothing
    )
    qtbot.addWidget(page)
    page.show()
    assert (page.state.text(), page.why.isVisible()) == (words("settings.telegram.state.starting"), False)
    tones = {"online": "accent", "offline": "warn", "conflict": "danger", "failed": "danger"}
    for state, tone in tones.items():
        page.tell(state, "" if state == "online" else f"Process 7 has it. <b>Stop</b> {state}.")
        assert page.state.text() == words(f"settings.telegram.state.{state}")
        assert page.state.property("chip") == tone
        assert page.why.isVisible() is (state != "online")
    assert page.why.text() == "Process 7 has it. <b>Stop</b> failed."
    await config.set({"telegram.enabled": False})
    page.refresh()
    assert (page.state.text(), page.why.isVisible()) == (words("settings.telegram.state.off"), False)
