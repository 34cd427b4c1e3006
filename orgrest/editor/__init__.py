"""Editor features: completion, diagnostics, hover, rename, outline; the language server."""
