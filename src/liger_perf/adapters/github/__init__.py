"""GitHub through PyGithub and git. Nothing here decides anything."""
