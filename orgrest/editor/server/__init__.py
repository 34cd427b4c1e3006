"""The language server: orgrest in any editor, over LSP.

`completion`, `analysis` and the other modules of `orgrest.editor` compute what an editor shows.
This package keeps the open documents (`documents`), answers the client (`features`), and sends
requests on the user's command (`commands`, `sending`); `notifications` reports their outcomes to
clients with their own views. docs/language-server.md is for authors of editors' extensions. Rules:

- Nothing is sent, run or written except by a command of the user.
- Slow handlers work in a thread. A run has its own thread (`run`), shows its progress, and can be
  cancelled.
- The editor's text counts, not the file on disk. A result is inserted below its block, even if the
  block has moved, by an edit that changes nothing else.
- Cookies, and variables that responses and scripts set, last as long as their document is open,
  connections as long as one run.
"""
