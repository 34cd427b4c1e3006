"""The editor features (completion, diagnostics, hover, rename, outline) and the language server."""
