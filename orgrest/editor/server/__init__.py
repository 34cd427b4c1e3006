"""The language server, which brings orgrest to any editor over LSP.

The other modules of `orgrest.editor` compute what an editor shows. This package keeps the open
documents (`documents`), answers the client (`features`), and sends requests at the user's command
(`commands`, `sending`). `notifications` reports the outcomes to clients that display responses
themselves. docs/language-server.md is for authors of editor extensions.

Rules:

- Nothing is sent, run or written unless the user gives a command.
- Slow handlers run in a thread. A run has its own thread (`background_run`), shows its progress,
  and can be cancelled.
- The text in the editor is used, not the file on disk. A result is inserted below its block, even
  if the block has moved. The edit changes nothing else.
- Cookies and the variables that responses and scripts set are kept while their document is open.
  Connections are kept for one run.
"""
