"""Use the solver as an agent of simulations: templates are solved again and again with other numbers."""
