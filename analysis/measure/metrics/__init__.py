"""Metrics of requests and of the cluster; those of a feature lie in its folder."""
