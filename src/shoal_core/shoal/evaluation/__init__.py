"""From a recording to its verdict."""
