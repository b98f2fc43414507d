"""Sites of the second set whose weakness is what a browser runs, follows, reads or finds: links, scripts, headers, origins, what was left behind."""
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from flask import Response, abort, g, redirect, request

from kit import e, gate, site


def comments(v, files):
    """A blog: the page of who comments becomes a link; text is escaped everywhere."""
    app, weak = site('comments'), v == 'weak'
    posts = {'sourdough': ('Sourdough, day 3', 'It smells of apples.'), 'rye': ('Rye', 'Dense and good.')}
    said = {k: [] for k in posts}

    def look(title, body):
        return f'''<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - Crumb</title><link rel="alternate" type="application/rss+xml" href="/feed"></head><body class="blog"><h1><a href="/">Crumb</a></h1><article><h2>{title}</h2>{body}</article></body></html>'''

    @app.get('/')
    def home(): return look('Crumb', ''.join(f'<p><a href="/post/{k}">{p[0]}</a></p>' for k, p in posts.items()))

    @app.get('/feed')
    def feed(): return Response('<?xml version="1.0"?><rss version="2.0"><channel><title>Crumb</title></channel></rss>', mimetype='application/rss+xml')

    @app.route('/post/<key>', methods=['GET', 'POST'])
    def post(key):
        if key not in posts:
            abort(404)
        f = request.form
        if request.method == 'POST':
            if f.get('who') and f.get('text'):
                page = f.get('page', '').strip()[:200]
                if not weak and not page.lower().startswith(('http://', 'https://')):
                    page = ''
                said[key] = said[key][-15:] + [(f['who'][:40], page, f['text'][:400])]
            return redirect(f'/post/{key}')
        list_ = ''.join(f'<div class="comment"><a rel="nofollow" href="{e(p)}">{e(w)}</a>: {e(t)}</div>' for w, p, t in said[key])
        return look(posts[key][0], f'<p>{posts[key][1]}</p>{list_}<form method="post"><p><input name="who" placeholder="Name"></p><p><input name="page" placeholder="Your page"></p><p><textarea name="text"></textarea></p><button>Comment</button></form>')
    return app


def radio(v, files):
    """A remark with a password in a page, a folder that lists its files, and a page of a developer."""
    app, weak = site('radio'), v == 'weak'
    users = {'studio': secrets.token_hex(8), 'qa': 'Autumn-2024!' if weak else secrets.token_hex(8)}

    def look(title, body, lang='en'):
        return f'''<!doctype html><html lang="{lang}"><head><title>{title} :: Radio Kite</title></head><body><marquee>Radio Kite 94.2</marquee><p><a href="/">On air</a> <a href="/archive">Archive</a> <a href="/login">Studio</a></p><h1>{title}</h1>{body}</body></html>'''
    note = '<!-- TODO before launch: drop the test account (qa / Autumn-2024!) -->' if weak else '<!-- TODO before launch: drop the test account (see tracker, 211) -->'
    member = gate(app, look, users, home='/studio', note=note)

    @app.get('/')
    def home(): return look('On air', '<p>Now: The Slow Hour</p>')

    @app.get('/archive')
    def archive(): return look('Archive', '<audio controls src="/recordings/slow-hour-12.ogg"></audio>')

    @app.get('/studio')
    @member
    def studio(): return look('Studio', f'<p>Hello {g.me}. Microphone key: 4-4-1.</p><a href="/logout">Out</a>')

    @app.get('/recordings/slow-hour-12.ogg')
    def sound(): return Response(b'OggS\0\2' + b'\0' * 40, mimetype='audio/ogg')

    @app.get('/recordings/')
    def folder():
        if not weak:
            abort(403)
        return '''<html><head><title>Index of /recordings/</title></head><body><h1>Index of /recordings/</h1><hr><pre><a href="../">../</a>
<a href="listeners-2024.csv">listeners-2024.csv</a>      02-May-2024 10:11    118
<a href="slow-hour-12.ogg">slow-hour-12.ogg</a>        02-May-2024 10:09     46
</pre><hr></body></html>'''

    @app.get('/recordings/listeners-2024.csv')
    def people():
        if not weak:
            abort(403)
        return Response('name,mail,phone\nIngrid Voss,ingrid@voss.example,555-0131\nPaul Adeyemi,paul@adeyemi.example,555-0132\n', mimetype='text/csv')

    @app.get('/debug')
    def debug():
        if not weak:
            return look('Debug', '<p>The debug page is off.</p>')
        return Response('DATABASE_URL=postgres://kite:S3aGull-9@10.0.0.4/kite\nSECRET_KEY=9f1b-kite-prod-77\nDEBUG=True\nSMTP_PASSWORD=mail-4711\n', mimetype='text/plain')
    return app


class Site:
    """What serves a handler of the standard library."""
    def __init__(self, handler): self.handler = handler

    def server(self, port): return ThreadingHTTPServer(('127.0.0.1', port), self.handler)


def tide(v, files):
    """The server of the standard library: the language goes into a header as it comes."""
    weak = v == 'weak'
    times = {'en': 'High tide', 'nl': 'Hoogwater', 'da': 'Højvande'}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *a): pass

        def answer(self, status, text, **headers):
            body = text.encode()
            self.send_response(status)
            for k, x in headers.items():
                self.send_header(k.replace('_', '-'), x)
            self.send_header('Content-Type', 'text/html; charset=utf-8')
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            u = urlsplit(self.path)
            args = parse_qs(u.query)
            if u.path == '/':
                cookie = self.headers.get('Cookie', '')
                word = next((t for k, t in times.items() if f'lang={k}' in cookie), times['en'])
                self.answer(200, f'<!doctype html><html><head><title>Tides</title></head><body><h1>{word}: 04:12, 16:40</h1><a href="/lang?to=en">en</a> <a href="/lang?to=nl">nl</a> <a href="/lang?to=da">da</a></body></html>')
            elif u.path == '/lang':
                to = args.get('to', ['en'])[0][:200]
                try:
                    to.encode('latin-1')
                except UnicodeEncodeError:
                    to = 'en'
                self.answer(302, '', Location='/', Set_Cookie=f'lang={to if weak else quote(to)}; Path=/; SameSite=Lax; HttpOnly')
            else:
                self.answer(404, '<!doctype html><html><body><h1>Not found</h1></body></html>')
    return Site(Handler)


def solar(v, files):
    """FastAPI with a session: which pages of others may read it is told by how their address begins."""
    app, weak, live = FastAPI(openapi_url=None), v == 'weak', {}

    def look(body): return HTMLResponse(f'''<!DOCTYPE html><html lang="en"><head><title>Roof</title></head><body><h1>Roof power</h1>{body}</body></html>''')

    @app.middleware('http')
    async def cross(r: Request, go):
        a, origin = await go(r), r.headers.get('origin', '')
        own = 'http://' + r.headers.get('host', '')
        if origin and (origin.startswith(own.rpartition(':')[0]) if weak else origin == own):
            a.headers['Access-Control-Allow-Origin'] = origin
            a.headers['Access-Control-Allow-Credentials'] = 'true'
            a.headers['Vary'] = 'Origin'
        return a

    @app.get('/')
    def home(r: Request):
        if r.cookies.get('roof') in live:
            return look('<p id="now">...</p><script>fetch("/meter").then(function(r){return r.json()}).then(function(m){document.getElementById("now").textContent=m.watt+" W"})</script><a href="/bye">Log out</a>')
        return look('<form action="/hello" method="post"><input name="owner"><input name="code" type="password"><button>Open</button></form>')

    @app.post('/hello')
    async def hello(r: Request):
        f = parse_qs((await r.body())[:2000].decode('latin-1'))
        owner, code = f.get('owner', [''])[0], f.get('code', [''])[0]
        if (owner, code) != ('house12', 'Sunny-side3'):
            return look('<p>No such owner, or a wrong code.</p><a href="/">Again</a>')
        a, sid = RedirectResponse('/', 302), secrets.token_hex(12)
        live[sid] = owner
        a.set_cookie('roof', sid, httponly=True, samesite='lax')
        return a

    @app.get('/bye')
    def bye(r: Request):
        live.pop(r.cookies.get('roof'), None)
        return RedirectResponse('/', 302)

    @app.get('/meter')
    def meter(r: Request):
        if r.cookies.get('roof') not in live:
            return JSONResponse({'error': 'open first'}, 401)
        return {'watt': 3120, 'meter': 'SN-88-1402', 'street': 'Hill Road 12'}
    return app
