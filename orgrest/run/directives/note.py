"""`# @note QUESTION` asks the user before the request is sent. Source: httpyac's guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Job


def act(text: str, job: Job) -> None:
    """Ask the user whether to send the request. If the answer is no, the request is not sent.

    A dry run does not ask. Raises EvaluationError if there is no user to ask.
    """
    if job.work.settings.dry_run:
        return
    ask = job.work.services.ask
    if ask is None:
        raise EvaluationError("@note asks for confirmation, which requires a terminal")
    if not ask(text or f"Send {job.parsed.title}?"):
        job.decline("not sent: you declined (@note)")
