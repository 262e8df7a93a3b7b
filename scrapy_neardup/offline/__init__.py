"""Collections on disk: reading, judging, comparing and clustering them in bulk.

A file that can't be read or written is an `InputError` with its name (and the line), a wrong
argument a `ConfigurationError`, a process that died a `NeardupError`.
"""
