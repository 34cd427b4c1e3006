"""The parsers of the three request languages: those of restclient, request files and verb."""
