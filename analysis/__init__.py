"""From what Binwright's runs recorded to tables and figures."""
