"""What somebody does, through the page or through the API: the change of the state and the events that follow."""
