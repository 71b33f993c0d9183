//! What is sealed in a directory, and whether all of it is whole.
