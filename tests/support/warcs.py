"""WARC files of pages."""

import io

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

HTML = "<!doctype html><title>T</title><p>caf\u00e9</p>".encode("latin-1")


def warc(*responses, compressed=True):
    """Return a WARC file; a response is (url, status line, headers, body)."""
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=compressed)
    writer.write_record(writer.create_warcinfo_record("x.warc", {"software": "test"}))
    for url, status, headers, body in responses:
        for kind, content, http in (
            ("request", b"", StatusAndHeaders("GET / HTTP/1.1", [])),
            ("response", body, StatusAndHeaders(status, headers, protocol="HTTP/1.1")),
        ):
            told = {"payload": io.BytesIO(content), "length": len(content), "http_headers": http}
            writer.write_record(writer.create_warc_record(url, kind, **told))
    return file.getvalue()


def html(url, body=HTML, status="200 OK", **headers):
    headers = {"content_type": "text/html; charset=ISO-8859-1", **headers}
    return url, status, [(k.replace("_", "-"), v) for k, v in headers.items() if v], body
