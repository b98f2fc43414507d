"""The Flask application of the lab: each case of cases.tsv is a filter and a sink. Weak on purpose; loopback only."""
import base64, hashlib, json, os, random, re, sqlite3, subprocess, sys, threading, time, urllib.request

from urllib.parse import quote, unquote

import psycopg2
from flask import Flask, Response, jsonify, make_response, redirect, render_template_string, request, send_from_directory
from lxml import etree

app = Flask(__name__, static_folder=None)
SITE, FILES, SELF = os.environ['LAB_SITE'], os.environ['LAB_FILES'], os.environ['LAB_SELF']
CASES = {}
for line in open(os.environ['LAB_CASES']):
    f = line.rstrip('\n').split('\t')
    if f[0] == 'python':
        CASES[f[1]] = f
NOTES = {}
KEPT = {}
LOCAL = threading.local()


def sqlite():
    if not hasattr(LOCAL, 'db'):
        LOCAL.db = db = sqlite3.connect(':memory:', isolation_level=None)
        db.executescript("""CREATE TABLE items (id INT, name TEXT, price INT, owner TEXT); CREATE TABLE users (id INT, name TEXT, pass TEXT, mail TEXT);
            CREATE TABLE log (who TEXT, what TEXT); CREATE TABLE counters (page TEXT, n INT);
            INSERT INTO items VALUES (1,'chair',30,'warehouse'),(2,'table',80,'warehouse'),(3,'lamp',120,'warehouse'),(4,'desk',200,'warehouse'),(5,'sofa',500,'warehouse');
            INSERT INTO users VALUES (1,'anna','secret','anna@lab.example'),(2,'ben','hidden','ben@lab.example'); INSERT INTO counters VALUES ('home',0);""")
    return LOCAL.db


def postgres():
    if not hasattr(LOCAL, 'pg'):
        LOCAL.pg = psycopg2.connect(host='127.0.0.1', port=os.environ['LAB_POSTGRES_PORT'], user='lab', dbname='postgres')
        LOCAL.pg.autocommit = True
    return LOCAL.pg


def enc(s):
    for a, b in (('&', '&amp;'), ('<', '&lt;'), ('>', '&gt;'), ('"', '&quot;'), ("'", '&#39;')):
        s = s.replace(a, b)
    return s


def show(html, status=200):
    return Response('<!DOCTYPE html><html><head><title>Lab</title></head><body><h1>Lab</h1>%s</body></html>' % html, status, mimetype='text/html')


def once(s, words):
    for w in words:
        i = s.lower().find(w)
        if i >= 0:
            s = s[:i] + s[i + len(w):]
    return s


def number(v):
    m = re.match(r'\s*-?\d{1,9}', v)
    return m.group() if m else '0'


@app.route('/', defaults={'at': ''}, methods=['GET', 'POST'])
@app.route('/<path:at>', methods=['GET', 'POST'])
def any_page(at):
    at = '/' + at
    case = CASES.get(at)
    if case is None:
        for path, c in CASES.items():
            if c[5] in ('path', 'kept', 'steps') and at.startswith(path + '/'):
                case = c
    if case is not None:
        return run(case, at)
    if os.path.isdir(SITE + at) and at.endswith('/'):
        at += 'index.html'
    return send_from_directory(SITE, at.lstrip('/'))


def keep(path, source, param):
    visit = request.cookies.get('visit') or os.urandom(8).hex()
    if request.method == 'POST':
        KEPT[visit, path] = request.form.get(param, '')
    answer = show('<form method="post" action="%s/next"><input name="sure" value="yes"><button>Go</button></form>' % path if source == 'steps'
                  else '<p>Thank you. <a href="%s/view">view</a></p>' % path)
    answer.set_cookie('visit', visit, path='/', httponly=True, samesite='Lax')
    return answer


def run(case, at):
    _, path, cls, sink, filt, source, param, usual = case[:8]
    usual = usual.replace('{self}', SELF).replace('{files}', FILES)
    cookie = None
    body = request.get_json(silent=True) if source == 'json' else None
    if source in ('kept', 'steps') and at == path:
        return keep(path, source, param)
    if source in ('kept', 'steps'):
        v = KEPT.get((request.cookies.get('visit'), path), '')
    elif source == 'query':
        v = request.args.get(param, '')
    elif source == 'form':
        v = request.form.get(param, '')
    elif source == 'path':
        v = at[len(path) + 1:]
    elif source == 'header':
        v = request.headers.get(param, '')
    elif source == 'xml':
        v = request.get_data(as_text=True)
    elif source == 'json':
        v = body.get(param, '') if isinstance(body, dict) else ''
    else:
        v = request.cookies.get(param)
        if v is not None:
            v = unquote(v)
        else:
            v = cookie = base64.b64encode(usual.encode()).decode() if filt == 'base64' else usual
    if not isinstance(v, str):
        v = ''
    answer = make_response(sinks(v, case, usual, body))
    if cookie is not None:
        answer.set_cookie(param, quote(cookie), path=path, httponly=True, samesite='Lax')
    return answer


def sinks(v, case, usual, body):
    _, path, cls, sink, filt, source, param = case[:7]
    if filt == 'reject' and re.search(r'[^\w .,+/?=:-]', v):
        return show('<p>Forbidden characters.</p>', 403)
    if filt == 'base64':
        try:
            v = base64.b64decode(v).decode('utf-8', 'replace')
        except ValueError:
            v = ''
    if filt == 'nospace':
        v = re.sub(r'\s', '', v)
    if filt == 'script':
        v = re.sub(r'(?i)<script>', '', v, count=1)
    if filt == 'list' and v not in (usual, 'table', 'beta', 'b.txt', 'price', '/help'):
        return show('<p>Unknown value.</p>')
    safe = filt in ('bind', 'reject', 'list', 'number', 'decoy')
    return {'sql': sql, 'xss': xss, 'command': command, 'path': paths, 'redirect': redirects, 'template': template, 'code': code,
            'xxe': xxe, 'ssrf': ssrf, 'xpath': xpath}[cls](v, sink, filt, safe, path, source, body)


def sql(v, sink, filt, safe, path, source, body):
    if filt == 'once':
        v = once(v, ['union', 'select'])
    help = '<p>Help: "psycopg2.errors.SyntaxError: unterminated quoted string at or near" and "sqlite3.OperationalError: near" mean that a quote is missing.</p>' if filt == 'decoy' else ''
    q = v.replace("'", "''") if safe else v
    n = number(v) if safe else v
    columns = ('name', 'price', 'id')
    password = (body or {}).get('pass', '') if source == 'json' else request.form.get('pass', '')
    members = ','.join(number(x) for x in v.split(',')) if safe else v
    column = (v if v in columns else 'id') if safe else v
    text = {'where': f"SELECT name, price FROM items WHERE name='{q}'", 'quiet': f"SELECT name, price FROM items WHERE name='{q}'",
            'number': f'SELECT name, price FROM items WHERE id={n}', 'quietnumber': f'SELECT name, price FROM items WHERE id={n}',
            'like': f"SELECT name, price FROM items WHERE name LIKE '%{q}%'", 'bracket': f"SELECT name, price FROM items WHERE ((name='{q}') AND price>0)",
            'members': f'SELECT name, price FROM items WHERE id IN ({members})', 'order': f'SELECT name, price FROM items ORDER BY {column}',
            'column': f'SELECT {column} AS name, price FROM items', 'limit': f'SELECT name, price FROM items LIMIT {n}',
            'insert': f"INSERT INTO log (who, what) VALUES ('{q}', 'view')", 'update': f"UPDATE counters SET n=n+1 WHERE page='{q}'",
            'login': "SELECT name, mail FROM users WHERE name='%s' AND pass='%s'" % (q, str(password).replace("'", "''"))}[sink]
    db = postgres() if sink in ('number', 'like', 'bracket', 'limit', 'insert') else sqlite()
    try:
        cursor = db.cursor()
        cursor.execute(text.replace('%', '%%') if False else text)
        rows = [] if sink in ('insert', 'update') else cursor.fetchall()
    except Exception as e:
        if sink in ('where', 'number'):
            return show(help + '<p>Error: %s</p>' % enc('%s.%s: %s' % (type(e).__module__, type(e).__name__, e)))
        if sink in ('insert', 'update'):
            return show('<p>Something went wrong.</p>', 500)
        return show(help + '<p>Nothing found.</p>')
    if sink in ('insert', 'update'):
        return show('<p>Noted.</p>')
    if sink == 'login':
        return show('<p>Welcome back.</p>' if rows else '<p>Wrong name or password.</p>')
    items = ''.join('<li>%s %s</li>' % (enc(str(r[0])), enc(str(r[1]))) for r in rows)
    return show(help + ('<ul>%s</ul>' % items if items else '<p>Nothing found.</p>'))


def xss(v, sink, filt, safe, path, source, body):
    if filt == 'angle':
        v = v.replace('<', '&lt;').replace('>', '&gt;')
    if filt == 'quote':
        v = v.replace('"', '&quot;').replace("'", '&#39;')
    if filt == 'all':
        v = enc(v)
    if filt == 'local':
        v = enc(v if re.match(r'/[^/\\]', v) else '/')
    if filt == 'json':
        return jsonify(hello=v)
    if filt == 'text':
        return Response('Hello ' + v, mimetype='text/plain', headers={'X-Content-Type-Options': 'nosniff'})
    if sink == 'stored':
        if request.method == 'POST':
            NOTES.setdefault(path, []).append(v)
            return redirect(path, 303)
        return show('<ul>%s</ul>' % ''.join('<li>%s</li>' % n for n in NOTES.get(path, [])))
    plain = filt == 'plain'
    block = json.dumps(v).replace('\\u', '\\u')
    return show({'text': f'<p>Hello {v}</p>', 'quoted': f'<p title="{v}">Hello</p>', 'single': f"<p title='{v}'>Hello</p>", 'bare': f'<input value={v}>',
                 'href': '<a href="%s">site</a>' % (enc(v) if plain else v), 'string': f"<script>var a = '{v}';</script>", 'dstring': f'<script>var a = "{v}";</script>',
                 'literal': '<script>var a = `%s`;</script>' % v.replace('`', '').replace('</', ''), 'block': '<script>var a = {"name": %s};</script>' % block,
                 'comment': f'<!-- {v} -->', 'textarea': f'<textarea>{v}</textarea>', 'title': f'<title>{v}</title>', 'style': f'<style>/* {v} */</style>',
                 'handler': '<button onclick="hello(\'%s\')">Hello</button>' % (v.replace('"', '&quot;').replace('<', '&lt;') if plain else v),
                 'value': f'<input type="text" value="{v}">'}[sink])


def command(v, sink, filt, safe, path, source, body):
    if filt == 'once':
        v = once(v, [';', '&'])
    help = '<p>Help: "sh: 1: Syntax error: Unterminated quoted string" means that a quote is missing. uid=0(root) is the administrator.</p>' if filt == 'decoy' else ''
    if safe:
        out = subprocess.run(['echo', 'host', v.replace('\0', '')], capture_output=True, text=True, cwd=FILES).stdout
    else:
        text = {'output': f'echo host {v}', 'single': f"echo 'host {v}'", 'dquoted': f'echo "host {v}"', 'silent': f'echo host {v}'}[sink]
        out = subprocess.run(text.replace('\0', ''), shell=True, capture_output=True, text=True, errors='replace', cwd=FILES).stdout
    return show(help + ('<p>Done.</p>' if sink == 'silent' else '<pre>%s</pre>' % enc(out)))


def paths(v, sink, filt, safe, path, source, body):
    if filt == 'dots':
        v = v.replace('../', '')
    if filt in ('base', 'decoy'):
        v = os.path.basename(v)
    help = '<p>Help: "FileNotFoundError: [Errno 2] No such file or directory" means that there is no such file. root:x:0: is the first line of a list of users.</p>' if filt == 'decoy' else ''
    name = v if sink == 'absolute' else FILES + '/' + v
    if filt == 'real' and not os.path.realpath(name.replace('\0', '')).startswith(os.path.realpath(FILES) + '/'):
        return show('<p>No such file.</p>')
    try:
        return show(help + '<pre>%s</pre>' % enc(open(name, errors='replace').read(100000)))
    except (OSError, ValueError):
        return show(help + '<p>No such file.</p>')


def redirects(v, sink, filt, safe, path, source, body):
    if filt == 'local' and not re.fullmatch(r'/(?![/\\])[^\x00-\x20]*', v) or filt == 'slash' and not v.startswith('/') or filt == 'own' and 'lab.example' not in v:
        v = '/home.html'
    if filt == 'inquery':
        v = '/home.html?next=' + quote(v, '')
    if sink == 'meta':
        return show('<meta http-equiv="refresh" content="0;url=%s">' % enc(v))
    if sink == 'assign':
        return show('<script>location = %s;</script>' % json.dumps(v).replace('<', '\\u003c'))
    answer = Response('', 302)
    answer.autocorrect_location_header = False
    answer.headers['Location'] = v.replace('\r', '').replace('\n', '')
    return answer


def template(v, sink, filt, safe, path, source, body):
    try:
        if safe:
            return show(render_template_string('<p>{{ v }}, reader</p>', v=v))
        if sink == 'text':
            return show(render_template_string('<p>' + v + ', {{ reader }}</p>', reader='reader'))
        return show(render_template_string("<p>{{ '" + v + "' ~ reader }}</p>", reader=', reader'))
    except Exception:
        return show('<p>Something went wrong.</p>', 500)


def code(v, sink, filt, safe, path, source, body):
    try:
        if sink == 'expression':
            return show('<p>Sum: %s</p>' % enc(str(2 if safe else eval(v, {}))))
        return show('<p>Label: %s</p>' % enc(str(v if safe else eval("'" + v + "'", {}))))
    except Exception:
        return show('<p>Something went wrong.</p>', 500)


def xxe(v, sink, filt, safe, path, source, body):
    try:
        doc = etree.fromstring(v.encode(), etree.XMLParser(resolve_entities=not safe, no_network=True, load_dtd=not safe))
        return show('<p>%s</p>' % enc(doc.findtext('title') or ''))
    except etree.XMLSyntaxError:
        return show('<p>No feed.</p>', 400)


def ssrf(v, sink, filt, safe, path, source, body):
    try:
        if not re.match(r'https?://(127\.0\.0\.1|localhost)[:/]', v):
            raise ValueError
        return show('<pre>%s</pre>' % enc(urllib.request.urlopen(v, timeout=3).read(10000).decode('utf-8', 'replace')))
    except Exception:
        return show('<p>It cannot be reached.</p>')


def xpath(v, sink, filt, safe, path, source, body):
    doc = etree.fromstring('<users><user><name>anna</name><mail>anna@lab.example</mail></user><user><name>ben</name><mail>ben@lab.example</mail></user></users>')
    try:
        nodes = doc.xpath('//user[name=$v]/mail', v=v) if safe else doc.xpath("//user[name='%s']/mail" % v)
    except (etree.XPathError, ValueError):
        return show('<p>Something went wrong.</p>', 500)
    items = ''.join('<li>%s</li>' % enc(n.text or '') for n in nodes if hasattr(n, 'text'))
    return show('<ul>%s</ul>' % items if items else '<p>Nobody.</p>')


if __name__ == '__main__':
    import logging
    logging.getLogger('werkzeug').setLevel(logging.ERROR)
    app.run('127.0.0.1', int(sys.argv[1]), threaded=True)
