"""Response bodies of a hostile server, designed to break the reports that contain them."""

HOSTILE = [
    b"<script>document.title='x'</script>",
    b"</script><script>document.title='x'</script>",
    b"</pre></details><img src=x onerror=\"document.title='x'\">",
    b"]]><!-- --><failure/>&#0;&amp;",
    b"\x00\x01\x1b[31m\x7f\xff\xfe",
    "\u2028\u202e\ufffe\ud7ff".encode(),
    b"{{ 7 * 7 }}{% for x in y %}",
    b"\n...\n---\nok 2 - not a test # SKIP\nBail out!",
    b"'\"><svg onload=alert(1)>",
]
