"""Sites of the fourth set that hand what they get to something else: a shell, a template, a file, another server, a parser."""
import base64, io, ipaddress, json, os, pickle, re, secrets, socket, subprocess, tarfile, urllib.request, zlib
from urllib.parse import urlsplit

from flask import Flask, jsonify, redirect, render_template_string, request, session
from lxml import etree

from kit import e, site


def netcheck(v, files):
    """A desk for networks: signs of a shell are refused, but not the end of a line."""
    app = Flask('netcheck')

    def look(body): return f'<!DOCTYPE html><html lang="it"><head><meta charset="utf-8"><title>Sportello rete</title></head><body class="it-page"><header class="it-header-slim-wrapper"><a href="/">Sportello rete</a> <a href="/orari">Orari</a></header><main>{body}</main></body></html>'

    @app.get('/')
    def home(): return look('<form method="post" action="/strumenti/risolvi"><label for="host">Nome del server</label><input id="host" name="host" value="localhost"><button class="btn btn-primary">Risolvi</button></form>')

    @app.get('/orari')
    def hours(): return look('<p>Lun-Ven 9-17</p>')

    @app.post('/strumenti/risolvi')
    def resolve():
        host = request.form.get('host', '')[:120]
        if not host or host.startswith('-') or re.search(r'[;&|`$<>(){}\\\'"#*?]', host):
            return look('<div class="alert alert-danger">Carattere non ammesso.</div>'), 400
        if v != 'weak' and not re.fullmatch(r'[A-Za-z0-9.-]+', host):
            return look('<div class="alert alert-danger">Nome non valido.</div>'), 400
        try:
            line = f'getent -s files hosts {host}' if v == 'weak' else ['getent', '-s', 'files', 'hosts', host]
            out = subprocess.run(line, shell=v == 'weak', capture_output=True, text=True, timeout=12).stdout
        except subprocess.TimeoutExpired:
            out = ''
        return look(f'<pre>{e(out) or "nessun risultato"}</pre><a href="/">Indietro</a>')
    return app


def brasserie(v, files):
    """The name of who could not log in is part of the template of the answer."""
    app = Flask('brasserie')
    form = '<form action="/connexion" method="post"><p><label>Identifiant <input name="identifiant" autocomplete="username"></label></p><p><label>Secret <input type="password" name="secret"></label></p><p><input type="submit" value="Entrer"></p></form>'

    def look(body): return '<!doctype html><html lang="fr"><head><meta charset="utf-8"><title>Brasserie du Canal, personnel</title></head><body><h1>Brasserie du Canal</h1><h2>Espace du personnel</h2>' + body + '</body></html>'

    @app.get('/')
    def home(): return look('<p>Réservé aux employés.</p>' + form)

    @app.post('/connexion')
    def enter():
        name = request.form.get('identifiant', '')[:150]
        text = '<p class="erreur">Aucun accès pour ' + (e(name) if v == 'weak' else '{{ name }}') + '.</p>' + form
        return render_template_string(look(text), name=name), 401
    return app


def velodrome(v, files):
    """Who signs up chooses a name, which greets him on a page that is a template."""
    app, riders = site('velodrome'), {}
    head = '<!DOCTYPE html><html lang="nl"><head><meta charset="utf-8"><title>Wielerbaan</title></head><body><div class="mdc-top-app-bar"><a href="/">Baan</a> <a href="/inschrijven">Inschrijven</a> <a href="/start">Aanmelden</a> <a href="/renner">Mijn blad</a></div>'

    def look(body): return head + f'<article>{body}</article></body></html>'

    def form(to, word): return f'<form method="post" action="{to}"><input name="renner" placeholder="Renner" required><input name="pas" type="password" placeholder="Wachtwoord" required><button>{word}</button></form>'

    @app.get('/')
    def home(): return look('<p>Trainen op dinsdag en donderdag.</p>')

    @app.route('/inschrijven', methods=['GET', 'POST'])
    def join():
        if request.method == 'GET':
            return look(form('/inschrijven', 'Inschrijven'))
        name, word = request.form.get('renner', '')[:60], request.form.get('pas', '')
        if not 1 < len(name) or not 3 < len(word) < 100:
            return look('<p>Naam of wachtwoord te kort.</p>'), 422
        riders.setdefault(name, word)
        if len(riders) > 300:
            riders.pop(next(iter(riders)))
        return redirect('/start')

    @app.route('/start', methods=['GET', 'POST'])
    def start():
        if request.method == 'GET':
            return look(form('/start', 'Aanmelden'))
        name = request.form.get('renner', '')[:60]
        if name not in riders or riders[name] != request.form.get('pas'):
            return look('<p>Klopt niet.</p>'), 401
        session['renner'] = name
        return redirect('/renner')

    @app.get('/renner')
    def rider():
        if 'renner' not in session:
            return redirect('/start')
        who = session['renner'] if v != 'weak' else None
        text = look(f'<h3>Dag {e(session["renner"]) if v == "weak" else "{{ who }}"}!</h3><p>Nog geen rondetijden.</p>')
        try:
            return render_template_string(text, who=who)
        except Exception:
            return look('<p>Er ging iets mis.</p>'), 500
    return app


def almanac(v, files):
    """Tables of tides to download: what leads upwards is taken out, and a name that begins at the root is not."""
    app, root = Flask('almanac'), os.path.join(files, 'tables')
    os.makedirs(root, exist_ok=True)
    for name in ('brest', 'dover', 'esbjerg'):
        with open(os.path.join(root, f'{name}-2024.txt'), 'w') as f:
            f.write(f'Tides of {name}: high 03:12 15:40, low 09:25 21:50\n')

    @app.get('/')
    def home():
        return '<html><head><title>Nautical almanac</title></head><body><center><h1>Nautical almanac</h1><table border=1>' + ''.join(f'<tr><td>{n}<td><a href="/download?doc={n}-2024.txt">table</a>' for n in ('brest', 'dover', 'esbjerg')) + '</table></center></body></html>'

    @app.get('/download')
    def download():
        name = request.args.get('doc', '').replace('..', '').replace('\0', '')
        try:
            with open(os.path.join(root, name if v == 'weak' else os.path.basename(name)), encoding='utf-8', errors='replace') as f:
                text = f.read(50000)
        except OSError:
            return '<html><body><b>404</b> no such table</body></html>', 404
        return app.response_class(text, mimetype='text/plain', headers={'Content-Disposition': 'attachment; filename="table.txt"'})
    return app


def shoebox(v, files):
    """Pictures of families come as an archive: the names in it are looked at, and its links are not."""
    app, root, count = Flask('shoebox'), os.path.join(files, 'albums'), [100]
    os.makedirs(root, exist_ok=True)

    def look(body): return f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shoebox</title></head><body><h1>&#128230; Shoebox</h1>{body}</body></html>'

    @app.get('/')
    def home(): return look('<p>Drop a .tar with your notes and pictures, get an album.</p><form method="post" action="/album" enctype="multipart/form-data"><input type="file" name="bundle" accept=".tar"><button>Unpack</button></form>')

    @app.post('/album')
    def unpack():
        f, n = request.files.get('bundle'), count[0]
        into = os.path.join(root, str(n))
        try:
            with tarfile.open(fileobj=io.BytesIO(f.read(500000))) as tar:
                named = [m for m in tar if re.fullmatch(r'[\w-]+\.\w+', m.name)]
                if v == 'weak':
                    tar.extractall(into, members=named)
                else:
                    tar.extractall(into, members=[m for m in named if m.isreg()], filter='data')
        except Exception:
            return look('<p>This is no archive.</p>'), 400
        count[0] += 1
        return redirect(f'/album/{n}')

    @app.get('/album/<int:n>')
    def album(n):
        into = os.path.join(root, str(n))
        names = sorted(os.listdir(into)) if os.path.isdir(into) else []
        return look('<ul>' + ''.join(f'<li><a href="/album/{n}/{e(x)}">{e(x)}</a></li>' for x in names[:50]) + '</ul>')

    @app.get('/album/<int:n>/<name>')
    def picture(n, name):
        try:
            with open(os.path.join(root, str(n), os.path.basename(name)), 'rb') as f:
                return app.response_class(f.read(100000), mimetype='text/plain', headers={'X-Content-Type-Options': 'nosniff'})
        except OSError:
            return look('<p>Not in this box.</p>'), 404
    return app


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None


def linkcard(v, files):
    """A card for an address: whether it answers is told, what it answers is not; names of this machine are refused."""
    app = Flask('linkcard')

    @app.get('/')
    def home():
        return '''<!DOCTYPE html><html lang="ko"><head><meta charset="utf-8"><title>링크 카드</title></head><body><main id="card"><input id="u" type="url" placeholder="https://"><button id="b">만들기</button><p id="r"></p></main><script>
document.getElementById('b').addEventListener('click', function () {
  var x = new XMLHttpRequest();
  x.open('POST', '/api/cards');
  x.setRequestHeader('Content-Type', 'application/json');
  x.onload = function () { document.getElementById('r').textContent = x.responseText; };
  x.send(JSON.stringify({ url: document.getElementById('u').value, theme: 'light' }));
});
</script></body></html>'''

    def inner(host):
        try:
            return any(not ipaddress.ip_address(a[4][0]).is_global for a in socket.getaddrinfo(host, 80))
        except (OSError, ValueError):
            return True

    @app.post('/api/cards')
    def card():
        sent = request.get_json(silent=True)
        to = sent.get('url') if isinstance(sent, dict) else None
        u = urlsplit(to) if isinstance(to, str) else None
        if not u or u.scheme not in ('http', 'https') or not u.hostname:
            return jsonify(error='url required'), 422
        if re.search(r'localhost|127\.0\.0\.1|169\.254', to.lower()) or v != 'weak' and inner(u.hostname):
            return jsonify(error='address not allowed'), 403
        try:
            with urllib.request.build_opener(Stay).open(to, timeout=3) as a:
                return jsonify(reachable=True, status=a.status)
        except urllib.error.HTTPError as err:
            return jsonify(reachable=True, status=err.code)
        except Exception:
            return jsonify(reachable=False, status=None)
    return app


def canalboat(v, files):
    """An interface for JSON, which takes XML as well from who says so."""
    app = Flask('canalboat')
    boats = {'Heron': 95, 'Kingfisher': 120}

    @app.get('/')
    def home():
        return '''<!doctype html><html lang="en-GB"><head><meta charset="utf-8"><title>Slow Boats</title></head><body><h1>Slow Boats</h1><form id="q"><select name="boat"><option>Heron</option><option>Kingfisher</option></select><input name="days" type="number" value="3"><button>Quote</button></form><output id="o"></output><script>
q.onsubmit = async (ev) => { ev.preventDefault();
  const r = await fetch("/api/quotes", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ boat: q.boat.value, days: q.days.value }) });
  o.textContent = JSON.stringify(await r.json()); };
</script></body></html>'''

    @app.post('/api/quotes')
    def quote():
        try:
            if 'xml' in request.headers.get('Content-Type', ''):
                root = etree.fromstring(request.get_data()[:20000], etree.XMLParser(resolve_entities=v == 'weak', no_network=True, load_dtd=False))
                sent = {c.tag: (c.text or '') for c in root if isinstance(c.tag, str)}
            else:
                sent = json.loads(request.get_data()[:20000])
            boat, days = str(sent['boat']), int(sent.get('days', 1))
        except Exception:
            return jsonify(error='a boat and days, in JSON or XML'), 400
        if boat not in boats:
            return jsonify(error=f'no boat named {boat}'), 404
        return jsonify(boat=boat, days=days, price=boats[boat] * days)
    return app


def kiteschool(v, files):
    """A plan of lessons is in the link by which it is shared: an object, packed."""
    app = Flask('kiteschool')

    def pack(plan): return base64.urlsafe_b64encode(zlib.compress(pickle.dumps(plan) if v == 'weak' else json.dumps(plan).encode())).decode()

    def look(body): return f'<!DOCTYPE html><html lang="pt-BR"><head><meta charset="utf-8"><title>Escola de Kite</title></head><body><div class="sidebar"><a href="/">Planos</a></div><div class="content">{body}</div></body></html>'

    @app.get('/')
    def home():
        plans = [{'nome': 'Iniciante', 'aulas': ['vento', 'pipa']}, {'nome': 'Ondas', 'aulas': ['prancha', 'salto']}]
        return look(''.join(f'<p><a href="/plano?s={pack(p)}">{p["nome"]}</a></p>' for p in plans))

    @app.get('/plano')
    def plan():
        try:
            data = zlib.decompressobj().decompress(base64.urlsafe_b64decode(request.args.get('s', '')), 20000)
            p = pickle.loads(data) if v == 'weak' else json.loads(data)
            return look(f'<h2>{e(str(p["nome"]))}</h2><ol>' + ''.join(f'<li>{e(str(a))}</li>' for a in p['aulas']) + '</ol>')
        except Exception:
            return look('<p>Plano ilegível.</p>'), 400
    return app
