"""Where a turn goes, and where it may go if that fails: settings, layers and rules put together, before any request."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.config import Config
from core.errors import ApxError, NotConfigured
from core.runs import complexity, layers, selection, sight
from core.runs.ladder import LOCAL, Kind, Ladder, build, is_private, runs_here
from core.runs.quota import Circuits, Quota
from core.runs.retry import SEALED, Patience
from core.runs.routing import MODEL_FALLBACK, TABLE
from core.runs.targets import Target, parse
from core.runs.turn import Run, Turn
from core.store import Store
from core.texts import t

STAND_IN_RETRIES = (
    2  # a model that stands in has less patience, so that the turn's budget reaches the last of them
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One turn's route: the exact primary, who chose it, and what was granted to stand in."""

    primary: str
    selected_by: str
    ladder: Ladder
    unattended: bool
    retries: int  # of the whole turn, all targets together
    health_s: float

    @property
    def chosen(self) -> bool:
        """The owner named this model for this work."""
        return self.selected_by == "turn"


class Router:
    """Reads, decides and explains; asks no model."""

    def __init__(
        self, config: Config, store: Store, quota: Quota, circuits: Circuits, managed: Path | None = None
    ) -> None:
        self.managed = managed or layers.managed_file()
        self._config = config
        self._store = store
        self._quota = quota
        self._circuits = circuits

    def base_url(self, provider: str) -> str:
        engine = self._config.now.engines.get(provider)
        return engine.base_url if engine else ""

    def runs_here(self, target: str) -> bool:
        """Whether a request to it stays on this machine."""
        one = parse(target)
        return runs_here(one, self.base_url(one.provider))

    def is_free(self, target: str) -> bool:
        """Whether it costs nothing: a program of this machine by name; what merely listens here may pass it on."""
        return parse(target).provider in LOCAL and self.runs_here(target)

    def unseen(self, run: Run) -> list[str]:
        """The pictures of a question that the model which answered was only told the names of."""
        names = [one.name for one in run.turn.attachments if one.mime in sight.MIMES]
        return [] if not run.target or self.sees(run.target) else names

    def sees(self, target: str) -> bool:
        """Whether the model is given pictures: by its name, or because the provider's settings say so."""
        one = parse(target)
        engine = self._config.now.engines.get(one.provider)
        return sight.sees(one.model, engine.sees if engine else ())

    def is_private(self, target: str) -> bool:
        """Whether a conversation with it stays local."""
        one = parse(target)
        return is_private(one, self.base_url(one.provider))

    async def plan(self, turn: Turn, lang: str, *, context_chars: int = 0) -> Plan:
        """The route of a turn; raises where no model is selected, and never picks one by itself."""
        settings = self._config.now
        of = selection.facts(turn, context_chars)
        chosen = selection.select(settings, asked=turn.model, of=of)
        if not settings.super_agent.enabled:
            raise NotConfigured(t("run.not_enabled" if chosen else "run.not_set", lang))
        if chosen is None:
            headless = turn.channel in selection.HEADLESS
            raise NotConfigured(t("run.no_model_headless" if headless else "run.no_model", lang))
        primary = str(parse(chosen.model))
        ladder = await self.ladder(primary, turn.project_id)
        fallback = settings.super_agent.model_fallback
        return Plan(
            primary=primary,
            selected_by=chosen.by,
            ladder=ladder,
            unattended=selection.unattended(turn),
            retries=settings.llm_routing.max_retries_per_turn,
            health_s=fallback.health_timeout_ms / 1000,
        )

    async def ladder(self, primary: str, project_id: str = "default") -> Ladder:
        """What may stand in for a primary in a project."""
        row = await self._store.one("select path from projects where id = ?", project_id)
        folder = Path(row["path"]) if row and row["path"] else None
        found = layers.read(self._config, folder, self.managed)
        return build(found, primary, private=self.is_private, here=self.runs_here)

    def auxiliary(self, primary: str, lang: str, *, role: str = "") -> Target:
        """The model of auxiliary work beside a primary; an invalid pin fails, a local conversation stays local."""
        settings = self._config.now
        pin = role or settings.small_model
        chosen = selection.auxiliary(
            settings,
            primary,
            role=role,
            private=self.is_private(primary),
            stays=not pin or self.runs_here(pin),
            lang=lang,
        )
        return parse(chosen.model)

    async def explained(self, lang: str, *, model: str | None = None, project_id: str = "default") -> Any:
        """The configuration in force as `apx debug routing` and the window show it."""
        settings = self._config.now
        agent = settings.super_agent
        said: dict[str, Any] = {"enabled": agent.enabled, "primary": None, "selected_by": "", "problem": ""}
        chosen = selection.select(
            settings.model_copy(
                update={
                    "super_agent": agent.model_copy(
                        update={"routing": agent.routing.model_copy(update={"enabled": False})}
                    )
                }
            ),
            asked=model,
            of=selection.Facts("", ""),
        )
        ladder = Ladder()
        try:
            if chosen:
                primary = str(parse(chosen.model))
                said |= {"primary": primary, "selected_by": chosen.by, "local": self.is_private(primary)}
                ladder = await self.ladder(primary, project_id)
            else:
                said["problem"] = t("run.no_model", lang)
        except ApxError as error:
            said["problem"] = str(error)
        cooling = await self._quota.cooling()
        return said | {
            "fallback": [asdict(one) | {"cooling": one.target in cooling} for one in ladder.rungs],
            "narrowed": [
                asdict(one) | {"reason": t(f"routing.removed.{one.why}", lang, by=one.by)}
                for one in ladder.removed
            ],
            "model_fallback": {
                "enabled": agent.model_fallback.enabled,
                "models": list(agent.model_fallback.models),
                "health_timeout_ms": agent.model_fallback.health_timeout_ms,
            },
            "auxiliary": self._auxiliary_explained(str(said["primary"] or ""), lang),
            "classifier": self._classifier_explained(str(said["primary"] or ""), said["selected_by"], lang),
            "pins": {
                "super_agent.judge.model": agent.judge.model,
                "small_model": settings.small_model,
                f"{complexity.SETTING}.model": settings.llm_routing.classifier.model,
                "memory.embeddings": settings.memory.embeddings,
            },
            "rules": [
                {"model": rule.model, "when": rule.when.model_dump(exclude_defaults=True)}
                for rule in agent.routing.rules
                if agent.routing.enabled
            ],
            "limits": self._limits(),
            "cooling": [asdict(one) for one in cooling.values()],
            "circuits": self._circuits.opened(),
            "grants": [kind.name.lower() for kind in Kind if kind.grants],
            "managed": str(self.managed) if self.managed.exists() else "",
        }

    def _auxiliary_explained(self, primary: str, lang: str) -> dict[str, str]:
        if not primary:
            return {"model": "", "problem": ""}
        try:
            return {"model": str(self.auxiliary(primary, lang)), "problem": ""}
        except ApxError as error:
            return {"model": "", "problem": str(error)}

    def _classifier_explained(self, primary: str, selected_by: str, lang: str) -> dict[str, Any]:
        """Who weighs a question and where each level would go; `problem` says why nothing is weighed."""
        settings = self._config.now
        classifier, pin = settings.llm_routing.classifier, complexity.auxiliary(settings)
        private = bool(primary) and self.is_private(primary)
        why = complexity.why_not(
            settings,
            selected_by=selected_by,
            sealed=False,
            private=private,
            stays=bool(pin) and self.runs_here(pin),
            requests_left=settings.llm_routing.max_retries_per_turn,
        )
        levels = {
            str(level): asdict(
                complexity.decide(level, classifier, primary=primary, private=private, here=self.runs_here)
            )
            for level in complexity.Level
        }
        said = {"target": primary, "pin": pin, "level": "", "reason": ""}
        return {
            "enabled": classifier.enabled,
            "model": pin,
            "levels": levels,
            "limit_s": complexity.LIMIT_S,
            "problem": t(f"routing.classified.{why}", lang, **said)
            if primary and why not in {"", "off"}
            else "",
        }

    def _limits(self) -> dict[str, Any]:
        patience = Patience()
        return {
            "same_target_retries": patience.retries,
            "concurrency_retries": patience.concurrency,
            "stand_in_retries": STAND_IN_RETRIES,
            "unattended_decision_retries": SEALED.retries,
            "retries_per_turn": self._config.now.llm_routing.max_retries_per_turn,
            "seconds_per_answer": patience.total_s,
            "classes": {
                kind: {"retries": rule.retries, "advance": rule.advance.value} for kind, rule in TABLE.items()
            },
            "quota_advances_along": MODEL_FALLBACK,
            "quota_cooldown_min": self._config.now.super_agent.quota_cooldown_min,
        }
