"""Many runs: files, jobs, workers, the store."""
