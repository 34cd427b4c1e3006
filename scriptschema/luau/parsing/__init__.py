"""How `luau.parse` reads types, expressions and statements."""
