"""Where work runs: processes of this machine or a Dask cluster, and within how much memory."""
