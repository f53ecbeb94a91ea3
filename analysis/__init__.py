"""From what runs recorded to tables and figures."""
