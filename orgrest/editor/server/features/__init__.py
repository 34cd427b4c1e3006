"""The requests of the protocol that the language server answers; `table` lists them."""
