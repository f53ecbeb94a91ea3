"""Chooses among rules while a run goes on: by what each comes to in futures that resemble the past."""
