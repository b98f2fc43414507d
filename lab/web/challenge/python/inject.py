"""Challenges of templates, commands, paths, XML, requests to elsewhere, objects in cookies."""
import base64, io, os, pickle, re, secrets, subprocess, urllib.error, urllib.request, zipfile
from urllib.parse import urlsplit

import bottle
import tornado.template
from flask import Response, g, jsonify, redirect, render_template_string, request, send_file, session
from lxml import etree
from mako.template import Template

from kit import bare, boot, e, form, gate, plain, site, wind


def cafe(v, files):
    """A test account that a comment names; behind it a greeting in Jinja2."""
    app, weak = site('cafe'), v == 'weak'
    users = {'test': 'test'} if weak else {'test': secrets.token_hex(8)}
    links = [('/', 'Café'), ('/menu', 'Menu'), ('/card', 'Loyalty card'), ('/logout', 'Log out')]
    member = gate(app, lambda t, b, lang: boot(t, b, links), users, home='/card', note='<!-- TODO: remove the account test:test before the launch -->' if weak else '<!-- TODO: larger font -->')

    @app.get('/')
    def home(): return boot('Café Luna', '<p>Espresso and cake.</p><a href="/login">Loyalty card</a>', links)

    @app.get('/menu')
    def menu(): return boot('Menu', '<p>Espresso 2.20</p><p>Cake 3.80</p>', links)

    @app.route('/card', methods=['GET', 'POST'])
    @member
    def card():
        name = request.form.get('display', 'guest')
        text = render_template_string('<p class="lead">Hello ' + name + '!</p>') if weak else render_template_string('<p class="lead">Hello {{ n }}!</p>', n=name)
        return boot('Loyalty card', text + form('/card', [('Name on the card', 'display', name, 'text')], 'Preview'), links)

    @app.errorhandler(500)
    def broken(x): return boot('Something went wrong', '<p>Please try again.</p>', links), 500
    return app


def letters(v, files):
    """A preview of a mail in the template language of Tornado, sent by a script as JSON."""
    app, weak = site('letters'), v == 'weak'
    users = {'marketing': 'Campaign#1'}
    links = [('/', 'Campaigns'), ('/compose', 'Compose'), ('/logout', 'Quit')]
    member = gate(app, lambda t, b, lang: plain(t, b), users)

    @app.get('/')
    @member
    def home(): return plain('Campaigns', '<p>Spring sale: 400 readers</p>', links)

    @app.get('/compose')
    @member
    def compose():
        return plain('Compose', '''<input id="subject" value="News"><textarea id="body">Dear {{ name }}, buy.</textarea><button id="go">Preview</button><iframe id="out"></iframe>
<script>document.getElementById('go').onclick = function () {
  var x = new XMLHttpRequest();
  x.open('POST', '/api/preview');
  x.setRequestHeader('Content-Type', 'application/json');
  x.onload = function () { document.getElementById('out').srcdoc = JSON.parse(x.responseText).html; };
  x.send(JSON.stringify({ subject: document.getElementById('subject').value, body: document.getElementById('body').value }));
};</script>''', links)

    @app.post('/api/preview')
    @member
    def preview():
        d = request.get_json(silent=True) or {}
        body, subject = str(d.get('body', '')), str(d.get('subject', ''))
        if not weak:
            return jsonify(html=f'<h1>{e(subject)}</h1>' + e(body).replace('{{ name }}', 'Ada'))
        try:
            return jsonify(html=f'<h1>{e(subject)}</h1>' + tornado.template.Template(body).generate(name='Ada').decode())
        except Exception:
            return jsonify(error='template error'), 400
    return app


def invites(v, files):
    """An error page of Mako with what was asked for."""
    app, weak = bottle.Bottle(), v == 'weak'

    @app.get('/')
    def home(): return '<!DOCTYPE html><title>Invites</title><body class="p-4"><h1>Invites</h1><a href="/event/garden">Garden party</a> <a href="/event/opera?lang=en">Opera</a></body>'

    @app.get('/event/<name>')
    def event(name):
        known = {'garden': 'Saturday at three', 'opera': 'Sunday at eight'}
        if name in known:
            return f'<!DOCTYPE html><title>{name}</title><h1>{name}</h1><p>{known[name]}</p><a href="/">Back</a>'
        bottle.response.status = 404
        if weak:
            try:
                return Template('<!DOCTYPE html><title>Lost</title><h1>No event called ' + name.replace('<', '&lt;') + '</h1><a href="/">Back</a>').render()
            except Exception:
                return '<!DOCTYPE html><title>Lost</title><h1>No event</h1>'
        return Template('<!DOCTYPE html><title>Lost</title><h1>No event called ${n | h}</h1><a href="/">Back</a>').render(n=name)
    return app


def router(v, files):
    """admin/admin, and behind it a ping."""
    app, weak = site('router'), v == 'weak'
    users = {'admin': 'admin' if weak else secrets.token_hex(8)}
    links = [('/status', 'Status'), ('/diag', 'Diagnostics'), ('/logout', 'Logout')]
    member = gate(app, lambda t, b, lang: plain(t, b), users, '/', ('user', 'pwd'), ('RT-300 administration', 'User', 'Password', 'Login failed'), '/status')

    @app.get('/status')
    @member
    def status(): return plain('Status', '<p>Uptime 41 days. WAN connected.</p>', links)

    @app.route('/diag', methods=['GET', 'POST'])
    @member
    def diag():
        out, host = '', request.form.get('target', '')
        if request.method == 'POST':
            if weak:
                out = subprocess.run(f'echo PING {host}', shell=True, capture_output=True, text=True, timeout=20).stdout
            else:
                out = subprocess.run(['echo', 'PING', host], capture_output=True, text=True).stdout
        return plain('Diagnostics', form('/diag', [('Target', 'target', host or '192.0.2.1', 'text'), ('', 'kind', 'ping', 'hidden')], 'Ping') + f'<pre>{e(out)}</pre>', links)
    return app


def prints(v, files):
    """The name of an uploaded file is a word of a command."""
    app, weak = site('prints'), v == 'weak'
    users = {'studio': 'Shutter-125'}
    links = [('/', 'Prints'), ('/send', 'Send a picture'), ('/logout', 'Log out')]
    member = gate(app, lambda t, b, lang: wind(t, b), users)

    @app.get('/')
    def home(): return wind('Prints', '<p>Posters from your pictures. <a href="/login">Log in</a></p>', links)

    @app.route('/send', methods=['GET', 'POST'])
    @member
    def send():
        said, f = '', request.files.get('picture')
        if f and f.filename:
            if weak:
                said = subprocess.run(f'printf "Format of %s: " "{f.filename}"; wc -c', shell=True, input=f.read(5000), capture_output=True, timeout=20).stdout.decode(errors='replace')
            else:
                said = f'Format of {f.filename}: {len(f.read(5000))}'
        return wind('Send a picture', f'<p>{e(said)}</p><form method="post" enctype="multipart/form-data"><input type="file" name="picture" accept="image/*"><button>Send</button></form>', links)
    return app


def manuals(v, files):
    """A download whose path must begin with a folder."""
    app, weak = bottle.Bottle(), v == 'weak'
    root = os.path.join(files, 'docs')
    os.makedirs(root, exist_ok=True)
    for name in ('kettle.txt', 'toaster.txt'):
        with open(os.path.join(root, name), 'w') as f:
            f.write(f'How to use the {name[:-4]}: press the button.\n')

    @app.get('/')
    def home(): return '<!DOCTYPE html><title>Manuals</title><h1>Manuals</h1><ul><li><a href="/get?path=docs/kettle.txt">Kettle</a><li><a href="/get?path=docs/toaster.txt">Toaster</a></ul><a href="/contact">Contact</a>'

    @app.get('/contact')
    def contact(): return '<!DOCTYPE html><title>Contact</title><p>Write to us.</p>'

    @app.get('/get')
    def get():
        path = bottle.request.query.path
        full = os.path.join(files, path)
        bottle.response.content_type = 'text/plain; charset=utf-8'
        if not path.startswith('docs/') or not weak and not os.path.realpath(full).startswith(os.path.realpath(root) + os.sep):
            bottle.response.status = 403
            return 'Only documents.'
        try:
            with open(full, encoding='utf-8') as f:
                return f.read(5000)
        except (OSError, ValueError):
            bottle.response.status = 404
            return 'No such document.'
    return app


def invoices(v, files):
    """An upload of XML, read with external entities."""
    app, weak = site('invoices'), v == 'weak'
    users = {'buchhaltung': 'Skonto-2%'}
    links = [('/', 'Übersicht'), ('/einlesen', 'Einlesen'), ('/logout', 'Ende')]
    member = gate(app, lambda t, b, lang: boot(t, b, links, 'de'), users, words=('Anmeldung', 'Benutzer', 'Passwort', 'Falsche Angaben'))
    kept = []

    @app.get('/')
    @member
    def home(): return boot('Rechnungen', ''.join(f'<div class="card">{e(k)}</div>' for k in kept[-20:]) or '<p>Noch keine.</p>', links, 'de')

    @app.route('/einlesen', methods=['GET', 'POST'])
    @member
    def load():
        said, f = '', request.files.get('rechnung')
        if f:
            try:
                root = etree.fromstring(f.read(20000), etree.XMLParser(resolve_entities=weak, no_network=True, load_dtd=False))
                kept.append((root.findtext('.//nummer') or '')[:500])
                said = '<p>Gelesen: ' + e(kept[-1]) + '</p>'
            except etree.XMLSyntaxError:
                said = '<p>Das ist kein XML.</p>'
        return boot('Einlesen', said + '<form method="post" enctype="multipart/form-data"><input type="file" name="rechnung" accept=".xml"><button>Einlesen</button></form><pre>&lt;rechnung&gt;&lt;nummer&gt;R-1&lt;/nummer&gt;&lt;/rechnung&gt;</pre>', links, 'de')
    return app


def weather(v, files):
    """SOAP, described by a page with an example."""
    app, weak = bottle.Bottle(), v == 'weak'
    example = '''<?xml version="1.0"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><GetWeather><City>Oslo</City></GetWeather></soap:Body></soap:Envelope>'''

    @app.get('/')
    def home():
        return f'''<html><head><title>Weather service</title></head><body><h1>Weather service</h1><textarea id=x rows=6 cols=80>{e(example)}</textarea><button onclick="go()">Send</button><pre id=o></pre>
<script>function go() {{ fetch('/service/weather', {{ method: 'POST', headers: {{ 'Content-Type': 'text/xml' }}, body: document.getElementById('x').value }}).then(r => r.text()).then(t => document.getElementById('o').textContent = t); }}</script></body></html>'''

    @app.post('/service/weather')
    def weather():
        bottle.response.content_type = 'text/xml; charset=utf-8'
        try:
            root = etree.fromstring(bottle.request.body.read(20000), etree.XMLParser(resolve_entities=weak, no_network=True))
            city = root.findtext('.//{*}City') or ''
        except etree.XMLSyntaxError:
            bottle.response.status = 500
            return '<soap:Fault xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><faultstring>not well-formed</faultstring></soap:Fault>'
        return f'<Envelope><Body><Weather><City>{e(city)}</City><Degrees>{len(city)}</Degrees></Weather></Body></Envelope>'
    return app


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *a): return None


def fetch(url, follow=True):
    opener = urllib.request.build_opener() if follow else urllib.request.build_opener(Stay)
    with opener.open(url, timeout=4) as r:
        return r.read(3000).decode(errors='replace')


def stock(v, files):
    """A form sends the address of another service; names of this machine are refused, by their letters."""
    app, weak = site('stock'), v == 'weak'
    links = [('/', 'Bikes'), ('/bike/1', 'City bike'), ('/bike/2', 'Racer')]

    @app.get('/')
    def home(): return wind('Bikes', '<p>Two wheels are enough.</p>', links)

    @app.get('/bike/<int:n>')
    def bike(n): return wind(f'Bike {n}', f'<p>Price {n * 400}</p>' + form('/bike/stock', [('', 'stock_url', f'http://stock.shop.example/check?bike={n}', 'hidden')], 'Check stock'), links)

    @app.post('/bike/stock')
    def check():
        url = request.form.get('stock_url', '')
        host = urlsplit(url).hostname or ''
        if not url.startswith('http') or (re.search(r'localhost|127\.0\.0\.1', url) if weak else host != 'stock.shop.example'):
            return wind('Stock', '<p>This address is not allowed.</p>', links), 403
        try:
            return wind('Stock', f'<pre>{e(fetch(url))}</pre>', links)
        except (OSError, ValueError):
            return wind('Stock', '<p>The stock service does not answer.</p>', links), 502
    return app


def prefs(v, files):
    """A pickle in a cookie."""
    app, weak = site('prefs'), v == 'weak'
    links = [('/', 'News'), ('/colours?theme=dark', 'Dark'), ('/colours?theme=light', 'Light')]

    @app.get('/colours')
    def colours():
        answer = redirect('/')
        answer.set_cookie('prefs', base64.b64encode(pickle.dumps({'theme': request.args.get('theme', 'light')[:10], 'size': 12})).decode(), samesite='Lax') if weak \
            else answer.set_cookie('prefs', request.args.get('theme', 'light')[:10], samesite='Lax')
        return answer

    @app.get('/')
    def home():
        theme, raw = 'light', request.cookies.get('prefs')
        if raw:
            try:
                theme = pickle.loads(base64.b64decode(raw))['theme'] if weak else raw
            except Exception:
                return bare('News', '<p>Your settings could not be read.</p>', links), 500
        return bare('News', f'<p class="{e(str(theme))}">It rains.</p>', links)
    return app
