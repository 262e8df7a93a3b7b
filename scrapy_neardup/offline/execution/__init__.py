"""Where work runs: processes of this machine, or of a Dask cluster; and in how much memory."""
