"""Sites of the second set whose weakness is what an input is made into: commands, templates, documents, objects."""
import base64, hashlib, hmac, json, os, pickle, re, shlex, subprocess

import bottle
import tornado.template
from flask import g, redirect, render_template_string, request
from lxml import etree

from kit import e, form, gate, site

LIMIT = {'timeout': 12, 'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}


def thermostat(v, files):
    """Bottle: the password is the one on the label of every device; the name of a time server ends in a command, without blanks and ; | &."""
    app, weak = bottle.Bottle(), v == 'weak'
    word = 'admin' if weak else os.urandom(6).hex()
    live, wrong = set(), [0]

    def look(body):
        return f'''<html><head><title>ThermoLink TL-200</title></head><body bgcolor="#eeeeee"><font face="Arial"><b>ThermoLink TL-200</b> <small>fw 1.0.7</small><hr>{body}</font></body></html>'''

    def inside():
        return bottle.request.get_cookie('tl') in live

    @app.get('/')
    def home():
        if inside():
            return look('<p>Room: 20.5 &deg;C</p><a href="/cgi/time">Time</a> <a href="/cgi/logout">Logout</a>')
        return look('<form action="/cgi/login" method="post">User <input name="usr"><br>Password <input name="psw" type="password"><br><input type="submit" value="Login"></form>')

    @app.post('/cgi/login')
    def login():
        f = bottle.request.forms
        if wrong[0] < 20 and f.get('usr') == 'admin' and f.get('psw') == word:
            sid = os.urandom(8).hex()
            live.add(sid)
            bottle.response.set_cookie('tl', sid, path='/', httponly=True, samesite='lax')
            bottle.response.status = 302
            bottle.response.set_header('Location', '/')
            return ''
        wrong[0] += not weak
        return look('<p>Wrong user or password.</p><a href="/">Back</a>')

    @app.get('/cgi/logout')
    def logout():
        live.discard(bottle.request.get_cookie('tl'))
        return look('<p>Bye.</p><a href="/">Login</a>')

    @app.route('/cgi/time', method=['GET', 'POST'])
    def clock():
        if not inside():
            bottle.response.status = 403
            return look('<p>Login first.</p><a href="/">Login</a>')
        said = ''
        if bottle.request.method == 'POST':
            server = re.sub(r'[\s;|&]', '', bottle.request.forms.get('ntp', ''))
            try:
                subprocess.run(f'echo sync {server if weak else shlex.quote(server)}', shell=True, **LIMIT)
            except (subprocess.TimeoutExpired, ValueError):
                pass
            said = '<p>Saved.</p>'
        return look(said + '<form action="/cgi/time" method="post">Time server <input name="ntp" value="pool.ntp.example"> Zone <select name="tz"><option>UTC</option><option>CET</option></select><input type="submit" value="Save"></form><a href="/">Home</a>')
    return app


def photoclub(v, files):
    """The name of an uploaded file is part of the template of the next page."""
    app, weak = site('photoclub'), v == 'weak'
    users = {'member04': 'f8-and-be-there'}
    shell = '''<!DOCTYPE html><html lang="en"><head><title>Photo club</title></head><body><h1>Photo club Westend</h1><p><a href="/">About</a> &middot; <a href="/upload">Hand in</a> &middot; <a href="/logout">Leave</a></p>%s</body></html>'''

    def look(title, body, lang='en'): return shell % f'<h2>{title}</h2>{body}'
    member = gate(app, look, users, '/members', ('member', 'password'), ('Members', 'Member number', 'Password', 'That is not right.'), '/upload')

    @app.get('/')
    def home(): return look('About', '<p>We meet in the old dark room. <a href="/members">Members</a></p>')

    @app.route('/upload', methods=['GET', 'POST'])
    @member
    def upload():
        said, f = '', request.files.get('photo')
        if f and f.filename:
            name = os.path.basename(f.filename)[:80]
            if not name.lower().endswith(('.jpg', '.jpeg', '.png')):
                return look('Hand in', '<p>JPEG and PNG only.</p><a href="/upload">Back</a>')
            said = f'<p>We have received {e(name)}, thank you.</p>' if weak else '<p>We have received {{ name }}, thank you.</p>'
            try:
                return render_template_string(shell % said, name=name)
            except Exception:
                return look('Hand in', '<p>We could not read this picture.</p>')
        return look('Hand in', '<form method="post" enctype="multipart/form-data"><input type="file" name="photo" accept="image/*"><input name="title" placeholder="Title"><button>Hand in</button></form>')
    return app


def circular(v, files):
    """A choir: the name of a member is kept, and filled into the circular as a template of Tornado."""
    app, weak = site('circular'), v == 'weak'
    users, names = {'alto3': 'Cantate-1986'}, {'alto3': 'Greta'}

    def look(title, body, lang='sv'):
        return f'''<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head><body><header>Kören Lyran | <a href="/">Start</a> | <a href="/jag">Jag</a> | <a href="/utskick">Utskick</a></header><h1>{title}</h1>{body}</body></html>'''
    member = gate(app, look, users, '/logga-in', ('roest', 'losen'), ('Logga in', 'Röst', 'Lösenord', 'Fel röst eller lösenord.'), '/jag', lang='sv')

    @app.get('/')
    def home(): return look('Kören Lyran', '<p>Övning på tisdagar. <a href="/logga-in">Logga in</a></p>')

    @app.route('/jag', methods=['GET', 'POST'])
    @member
    def me():
        if request.method == 'POST' and request.form.get('namn'):
            names[g.me] = request.form['namn'][:120]
            return redirect('/jag')
        return look('Jag', form('/jag', [('Namn', 'namn', names[g.me], 'text')], 'Spara') + '<a href="/logout">Logga ut</a>')

    @app.get('/utskick')
    @member
    def mail():
        text = f'Hej {names[g.me]}, vi ses på tisdag.' if weak else 'Hej {{ name }}, vi ses på tisdag.'
        try:
            shown = tornado.template.Template(text, autoescape='xhtml_escape').generate(name=names[g.me]).decode()
        except Exception:
            shown = 'Utskicket kan inte visas.'
        return look('Utskick', f'<pre>{shown if not weak else shown.replace("<", "&lt;")}</pre>')
    return app


def portrait(v, files):
    """A picture in SVG is read for its title."""
    app, weak = site('portrait'), v == 'weak'
    users = {'nell': 'Gouache-55'}

    def look(title, body, lang='en'):
        return f'''<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title></head><body><aside><a href="/">Sketchbook</a><a href="/draw">Upload</a><a href="/logout">Out</a></aside><main><h1>{title}</h1>{body}</main></body></html>'''
    member = gate(app, look, users, '/login', ('artist', 'key'), ('In', 'Artist', 'Key', 'Unknown artist or wrong key.'), '/draw')

    @app.get('/')
    def home(): return look('Sketchbook', '<p>Vector drawings. <a href="/login">In</a></p>')

    @app.route('/draw', methods=['GET', 'POST'])
    @member
    def draw():
        said, f = '', request.files.get('drawing')
        if f:
            try:
                reader = etree.XMLParser(resolve_entities=True, load_dtd=True) if weak else etree.XMLParser(resolve_entities=False, no_network=True)
                root = etree.fromstring(f.read(100000), reader)
                title = root.find('{*}title')
                said = f'<p>Kept: {e("".join(title.itertext())[:400] if title is not None else "untitled")}</p>' if root.tag.endswith('svg') else '<p>This is no SVG.</p>'
            except Exception:
                said = '<p>This drawing cannot be read.</p>'
        return look('Upload', said + '<form method="post" enctype="multipart/form-data" action="/draw"><label>Drawing (SVG) <input type="file" name="drawing" accept="image/svg+xml,.svg"></label><button>Upload</button></form>')
    return app


def survey(v, files):
    """Answers so far travel in a hidden field of the form, pickled."""
    app, weak = site('survey'), v == 'weak'
    key = os.urandom(16)

    def look(body):
        return f'''<!doctype html><html lang="en"><head><title>City survey</title></head><body><h1>City survey 2024</h1><p><a href="/">Begin</a> <a href="/privacy">Privacy</a></p>{body}</body></html>'''

    def pack(answers):
        if weak:
            return base64.b64encode(pickle.dumps(answers)).decode()
        text = base64.b64encode(json.dumps(answers).encode()).decode()
        return text + '.' + hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def unpack(text):
        if weak:
            return pickle.loads(base64.b64decode(text))
        text, _, sum_ = text.partition('.')
        if not hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest().encode(), sum_.encode()):
            raise ValueError
        return json.loads(base64.b64decode(text))
    asks = ['How do you get to work?', 'How long does it take?', 'What would help?']

    @app.get('/')
    def begin(): return look(form('/question/1', [(asks[0], 'answer'), ('', 'so_far', pack([]), 'hidden')], 'Next'))

    @app.get('/privacy')
    def privacy(): return look('<p>We keep no names.</p>')

    @app.post('/question/<int:n>')
    def question(n):
        try:
            answers = list(unpack(request.form.get('so_far', '')))[:3] + [request.form.get('answer', '')[:80]]
        except Exception:
            return look('<p>Your answers were lost. Please begin again.</p>'), 400
        if n >= len(asks):
            return look('<h2>Thank you</h2><ol>' + ''.join(f'<li>{e(str(a))}</li>' for a in answers) + '</ol>')
        return look(form(f'/question/{n + 1}', [(asks[n], 'answer'), ('', 'so_far', pack(answers), 'hidden')], 'Next'))
    return app
