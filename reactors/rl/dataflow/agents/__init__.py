"""Rounds of training with many agents: who plays them, and a learner for each group.

An actor steps whole environments and chooses for all agents of a group in one call; each group learns from joint
transitions, by the learners and the replay that single agents have.
"""
