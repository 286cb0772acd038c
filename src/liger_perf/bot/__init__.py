"""The bot: from an event and what is known about it to effects as values. Nothing here does I/O."""
