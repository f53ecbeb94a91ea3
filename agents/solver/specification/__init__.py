"""From declarations to a problem: specifications in files, shipped examples, and Python."""
