"""Saves responses to files, as requested by `>> file` in a request file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orgrest.http.values import Values
from orgrest.run.results import resolved

if TYPE_CHECKING:
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


def save(job: Job) -> Needing[None]:
    """For each `>> file` of the request, add the path and content of the file to `job.files`.

    Raises OrgrestError if the document may not write one of them.
    """
    from orgrest.run.writable_files import saved

    values, work = Values(job.parsed, job.context), job.work
    for saving in job.parsed.savings:
        path = yield from resolved(job.context, partial(values.text, saving.path))
        file = job.parsed.source.file or work.file
        allowed = work.settings.allow_write
        job.files.append((saved(saving, path, job.context, file, allowed), job.sent[1].body))
