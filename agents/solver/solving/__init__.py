"""From a problem to a verified answer."""
