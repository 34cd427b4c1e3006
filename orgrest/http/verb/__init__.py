"""verb's request language (https://github.com/federicotdn/verb, its README and `verb.el`).

    # comments and properties
    post /users?page=2                    method in any case, or `template`; a URL or a part of it
    Content-Type: application/json        headers

    {"name": "{{(verb-var name)}}"}       an empty line, then the body

`parsing.verb` parses one heading's text or one block. `merging` completes a request with those of
its parent headings: paths are concatenated, query and headers are merged, the last method and body
are used, and another origin (scheme, user, host, port) discards the levels above. `tags` evaluates
`{{...}}`: a short list of functions, no code.

Unlike verb, blanks at the end of a URL are not sent.
"""

from orgrest.http.verb.merging import expand, method

__all__ = ["expand", "method"]
