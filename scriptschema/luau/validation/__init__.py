"""The rules that `luau.repair` applies, by topic."""
