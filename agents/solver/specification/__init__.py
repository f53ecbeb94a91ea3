"""Make problems from declarations: specifications in files, shipped examples, and Python."""
