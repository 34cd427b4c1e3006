"""The parsers of the three request languages: restclient's, request files' and verb's."""
