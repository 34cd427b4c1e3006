"""A document that is evaluated in this process, with everything that a test may ask about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest.http.transport.client import Client
from orgrest.http.values import Inputs
from orgrest.run.plan import Choice
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    from orgrest.model import Verdict
    from orgrest.run.outcomes import Outcome


class Evaluated:
    """The outcomes of a document, its new text, and its plan.

    In the text, HOST stands for `url`. `plain` means a request file (default: the suffix of `file`
    decides). `client` is closed at the end, like the default client. `services` are other services,
    and `options` are fields of the settings.
    """

    def __init__(
        self,
        text: str,
        inputs: Inputs | None = None,
        *,
        file: str = "a.http",
        url: str = "HOST",
        plain: bool | None = None,
        client: Client | None = None,
        services: dict[str, Any] | None = None,
        names: tuple[str, ...] = (),
        **options: Any,
    ) -> None:
        choice = Choice(names, alone=True)
        settings = Settings(inputs or Inputs(), choice=choice, **options)
        with client or Client() as used:
            run = Run(
                text.replace("HOST", url),
                file=file,
                settings=settings,
                services=Services(client=None if settings.dry_run else used, **services or {}),
                plain=file.endswith(".http") if plain is None else plain,
            )
            self.outcomes: list[Outcome] = list(run.outcomes())
        self.text = run.document.text
        self.plan = run.plan

    @property
    def states(self) -> list[str]:
        return [outcome.state for outcome in self.outcomes]

    @property
    def reasons(self) -> list[str]:
        return [str(outcome.reason) for outcome in self.outcomes if outcome.reason is not None]

    @property
    def tests(self) -> list[Verdict]:
        return [test for outcome in self.outcomes for test in outcome.tests]
