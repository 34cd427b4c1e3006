"""Reads and writes requests in the formats of other tools.

`formats` lists the formats, and recognizes the format of a source by its content. The module of a
format has some or all of the functions `recognizes`, `read` and `write`.

To import, `read` returns a `shared.model.Collection`, and `shared.documents` writes it as a request
file or an Org document. Each written request is parsed again. If its meaning has changed, that is
reported.

To export, `shared.completing` fills in a document's requests in a dry run, which sends nothing.
`write` then gets them as a `shared.exports.Export`.

Imported files are not trusted. Their size and depth are limited, no code in them runs, and nothing
is downloaded. In JSON and YAML, each field that was not read is reported (see `shared.fields`).
"""
