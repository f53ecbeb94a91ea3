"""The answers to the commands: functions that take what `binwright.cli` parsed and return the exit code."""
