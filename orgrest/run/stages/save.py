"""Saves responses to files, as requested by `>> file` in a request file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.http.values import Values
from orgrest.model import OrgrestError
from orgrest.rendering.masking import mask_bytes
from orgrest.run.outcomes import EvaluationError
from orgrest.run.results import resolved

if TYPE_CHECKING:
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


def save(job: Job) -> Needing[None]:
    """Save the response to the file of each `>> file` line of the request.

    Raises OrgrestError if the document may not write a file, if writing fails, or if only the
    beginning of the body was read. If the run writes no files, the paths are only checked.
    """
    from orgrest.run.writable_files import saved

    context, work = job.context, job.work
    values, write = Values(job.parsed, context), work.services.write
    file = job.parsed.source.file or work.file
    documents = {context.inputs.directory.resolve() / Path(work.file).name, *context.names.paths()}
    for saving in job.parsed.savings:
        path = yield from resolved(context, partial(values.text, saving.path))
        target = saved(saving, path, context, file, documents, work.settings.allow_write)
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
