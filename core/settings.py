"""Every setting, declared once: type, default, bounds, and the catalogue keys of its title and help.

A field without a title is not shown to people. Titles are keys of `assets/locale/settings.*.json`. New fields
have defaults; a rename is a function in `core/config.py`.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

Posture = Literal["auto", "draft", "read_only", "never"]


class Section(BaseModel):
    """Part of the configuration: unknown keys are errors, values do not change in place."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def shown(key: str, default: Any, **bounds: Any) -> Any:
    """A field that people see: `key` names its title, `key.help` its line of help."""
    return Field(default, title=f"settings.{key}", description=f"settings.{key}.help", **bounds)


def _pair(text: str) -> str:
    if not re.fullmatch(r"[^\s:]+:\S+", text):
        raise ValueError(f'{text!r} does not name a model; write it as "provider:model"')
    return text


Pair = Annotated[str, AfterValidator(_pair)]
Pin = Annotated[str, AfterValidator(lambda text: _pair(text) if text else "")]  # a model, or none


class User(Section):
    language: str = shown("user.language", "")
    locale: str = ""
    timezone: str = ""


class Channel(Section):
    name: str = "default"
    bot_token: str = ""
    chat_id: str = ""
    owner_user_id: int | None = None
    project: str = "default"

    @field_validator("chat_id", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("owner_user_id", mode="before")
    @classmethod
    def _as_number(cls, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.strip().isdigit() else (value or None)


class Telegram(Section):
    enabled: bool = shown("telegram.enabled", False)
    api_base: str = shown("telegram.api_base", "https://api.telegram.org")
    poll_interval_ms: int = Field(0, ge=0, le=60_000)
    channels: tuple[Channel, ...] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> "Telegram":
        names = [channel.name for channel in self.channels]
        if len(names) != len(set(names)):
            raise ValueError("two channels have one name")
        return self


class SecurityRisk(Section):
    enabled: bool = False
    confirm_at: Literal["LOW", "MEDIUM", "HIGH"] = "HIGH"
    confirm_unknown: bool = True


class StuckDetection(Section):
    enabled: bool = True
    action_repeat: int = Field(4, ge=2, le=50)
    error_repeat: int = Field(3, ge=2, le=50)


class Judge(Section):
    enabled: bool = False
    continue_unfinished: bool = True
    success_threshold: float = Field(0.6, gt=0, le=1)
    max_iterations: int = Field(2, ge=0, le=5)
    model: str = ""


class ModelFallback(Section):
    enabled: bool = False
    models: tuple[Pair, ...] = ()
    health_timeout_ms: int = Field(800, ge=50, le=60_000)


class RoutingWhen(Section):
    has_image: bool | None = None
    min_prompt_chars: int | None = Field(None, ge=0)
    max_prompt_chars: int | None = Field(None, ge=0)
    min_context_chars: int | None = Field(None, ge=0)
    channels: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    @field_validator("keywords")
    @classmethod
    def _long_enough(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(len(word.strip()) < 2 for word in value):
            raise ValueError("a keyword has two characters or more")
        return value


class RoutingRule(Section):
    model: Pair
    when: RoutingWhen = RoutingWhen()


class Routing(Section):
    enabled: bool = True
    rules: tuple[RoutingRule, ...] = ()


class SuperAgent(Section):
    enabled: bool = shown("super_agent.enabled", False)
    model: str = shown("super_agent.model", "")
    name: str = ""
    system: str = ""
    instructions: str = ""
    icon: str = shown("super_agent.icon", "noche")
    permission_mode: Literal["total", "automatico", "permiso"] = shown(
        "super_agent.permission_mode", "automatico"
    )
    allowed_tools: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()  # globs: a tool's name, or "run_shell: rm *"
    telegram_max_iters: int = Field(0, ge=0, le=10_000)
    web_max_iters: int = Field(0, ge=0, le=10_000)
    cli_max_iters: int = Field(0, ge=0, le=10_000)
    routine_max_iters: int = Field(0, ge=0, le=10_000)
    group_max_iters: int = Field(0, ge=0, le=10_000)
    a2a_max_iters: int = Field(0, ge=0, le=10_000)
    quota_cooldown_min: int = Field(60, ge=0, le=10_080)
    security_risk: SecurityRisk = SecurityRisk()
    stuck_detection: StuckDetection = StuckDetection()
    judge: Judge = Judge()
    model_fallback: ModelFallback = ModelFallback()
    routing: Routing = Routing()


class Engine(Section):
    api_key: str = shown("engines.api_key", "")
    base_url: str = shown("engines.base_url", "")
    sees: tuple[str, ...] = ()  # globs of models that take pictures, where their names do not tell


class Kinds(Section):
    image: bool = shown("file_delivery.kinds.image", True)
    video: bool = shown("file_delivery.kinds.video", False)
    audio: bool = shown("file_delivery.kinds.audio", False)
    document: bool = shown("file_delivery.kinds.document", False)


class FileDelivery(Section):
    kinds: Kinds = Kinds()
    max_mb: int = shown("file_delivery.max_mb", 20, ge=1, le=100)

    @field_validator("kinds", mode="before")
    @classmethod
    def _list_replaces(cls, value: Any) -> Any:
        # A list names the kinds that are on; all others are then off.
        if isinstance(value, list):
            if unknown := set(value) - set(Kinds.model_fields):
                raise ValueError(f"no such kind: {', '.join(sorted(map(str, unknown)))}")
            return {kind: kind in value for kind in Kinds.model_fields}
        return value


class Phone(Section):
    serial: str = shown("phone.serial", "")
    package: Literal["com.whatsapp", "com.whatsapp.w4b"] = shown("phone.package", "com.whatsapp")
    user: int = shown("phone.user", 0, ge=0, le=9999)
    adb_host: str = "127.0.0.1"
    adb_port: int = Field(5037, ge=1, le=65_535)
    reader: Literal["auto", "dump", "fast"] = "auto"


class Contact(Section):
    name: str = ""
    number: str = ""
    posture: Posture = "draft"
    note: str = ""

    @field_validator("number", mode="before")
    @classmethod
    def _digits(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class WhatsApp(Section):
    enabled: bool = shown("whatsapp.enabled", True)
    watch: bool = shown("whatsapp.watch", False)
    quiet_s: float = shown("whatsapp.quiet_s", 3.0, ge=0, le=300)
    cap_s: float = shown("whatsapp.cap_s", 20.0, ge=0, le=900)
    read: Literal["open", "notifications"] = shown("whatsapp.read", "open")
    posture: Posture = shown("whatsapp.posture", "draft")
    contacts: tuple[Contact, ...] = ()
    archived: bool = shown("whatsapp.archived", False)
    max_chats: int = shown("whatsapp.max_chats", 30, ge=1, le=500)
    max_messages: int = shown("whatsapp.max_messages", 50, ge=1, le=500)
    quiet_hours: str = shown(
        "whatsapp.quiet_hours", "", pattern=r"^$|^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$"
    )
    owner_wait_s: float = Field(120.0, ge=0, le=3600)
    replay_days: int = shown("whatsapp.replay_days", 7, ge=0, le=365)


class McpServer(Section):
    """A server of the Model Context Protocol: a program of this computer, or an address.

    The values of `env` and `headers` are secrets: `vault:NAME`, or plain where somebody typed them into the file.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    command: str = Field("", max_length=4096)
    args: tuple[str, ...] = Field((), max_length=100)
    env: dict[str, str] = Field(default_factory=dict)
    url: str = Field("", max_length=2000, pattern=r"^$|^https?://[^\s/]+\S*$")
    headers: dict[str, str] = Field(default_factory=dict)
    enabled: bool = True
    timeout_s: float = Field(60.0, ge=1, le=800)

    @model_validator(mode="after")
    def _one_way(self) -> "McpServer":
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has a command or an address, one of both")
        if any(not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in self.env):
            raise ValueError("a variable's name has letters, digits and underscores")
        if any(not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) for name in self.headers):
            raise ValueError("that is not the name of a header")
        texts = (self.command, *self.args, *self.env.values(), *self.headers.values())
        if any("\0" in text or "\n" in text or "\r" in text for text in texts):
            raise ValueError("a value has a line break in it")
        return self


class Mcp(Section):
    servers: tuple[McpServer, ...] = Field((), max_length=50)

    @model_validator(mode="after")
    def _names_differ(self) -> "Mcp":
        names = [server.name for server in self.servers]
        if len(names) != len(set(names)):
            raise ValueError("two servers have one name")
        return self


class WebSearch(Section):
    """Who is asked. Where an address is set, that one is: the owner chose it, wherever it is."""

    provider: Literal["duckduckgo", "brave", "searxng"] = shown("web_search.provider", "duckduckgo")
    api_key: str = shown("web_search.api_key", "")
    base_url: str = shown("web_search.base_url", "", max_length=2000, pattern=r"^$|^https?://[^\s/@]+\S*$")


class Browser(Section):
    program: str = shown("browser.program", "", max_length=4096)
    show: bool = shown("browser.show", False)


class Budgets(Section):
    month_usd: float | None = Field(None, ge=0)
    day_usd: float | None = Field(None, ge=0)
    run_usd: float | None = Field(None, ge=0)


class Desktop(Section):
    theme: Literal["system", "light", "dark"] = shown("desktop.theme", "system")
    mascot: bool = shown("desktop.mascot", True)


class Classifier(Section):
    """Who weighs a question (empty: `small_model`), and the exact model of each level that has one of its own."""

    enabled: bool = False
    model: Pin = ""
    low: Pin = ""
    medium: Pin = ""
    high: Pin = ""


class Memory(Section):
    """`embeddings` is the exact model that facts are compared by in meaning; empty: by their words alone."""

    embeddings: Pin = ""


class LlmRouting(Section):
    """`fallback` is written as "provider:model" or as {"providerID", "modelID"}: exact pairs, each once."""

    fallback: tuple[Pair, ...] = Field((), max_length=8)
    classifier: Classifier = Classifier()
    max_retries_per_turn: int = Field(32, ge=0, le=200)

    @field_validator("fallback", mode="before")
    @classmethod
    def _as_pairs(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [
            f"{one['providerID']}:{one['modelID']}"
            if isinstance(one, dict) and set(one) == {"providerID", "modelID"}
            else one
            for one in value
        ]

    @field_validator("fallback")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) != len(set(value)):
            raise ValueError("a model stands in the list twice")
        return value


class Settings(Section):
    """The whole configuration of a home."""

    port: int = Field(7430, ge=0, le=65_535)
    host: str = "127.0.0.1"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    model: str = ""
    small_model: str = ""
    llm_routing: LlmRouting = LlmRouting()
    user: User = User()
    super_agent: SuperAgent = SuperAgent()
    engines: dict[str, Engine] = Field(default_factory=dict)
    telegram: Telegram = Telegram()
    file_delivery: FileDelivery = FileDelivery()
    phone: Phone = Phone()
    whatsapp: WhatsApp = WhatsApp()
    mcp: Mcp = Mcp()
    web_search: WebSearch = WebSearch()
    browser: Browser = Browser()
    memory: Memory = Memory()
    budgets: Budgets = Budgets()
    desktop: Desktop = Desktop()
