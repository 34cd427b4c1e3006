"""The LSP requests that the language server answers. `table` lists them."""
