"""HTTP requests, as text and on the wire. Only `transport` opens network connections."""
