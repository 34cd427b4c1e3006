"""`# @note QUESTION` asks the user before the request is sent. Source: httpyac's guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Job


def act(text: str, job: Job) -> None:
    """Ask the user whether to send the request, and decline it if the answer is no.

    A dry run does not ask. Raises EvaluationError if the user cannot be asked.
    """
    if job.work.settings.dry_run:
        return
    ask = job.work.services.ask
    if ask is None:
        raise EvaluationError("@note asks for confirmation, which requires a terminal")
    if not ask(text or f"Send {job.parsed.title}?"):
        job.decline("not sent: you declined (@note)")
