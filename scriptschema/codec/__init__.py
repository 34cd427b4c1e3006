"""What `wire` is made of: errors, varints, the careful and the compiled functions."""
