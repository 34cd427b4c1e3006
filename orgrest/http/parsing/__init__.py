"""The parsers of the request languages: restclient's, that of request files, verb's."""
