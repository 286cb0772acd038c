"""Records as GitHub writes them in JSON: one function for each resource, and no other place builds one."""
