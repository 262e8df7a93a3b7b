"""Collections on disk, in bulk: read, judged, compared, clustered.

Whatever can't be read or written is an `InputError` that names the file (and the line), whatever
can't be used a `ConfigurationError`, a process that died a `NeardupError`.
"""
