"""Assembles requests that inherit settings from folders (Postman, Insomnia and Bruno)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from orgrest import classes
from orgrest.convert.shared import expectations
from orgrest.convert.shared.authorization import Authorization, header_of
from orgrest.convert.shared.forms import with_content_type
from orgrest.convert.shared.model import ConversionError, Note, Piece, Request
from orgrest.convert.shared.variables import Names
from orgrest.http.syntax import is_token

if TYPE_CHECKING:
    from orgrest.convert.shared.fields import Fields

Pairs: TypeAlias = "tuple[tuple[str, str], ...]"


@classes.frozen
class Inherited:
    """The settings that a request inherits from its folders.

    `before` and `after` contain scripts. `behavior` contains Postman's protocol settings.
    """

    authorization: Authorization | None = None
    headers: Pairs = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    behavior: Mapping[str, Any] = classes.field(factory=dict)

    def with_own(
        self,
        authorization: Authorization | None,
        headers: Iterable[tuple[str, str]],
        scripts: tuple[list[str], list[str]],
        behavior: Mapping[str, Any] | None = None,
    ) -> Inherited:
        """Return these settings combined with a folder's own settings, for the folder's items.

        The arguments are the folder's own settings.
        """
        return Inherited(
            self.authorization if authorization is None else authorization,
            _combined(self.headers, list(headers)),
            (*self.before, *scripts[0]),
            (*self.after, *scripts[1]),
            {**self.behavior, **(behavior or {})},
        )


def _combined(inherited: Pairs, own: list[tuple[str, str]]) -> Pairs:
    names = {key.lower() for key, _ in own}
    return (*(pair for pair in inherited if pair[0].lower() not in names), *own)


@classes.define
class Draft:
    """A request that still lacks inherited settings. `kind` is the media type of its body."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: tuple[Piece, ...] | None = None
    kind: str = ""
    authorization: Authorization | None = None
    definitions: Pairs = ()
    scripts: tuple[list[str], list[str]] = classes.field(factory=lambda: ([], []))
    directives: Iterable[str] = ()
    assertions: Iterable[str] = ()
    described: Iterable[str] = ()
    disabled: Iterable[str] = ()
    notes: Iterable[Note] = ()


class Reader:
    """Reads the requests of a collection. `names` contains the names of its variables.

    `cookies_sent` says what the tool does with the cookies that responses have set if a request
    also has a Cookie header. It is "" if the tool does the same as orgrest.
    """

    cookies_sent = ""

    def __init__(self) -> None:
        self.names = Names()

    def draft(self, fields: Fields, around: Inherited, /) -> Draft:
        """Return a request, to which `item` then adds inherited settings.

        `around` contains the settings to inherit. Raises ConversionError if the request is invalid.
        """
        raise NotImplementedError

    def item(self, fields: Fields, name: str, around: Inherited) -> Request:
        """Return a request with its inherited settings.

        If the request is invalid, return an empty request that has a note with the error.
        """
        self.names.unknown.clear()
        self.names.aliases.clear()
        try:
            request = self._put_together(self.draft(fields, around), fields, name, around)
        except Exception as error:
            notes = (Note.of_error(fields.place, error), *fields.unread())
            return Request("", "", name=name, notes=notes, place=fields.place)
        unknown = (
            Note(fields.place, f"{name} is not supported", blocks=True)
            for name in self.names.unknown
        )
        return classes.evolve(request, notes=(*request.notes, *unknown, *fields.unread()))

    def _put_together(self, own: Draft, fields: Fields, name: str, around: Inherited) -> Request:
        if not is_token(own.method):
            raise ConversionError(f"invalid method {own.method[:40]!r}")
        headers = with_content_type(_combined(around.headers, own.headers), own.kind)
        authorization = around.authorization if own.authorization is None else own.authorization
        url = own.url
        if authorization is not None:
            url, headers = authorization.applied(url, headers, self.names)
        assertions, after = expectations.all_translated((*around.after, *own.scripts[1]))
        scripts = (*around.before, *own.scripts[0])
        before = tuple(expectations.as_pm(script) for script in scripts if script.strip())
        notes = [*own.notes, *expectations.notes_on(before, after, fields.place)]
        inherited = around.authorization if own.authorization is None else None
        if inherited is not None and inherited.problem and not inherited.name:
            reason = f"inherited auth: {inherited.problem}"
            notes.append(Note(fields.place, reason, blocks=True))
        directives = tuple(own.directives)
        named = any(key.lower() == "cookie" for key, _ in headers)
        if named and self.cookies_sent and "no-cookie-jar" not in directives:
            reason = f"{self.cookies_sent}, but orgrest sends only the header Cookie"
            notes.append(Note(fields.place, reason))
        every = dict.fromkeys((*assertions, *((assertion, "") for assertion in own.assertions)))
        titled = {assertion for assertion, title in every if title}
        assertions = tuple(pair for pair in every if pair[1] or pair[0] not in titled)
        described = [*own.described, *(f"(disabled: {line})" for line in own.disabled)]
        return Request(
            own.method,
            url,
            name=name,
            headers=tuple(headers),
            body=own.body,
            directives=directives,
            assertions=tuple(assertion for assertion, _ in assertions),
            titles=tuple(title for _, title in assertions),
            before=before,
            after=tuple(after),
            definitions=(*own.definitions, *self.names.definitions()),
            description="\n".join(filter(None, described)),
            notes=tuple(notes),
            place=fields.place,
            shorthand=authorization is not None,
        )

    def credentials(
        self, fields: Fields, kind: str, parameters: Mapping[str, str], *, inherited: bool
    ) -> tuple[Authorization, Pairs]:
        """Return the credentials of a request or folder, and the variables that they need.

        `kind` and the keys of `parameters` are names that Postman uses. If `inherited` is true, a
        variable stores the credentials, because a folder's requests inherit them.
        """
        header = header_of(kind, parameters)
        if header.problem:
            fields.note(f"auth: {header.problem}", blocks=not header.name)
        if header.variables:
            prefix = self.names.free("login")
            variables = tuple((f"{prefix}_{name}", value) for name, value in header.variables)
            return classes.evolve(header, value=f"{header.value} {prefix}", variables=()), variables
        if not inherited or not header.value:
            return header, ()
        name = self.names.free("authorization")
        return classes.evolve(header, value=f"{{{{{name}}}}}"), ((name, header.value),)
