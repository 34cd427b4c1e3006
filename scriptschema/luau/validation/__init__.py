"""The rules that `luau.repair` applies, by what they are about: each module opens with its own."""
