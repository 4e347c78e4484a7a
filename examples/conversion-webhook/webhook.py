"""A conversion webhook for the widgets of definition.yaml: `hostPort` in v1 is `host` and `port` in v2.

Usage: python3 webhook.py PORT CERTIFICATE KEY
"""

import http.server
import json
import ssl
import sys


def convert(widget, desired):
    spec = widget.setdefault("spec", {})
    if desired.endswith("/v2") and "hostPort" in spec:
        spec["host"], _, spec["port"] = spec.pop("hostPort").partition(":")
    elif desired.endswith("/v1") and "host" in spec:
        spec["hostPort"] = f"{spec.pop('host')}:{spec.pop('port', '')}"
    widget["apiVersion"] = desired
    return widget


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = review.pop("request")
        review["response"] = {
            "uid": asked["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [convert(widget, asked["desiredAPIVersion"]) for widget in asked["objects"]],
        }
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    port, certificate, key = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Webhook)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
