"""What editors ask: completion, diagnostics, hover, rename, outline; the language server."""
