"""Which models may stand in: only the owner grants, all others narrow, and the order of reading does not matter."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import Config
from core.errors import Invalid, Refused
from core.events import Bus
from core.paths import Home
from core.runs import layers
from core.runs.ladder import MOST, Kind, Ladder, Layer, build, is_private, loopback, runs_here
from core.runs.routing import LLM_ROUTING, MODEL_FALLBACK
from core.runs.selection import Facts, auxiliary, matches, select
from core.runs.targets import parse
from core.settings import LlmRouting, Routing, RoutingRule, RoutingWhen, Settings, SuperAgent

NAMES = [f"p{n % 3}:m{n}/x" for n in range(10)]
lists = st.one_of(st.none(), st.lists(st.sampled_from(NAMES), unique=True, max_size=8).map(tuple))
kinds = st.sampled_from(list(Kind))


@st.composite
def some_layers(draw: st.DrawFn) -> list[Layer]:
    found = []
    for number, kind in enumerate(draw(st.lists(kinds, max_size=7))):
        if kind.grants and any(one.kind is kind for one in found):
            continue  # each granting layer exists once
        broken = "" if kind.grants else draw(st.sampled_from(["", "", "", "ValueError"]))
        switch = draw(st.sampled_from([None, True, False]))
        found.append(Layer(kind, f"{kind.name}{number}", draw(lists), draw(lists), switch, broken))
    return found


def ladder(found: list[Layer], primary: str = "first:one") -> Ladder:
    return build(found, primary, private=lambda _: False, here=lambda _: True)


def targets(found: Ladder) -> list[str]:
    return [rung.target for rung in found.rungs]


@given(some_layers(), st.randoms())
def test_the_order_in_which_layers_are_read_does_not_matter(
    found: list[Layer], shuffle: random.Random
) -> None:
    again = list(found)
    shuffle.shuffle(again)
    assert ladder(again) == ladder(found)


@given(some_layers(), lists, lists, st.sampled_from([Kind.REMOTE, Kind.PROJECT, Kind.MANAGED]))
def test_one_more_restriction_only_takes_away_and_keeps_the_owners_order(
    found: list[Layer], fallback: tuple[str, ...] | None, models: tuple[str, ...] | None, kind: Kind
) -> None:
    everything = Layer(Kind.USER, "", ())  # keeps the cap of eight out of the comparison
    before = ladder([everything, *found])
    after = ladder([everything, *found, Layer(kind, "one more", fallback, models)])
    if len(before.rungs) == MOST:
        return
    kept = set(targets(after))
    assert kept <= set(targets(before))
    # the same target may have been kept through the second list it stands in, never in a new place of the first
    assert [one for one in targets(before) if one in kept] == targets(after)


@given(some_layers())
def test_only_what_the_owner_granted_is_ever_there(found: list[Layer]) -> None:
    granted = {
        one
        for layer in found
        if layer.kind.grants
        for one in (*(layer.fallback or ()), *(layer.models or ()))
    }
    made = ladder(found)
    assert set(targets(made)) <= granted
    assert len(targets(made)) == len(set(targets(made))) <= MOST


A, B, C = "a:1", "b:2/x", "c:3"
USER = Layer(Kind.USER, "config.json", (A, B, C))


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ([], [A, B, C]),
        ([Layer(Kind.PROJECT, "p", (C, A, "d:4"))], [A, C]),
        ([Layer(Kind.PROJECT, "p", ())], []),
        ([Layer(Kind.PROJECT, "p")], [A, B, C]),
        ([Layer(Kind.REMOTE, "r", (A,)), Layer(Kind.PROJECT, "p", (B,))], []),
        ([Layer(Kind.MANAGED, "m", (B, C)), Layer(Kind.PROJECT, "p", (A, B))], [B]),
        ([Layer(Kind.MANAGED, "m", ())], []),
        ([Layer(Kind.INLINE, "i", (C, B)), Layer(Kind.PROJECT, "p", (B, C))], [C, B]),
        ([Layer(Kind.CUSTOM, "c", (B,)), Layer(Kind.INLINE, "i", ())], []),
        ([Layer(Kind.PROJECT, "p", broken="ValueError")], []),
        ([Layer(Kind.USER, "u2", models=("d:4",), enabled=True)], [A, B, C, "d:4"]),
    ],
)
def test_grants_and_restrictions(more: list[Layer], left: list[str]) -> None:
    assert targets(ladder([USER, *more])) == left


def test_what_is_not_in_force_says_why_and_by_whom() -> None:
    found = [USER, Layer(Kind.PROJECT, "/p/.apx/config.json", (A, C)), Layer(Kind.MANAGED, "/etc", (A, B))]
    made = ladder(found, primary=A)
    assert [(one.target, one.why, one.by) for one in made.removed] == [
        (A, "primary", ""),
        (B, "project", "/p/.apx/config.json"),
        (C, "managed", "/etc"),
    ]
    assert made.why_none == "narrowed"
    assert ladder([]).why_none == "no_grant"
    assert ladder([USER]).why_none == "no_more"


def test_a_list_that_holds_the_primary_goes_on_with_the_second() -> None:
    assert targets(ladder([USER], primary=A)) == [B, C]


def test_both_lists_together_are_eight_at_most_and_each_target_once() -> None:
    models = tuple(f"x:{n}" for n in range(17))
    made = ladder([Layer(Kind.USER, "u", (A, "x:3"), models, True)])
    assert targets(made) == [A, "x:3", "x:0", "x:1", "x:2", "x:4", "x:5", "x:6"]
    assert {one.why for one in made.removed} == {"twice", "beyond"}
    assert {rung.via for rung in made.rungs} == {LLM_ROUTING, MODEL_FALLBACK}


def test_the_second_list_counts_only_where_it_is_on_and_no_restriction_turns_it_off() -> None:
    models = Layer(Kind.USER, "u", models=(A,), enabled=True)
    assert targets(ladder([models])) == [A]
    assert targets(ladder([Layer(Kind.USER, "u", models=(A,))])) == []
    assert targets(ladder([models, Layer(Kind.PROJECT, "p", enabled=False)])) == []
    assert targets(ladder([Layer(Kind.USER, "u", models=(A,)), Layer(Kind.PROJECT, "p", enabled=True)])) == []


def test_a_local_primary_gives_way_only_to_what_runs_here() -> None:
    made = build([USER], "ollama:x", private=lambda _: True, here=lambda one: one == C)
    assert targets(made) == [C]
    assert build([USER], "ollama:x", private=lambda _: True, here=lambda _: False).why_none == "local"


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:11434", True), ("https://localhost/v1", True), ("http://[::1]:8080", True),
        ("http://127.9.9.9", True), ("http://[::ffff:127.0.0.1]/v1", True),
        ("http://127.gateway.example", False), ("http://localhost.example", False), ("http://192.168.1.4", False),
        ("ftp://127.0.0.1", False), ("", False), ("http://[::1", False), ("http://0.0.0.0", False),
    ],
)  # fmt: skip
def test_this_machine_by_its_exact_address(url: str, here: bool) -> None:
    assert loopback(url) is here


@pytest.mark.parametrize(
    ("target", "url", "private", "here"),
    [
        ("ollama:qwen3", "", True, True),
        ("ollama:qwen3", "http://192.168.1.4:11434", True, False),
        ("ollama:gpt-oss:120b-cloud", "", True, False),
        ("practice:rules", "", True, True),
        ("openai:gpt-4o", "", False, False),
        ("gateway:x/y", "http://127.0.0.1:4000", True, True),
        ("gateway:x/y", "http://gateway.example", False, False),
    ],
)
def test_what_counts_as_local(target: str, url: str, private: bool, here: bool) -> None:
    one = parse(target)
    assert (is_private(one, url), runs_here(one, url)) == (private, here)


def test_the_list_is_exact_pairs_each_once_and_eight_at_most() -> None:
    pairs = [{"providerID": "my-gateway", "modelID": "openai/gpt-oss-120b"}, "b:2"]
    assert LlmRouting.model_validate({"fallback": pairs}).fallback == (
        "my-gateway:openai/gpt-oss-120b",
        "b:2",
    )
    for wrong in (["a:1", "a:1"], [f"a:{n}" for n in range(9)], ["bare"], [{"providerID": "a"}], [3]):
        with pytest.raises(ValueError, match="fallback"):
            LlmRouting.model_validate({"fallback": wrong})


async def _layers(tmp_path: Path, project: str | None, managed: str | None) -> list[Layer]:
    home = Home(tmp_path / "apx")
    home.make()
    config = Config(home, Bus())
    await config.set({"llm_routing.fallback": [A, B], "super_agent.model_fallback.models": [C]})
    folder = tmp_path / "project"
    (folder / ".apx").mkdir(parents=True, exist_ok=True)
    if project is not None:
        (folder / ".apx" / "config.json").write_text(project)
    if managed is not None:
        (tmp_path / "managed.json").write_text(managed)
    return layers.read(config, folder, tmp_path / "managed.json")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("project", "managed", "left"),
    [
        (None, None, [A, B]),
        (json.dumps({"llm_routing": {"fallback": [{"providerID": "b", "modelID": "2/x"}]}}), None, [B]),
        ("{broken", None, []),
        ("[]", None, []),
        ('{"llm_routing": 3}', None, []),
        ('{"llm_routing": {"fallback": "all"}}', None, []),
        ('{"super_agent": {"model_fallback": {"enabled": true, "models": ["a:1"]}}}', None, [A]),
        (None, '{"llm_routing": {"fallback": []}}', []),
        ('{"permission_mode": "total"}', "{}", [A, B]),
    ],
)
async def test_what_files_say(
    tmp_path: Path, project: str | None, managed: str | None, left: list[str]
) -> None:
    assert targets(ladder(await _layers(tmp_path, project, managed))) == left


@pytest.mark.anyio
async def test_what_the_environment_lays_over_the_file_grants_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"llm_routing": {"fallback": [C]}}))
    monkeypatch.setenv("APX_CONFIG", str(tmp_path / "mine.json"))
    found = await _layers(tmp_path, None, None)
    assert [(rung.target, rung.granted_by) for rung in ladder(found).rungs] == [(C, "APX_CONFIG")]
    monkeypatch.setenv("APX_CONFIG_CONTENT", json.dumps({"llm_routing": {"fallback": [B, A]}}))
    found = await _layers(tmp_path, json.dumps({"llm_routing": {"fallback": [A]}}), None)
    assert [(rung.target, rung.granted_by) for rung in ladder(found).rungs] == [(A, "APX_CONFIG_CONTENT")]


def settings(*rules: RoutingRule, enabled: bool = True, model: str = "p:main", **more: str) -> Settings:
    routing = Routing(enabled=enabled, rules=rules)
    return Settings(super_agent=SuperAgent(enabled=True, model=model, routing=routing), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({}, True),
        ({"has_image": True}, False), ({"has_image": False}, True),
        ({"min_prompt_chars": 11}, True), ({"min_prompt_chars": 12}, False),
        ({"max_prompt_chars": 11}, True), ({"max_prompt_chars": 10}, False),
        ({"min_context_chars": 500}, True), ({"min_context_chars": 501}, False),
        ({"channels": ("telegram", "cli")}, True), ({"channels": ("web",)}, False),
        ({"keywords": ("QUÉ", "zz")}, True), ({"keywords": ("zz",)}, False),
        ({"keywords": ("hora",), "channels": ("web",)}, False),
    ],
)  # fmt: skip
def test_a_rule_fits_when_all_of_it_fits(when: dict[str, object], fits: bool) -> None:
    of = Facts("cli", "¿Qué hora es"[:11], False, 500)
    assert matches(RoutingWhen.model_validate(when), of) is fits


def test_the_first_rule_that_fits_wins_and_what_was_asked_for_wins_over_all() -> None:
    rules = (
        RoutingRule(model="p:web", when=RoutingWhen(channels=("web",))),
        RoutingRule(model="p:any"),
        RoutingRule(model="p:never"),
    )
    of = Facts("cli", "hi")
    chosen = select(settings(*rules), asked=None, of=of)
    assert chosen is not None
    assert (chosen.model, chosen.by) == ("p:any", "super_agent.routing.rules[1]")
    assert select(settings(*rules), asked="p:mine", of=of).by == "turn"  # type: ignore[union-attr]
    assert select(settings(*rules, enabled=False), asked=None, of=of).by == "super_agent.model"  # type: ignore[union-attr]
    assert select(settings(model=""), asked=None, of=of) is None
    plain = Settings(model="p:plain")
    assert select(plain, asked=None, of=of).by == "model"  # type: ignore[union-attr]


def test_a_rule_names_a_model_and_its_words_are_words() -> None:
    with pytest.raises(ValueError, match="provider:model"):
        RoutingRule(model="bare")
    with pytest.raises(ValueError, match="two characters"):
        RoutingWhen(keywords=("x",))


def test_auxiliary_work_inherits_the_primary_and_pins_are_exact() -> None:
    def of(pin: str = "", *, role: str = "", private: bool = False, stays: bool = True) -> tuple[str, str]:
        chosen = auxiliary(
            Settings(small_model=pin), "p:main", role=role, private=private, stays=stays, lang="en"
        )
        return chosen.model, chosen.by

    assert of() == ("p:main", "primary")
    assert of("q:small") == ("q:small", "small_model")
    assert of("q:small", role="r:judge") == ("r:judge", "role")
    assert of("q:small", private=True, stays=True) == ("q:small", "small_model")
    with pytest.raises(Refused, match="local"):
        of("q:small", private=True, stays=False)
    with pytest.raises(Invalid, match="provider:model"):
        of("small")
