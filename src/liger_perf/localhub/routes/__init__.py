"""The operations of the API, one module for each part of it. A handler reads the request, calls a deed, renders."""
