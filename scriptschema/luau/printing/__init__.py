"""How `luau.render` prints messages of each kind."""
