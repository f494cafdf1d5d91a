"""Requests from outside, answered by a policy in batches."""
