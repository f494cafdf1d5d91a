"""Estimates of returns and advantages from a batch of experience: functions of tensors.

Nothing here knows networks, algorithms, or where a batch comes from.
"""
