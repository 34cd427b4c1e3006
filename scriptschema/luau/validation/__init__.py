"""The rules that `luau.repair` applies, by topic. Each module begins with its own rules."""
