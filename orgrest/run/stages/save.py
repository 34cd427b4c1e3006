"""Saves responses to files, as requested by `>> file` in a request file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.http.values import Values
from orgrest.http.values.context import NeededError
from orgrest.http.values.references import UNKNOWN
from orgrest.model import OrgrestError
from orgrest.rendering.masking import mask_bytes
from orgrest.run.directives import place_of
from orgrest.run.outcomes import EvaluationError
from orgrest.run.results import resolved

if TYPE_CHECKING:
    from orgrest.http.syntax import Saving
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


def check(job: Job) -> None:
    """Raise OrgrestError if the request names a file that it may not write.

    This applies to dry runs, too. Names that only the run provides are checked by `save`.
    """
    late = job.context.placeholders or {"captures", "scripts"} & job.features
    for saving in job.parsed.savings:
        problems: list[OrgrestError] = []
        try:
            values = Values(job.parsed, job.context.apart(), problems=problems)
            path = values.text(saving.path)
        except (OrgrestError, NeededError):
            continue
        if path == saving.path.text or not (late or problems or UNKNOWN in path):
            _target(job, saving, path)


def save(job: Job) -> Needing[None]:
    """Save the response to the file of each `>> file` line of the request.

    Raises OrgrestError if the document may not write a file, if writing fails, or if only the
    beginning of the body was read. If the run writes no files, the paths are only checked.
    """
    context, write = job.context, job.work.services.write
    values = Values(job.parsed, context)
    for saving in job.parsed.savings:
        path = yield from resolved(context, partial(values.text, saving.path))
        target = _target(job, saving, path)
        if write is None:
            continue
        try:
            body = job.sent[1].whole_body()
            write(target, body)
        except OrgrestError as error:
            raise EvaluationError(f"could not save the response: {error}") from error
        job.files.append((target, body))
        if mask_bytes(body, context.secrets.texts) != body:
            job.notes.append(
                f"{target.name} contains a secret, because >> saves what the server sent: do not "
                "share the file"
            )


def _target(job: Job, saving: Saving, path: str) -> Path:
    from orgrest.run.writable_files import saved

    context, work = job.context, job.work
    file = job.parsed.source.file or work.file
    documents = {context.inputs.directory.resolve() / Path(work.file).name, *context.names.paths()}
    with place_of(saving, job.parsed.source):
        return saved(saving, path, context, file, documents, work.settings.allow_write)
