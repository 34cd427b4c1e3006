"""Credentials as HTTP carries them: a module for each authentication scheme.

`basic` and `sigv4` (AWS) need the request alone, `digest` also the server's challenge, `oauth2` a
token of another server, `certificates` files for TLS. Nothing here opens a socket.
"""
