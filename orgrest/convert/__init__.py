"""Reads and writes requests in the formats of other tools.

`formats` has a row for each format and recognizes a source by its content; a module per format has
`recognizes`, `read` and `write`. Readers build a `shared.model.Collection`, which
`shared.documents` writes as a request file or an Org document: every written request is parsed
again, so it either has the meaning of the source, or is reported. Writers get a
`shared.exports.Export`, which `shared.completing` creates from a document like a dry run.

Readers of JSON and YAML use `shared.fields.Fields`, which remembers the fields that were read: any
other field is reported, so that nothing is lost silently. Sources are untrusted: their size and
depth are limited, nothing in them runs, and nothing is fetched.
"""
