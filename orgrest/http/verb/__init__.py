"""verb's request language (https://github.com/federicotdn/verb, its README and `verb.el`).

    # comments and properties
    post /users?page=2                    a method or `template`, in upper or lower case,
                                          followed by a URL or part of one
    Content-Type: application/json        headers

    {"name": "{{(verb-var name)}}"}       an empty line, then the body

`parsing.verb` parses the text of one heading or block. `merging` merges a request with the requests
of its parent headings: it concatenates paths, merges queries and headers, and uses the innermost
method and body. A heading that sets a new origin (scheme, user, host, port) inherits nothing from
the headings above it. `tags` evaluates `{{...}}`, which can only call a few listed functions.

Unlike in verb, blanks at the end of a URL are not sent.
"""

from orgrest.http.verb.merging import expand, method

__all__ = ["expand", "method"]
