"""Implements `luau.render`: functions that print each kind of message."""
