"""Decides by simple rules for tenants' virtual networks."""
