"""The solver as a web service: `binwright serve`."""
