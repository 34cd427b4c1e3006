"""Requests in the formats of other tools: read and written.

`formats` has a row for each format and recognizes a source by its content; a module per format has
`recognizes`, `read` and `write`. Readers build a `shared.model.Collection`, which
`shared.documents` writes as a request file or an Org document: every request is parsed again before
it is kept, so what is written reads back as what the source says, or is reported. Writers get a
`shared.exports.Export`, which `shared.completing` makes of a document as a dry run does.

Readers of JSON and YAML use `shared.fields.Fields`, which remembers what was read: a field that
nobody asked for is reported, so that nothing is lost silently. Sources are untrusted: their size
and depth are limited, nothing in them runs, and nothing is fetched.
"""
