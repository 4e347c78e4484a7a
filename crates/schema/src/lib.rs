//! What an object of a kind may look like: prune, default, validate, merge, publish.
