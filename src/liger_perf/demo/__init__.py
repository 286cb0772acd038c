"""A whole conversation on one machine: a GitHub on loopback, people, the real action as a process for each event.

The product is met from outside only: as a command, and by what it leaves on that GitHub.
"""
