"""The report: all that results say in one HTML file, which needs no server and no network."""
