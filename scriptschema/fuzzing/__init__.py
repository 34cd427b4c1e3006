"""What one does with a tree that is interesting: edit it, make it small, make another of it."""
