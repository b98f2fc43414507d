"""A site on Python's own server: a function of method, path, query, form and headers that answers status, headers and text."""
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class Plain:
    def __init__(self, answer):
        self.answer = answer

    def server(self, port):
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version, server_version, sys_version = 'HTTP/1.1', 'httpd', ''

            def log_message(self, *_): pass

            def every(self):
                u = urlsplit(self.path)
                size = min(int(self.headers.get('Content-Length') or 0), 100000)
                body = self.rfile.read(size).decode('utf-8', 'replace') if size > 0 else ''
                one = {k: v[0] for k, v in parse_qs(u.query, keep_blank_values=True).items()}
                form = {k: v[0] for k, v in parse_qs(body, keep_blank_values=True).items()}
                crumbs = SimpleCookie()
                try:
                    crumbs.load(self.headers.get('Cookie', ''))
                except Exception:
                    pass
                request = {'method': self.command, 'path': unquote(u.path), 'query': one, 'form': form, 'body': body,
                           'headers': self.headers, 'cookies': {k: m.value for k, m in crumbs.items()}}
                status, headers, text = answer(request)
                data = text.encode()
                self.send_response(status)
                for name, value in {'Content-Type': 'text/html; charset=utf-8', **headers}.items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(data)))
                self.end_headers()
                if self.command != 'HEAD':
                    self.wfile.write(data)
            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = every
        return ThreadingHTTPServer(('127.0.0.1', port), Handler)
