r"""Prepares parsed requests for sending: variables, expressions, `< file` bodies.

In restclient's language, `:name` and `{{name}}` refer to a variable. An undefined `{{name}}` is an
error, and so is a dynamic value of request files, such as `{{$randomInt 1 6}}`. `:name` is text if
no variable of exactly that name is defined, or if a name character (letter, digit, `_`, `-`)
follows. If the name starts with a digit, `:name` is also text if a name character precedes the
colon, as in ports and times of day. The value comes from the first of these:

1. `--var name=value` or `--secret name=value` on the command line;
2. a capture by a request of the same block, unless the block redefines the name below that request;
3. the last `:name = value` in the block, above the request;
4. `:var name=value` of an Org block;
5. a capture by a request of an earlier block of the same document.

In request files, and in `http` and `rest` blocks without restclient's syntax, `{{...}}` refers to a
value. `:name` refers to a value only if the file has a line `:name = value`. The value comes from
the first of these:

1. `--var` or `--secret` on the command line, then `run other.http (@name=value)`;
2. the answer to `# @prompt name`, or the text of the file in `# @file-to-variable name file`;
3. a variable that a script of this run set;
4. `@name = value` in the file: the last definition above the end of the request, or else the first
   definition below it. The same definition applies within other values. Within its own value, a
   name has the meaning that it would have without this definition;
5. `:var name=value` of an Org block;
6. `{{$input ...}}` and `{{$password ...}}`, which are prompts; `{{$auth.token("id")}}`, an OAuth
   2.0 token; `{{$global.name}}`, an httpyac variable; `{{$.list..name}}`, one element of a list in
   each iteration (`run.stages.turns`); dynamic values such as `{{$uuid}}` (`dynamic`);
7. `{{login.response.body.$.token}}`, a part of the response to another request, which is sent
   first (`responses`);
8. a variable of an imported file;
9. a global script variable that an earlier run stored (`--globals`);
10. a variable in one of the environments selected with `--env` (`environments`);
11. a variable that a script of the document, or of an imported file, sets but has not set yet: in a
    run, this is an error;
12. an expression in JavaScript, `{{1 + 1}}` (`javascript`).

Values may refer to variables, except for captures, results, and values from the command line and
from environment variables: text sent by a server is never expanded.

`:name := EXPRESSION` is evaluated once per request. An expression is a number, `:name`, `{{name}}`,
a string in double quotes (in which variables are replaced), or a call to one of these functions:

    env("NAME")  env("NAME", "default")     an environment variable, or one from the env file
    netrc("host")  netrc("host", "login")   the password (or login, account) of a netrc entry
    uuid()                                  a random UUID
    now()  now("%Y-%m-%d")                  the time in UTC, in RFC 3339 or strftime's format
    base64(EXPRESSION)  urlencode(EXPRESSION)

No code is run: Emacs Lisp is an error, except for `(getenv "NAME")`. The values of `env` and
`netrc`, and values computed from them, are secrets, so results mask them.

The module `files` says which files a document may read.

Other modules: `context` holds the state that a document's requests share. `references` finds
references to variables in a string. `sources` implements the lists above, and looks up the
exchanges of other requests. `kept` stores the values of definitions that a run computes once.
`javascript` and `expressions` evaluate expressions. `values` replaces references. `expansion`
expands a request, and its function `check` reports the problems that would prevent this.
"""

from orgrest.http.values.context import Context, Helpers, Inputs, RequestNames
from orgrest.http.values.expansion import expand
from orgrest.http.values.values import Origin, Values

__all__ = ["Context", "Helpers", "Inputs", "Origin", "RequestNames", "Values", "expand"]
