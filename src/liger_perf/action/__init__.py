"""The GitHub Action: one process for one event, which knows nothing but its environment and what GitHub shows."""
