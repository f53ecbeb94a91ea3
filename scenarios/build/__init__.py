"""From a scenario to its runs and to what each of them plays."""
