"""Vector environments, in Gymnasium's interface."""
