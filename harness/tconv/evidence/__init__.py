"""Why a run fails, found by one mechanism from the answers of the whole run."""
