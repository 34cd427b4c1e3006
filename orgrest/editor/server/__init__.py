"""The language server: orgrest in any editor, over LSP.

What an editor shows comes from `completion`, `analysis` and their like; this package keeps the open
documents (`documents`), answers the client (`features`), and sends requests when the user says so
(`commands`, `sending`). Rules:

- Nothing is sent, run or written but by a command of the user's.
- Handlers that take long work in a thread; a run has one of its own (`run`), its progress is shown,
  and it can be cancelled.
- The text in the editor is what counts, not the file. A result is put in below its own block by an
  edit that touches nothing else, wherever the block is by then.
- Cookies and captured variables last as long as their document is open; connections as long as
  one run.
"""
