"""Everything that can go wrong, in one tree.

    ApxError
    ├── Refused               a rule said no: the model may try another way
    │   ├── BudgetSpent       ... and the rule was a limit
    │   └── NotConfigured     ... and a setting is missing; the sentence names the command that sets it
    ├── Unavailable           the world said no: later may work
    │   ├── PhoneUnreachable  ... and it is the phone; `state` says which kind of absence
    │   ├── ModelUnavailable  ... and it is a model; `kind` says which class of failure
    │   └── AlreadyRunning    ... another process owns this home
    ├── NotFound              the thing named is not there, or is not yours
    └── Invalid               the input was wrong: the same call fails again

Each carries one sentence that the owner and the model can both read. Whatever is not an ApxError is a
bug: nobody catches it, and the log keeps its traceback.
"""


class ApxError(Exception):
    """Base of all expected failures; `str(error)` is a sentence for people.

    `code` is the slug that the HTTP API answers beside the sentence.
    """

    code = "failed"


class Refused(ApxError):
    code = "refused"


class BudgetSpent(Refused):
    code = "budget_spent"


class NotConfigured(Refused):
    code = "not_configured"


class Unavailable(ApxError):
    code = "unavailable"


class PhoneUnreachable(Unavailable):
    """The phone cannot be used now.

    `state` is one of: no_adb, absent, unauthorized, offline, no_permissions, other_phone, locked,
    whatsapp_missing, whatsapp_stuck, input_forbidden, busy, timeout, not_configured.
    """

    code = "phone_unreachable"

    def __init__(self, state: str, sentence: str) -> None:
        super().__init__(sentence)
        self.state = state


class ModelUnavailable(Unavailable):
    """A model did not answer.

    `kind` is one of: auth, permission, quota, rate_limit, concurrency, overloaded, server, timeout,
    network, invalid, not_found, empty.
    """

    code = "model_unavailable"

    def __init__(self, kind: str, sentence: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.retry_after_s = retry_after_s


class AlreadyRunning(Unavailable):
    code = "already_running"


class NotFound(ApxError):
    code = "not_found"


class Invalid(ApxError):
    code = "invalid"

    def __init__(self, sentence: str, *, fields: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.fields = fields
