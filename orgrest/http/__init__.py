"""HTTP requests as text and on the wire; `transport` alone opens sockets to other servers."""
