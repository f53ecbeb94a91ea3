"""The solver as an agent of simulations: templates that are solved again and again with other numbers."""
