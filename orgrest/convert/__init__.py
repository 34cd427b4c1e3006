"""Reads and writes requests in the formats of other tools.

`formats` has a row for each format, and recognizes the format of a source by its content. Each
format has a module with some or all of the functions `recognizes`, `read` and `write`.

Readers build a `shared.model.Collection`, which `shared.documents` writes as a request file or an
Org document. Every written request is parsed again, and reported if its meaning differs from the
source. Writers get a `shared.exports.Export`. `shared.completing` builds it from a document. It
fills in the requests as in a dry run, so nothing is sent.

Readers of JSON and YAML use `shared.fields.Fields`, which records the fields that were read. All
other fields are reported, so nothing is lost silently. Sources are untrusted: their size and depth
are limited, no code in them runs, and nothing is downloaded.
"""
