"""The protocol requests that the language server answers. `table` lists them."""
