"""Simple rules for tenants' virtual networks."""
