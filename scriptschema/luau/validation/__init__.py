"""The rules that `luau.repair` applies, by topic. A module's `RULES` describes its rules."""
