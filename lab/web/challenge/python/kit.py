"""What the challenges in Python share: four looks of a page, a login, and a database in memory. Weak on purpose; loopback only."""
import os, sqlite3, threading
from html import escape as e  # noqa: F401

from flask import Flask, g, redirect, request, session

LOCK = threading.RLock()


def nav(links, item):
    return ''.join(item % (to, text) for to, text in links)


def boot(title, body, links=(), lang='en', head=''):
    return f'''<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<link rel="icon" href="data:,">{head}<style>body{{font-family:system-ui;margin:0}}.navbar{{background:#0d6efd;padding:.6rem}}.navbar a{{color:#fff;margin-right:1rem}}.container{{max-width:960px;margin:auto}}.card{{border:1px solid #ddd;padding:1rem;margin:1rem 0}}</style></head>
<body><nav class="navbar navbar-expand-lg"><div class="container">{nav(links, '<a class="nav-link" href="%s">%s</a>')}</div></nav>
<main class="container"><h1 class="display-6">{title}</h1>{body}</main><footer class="container text-muted"><small>&copy; 2024</small></footer></body></html>'''


def plain(title, body, links=(), lang='en', head=''):
    return f'''<html lang="{lang}">
<head><title>{title}</title>{head}</head><body bgcolor="#f4f4ec"><table width="100%"><tr><td width="160" valign="top">{nav(links, '<p><a href="%s">%s</a></p>')}</td>
<td valign="top"><h2>{title}</h2><hr>{body}</td></tr></table></body></html>'''


def wind(title, body, links=(), lang='en', head=''):
    return f'''<!DOCTYPE html><html lang="{lang}" class="h-full bg-gray-100"><head><meta charset="UTF-8"/><title>{title}</title>{head}</head>
<body class="h-full"><div class="min-h-full"><aside class="w-64 flex flex-col">{nav(links, '<a class="px-2 py-1 rounded" href="%s">%s</a>')}</aside>
<div class="mx-auto max-w-7xl py-6 sm:px-6"><h1 class="text-3xl font-bold">{title}</h1><section class="prose">{body}</section></div></div></body></html>'''


def bare(title, body, links=(), lang='en', head=''):
    return f'''<!DOCTYPE html><meta charset=utf-8><title>{title}</title>{head}<header>{nav(links, '<a href="%s">%s</a> | ')}</header><article><h3>{title}</h3>
{body}
</article>'''


def form(action, fields, button, method='post', more=''):
    """Fields are (label, name) or (label, name, value, type)."""
    rows = ''
    for f in fields:
        label, name, value, kind = (f + ('', 'text'))[:4] if len(f) < 4 else f
        row = f'<input class="form-control" type="{kind}" name="{name}" id="{name}" value="{e(str(value))}">'
        rows += row if kind == 'hidden' else f'<div class="mb-3"><label for="{name}">{label}</label>{row}</div>'
    return f'<form method="{method}" action="{action}" {more}>{rows}<button type="submit" class="btn btn-primary">{button}</button></form>'


def site(name):
    app = Flask(name)
    app.secret_key = os.urandom(24)
    app.config['SESSION_COOKIE_SAMESITE'] = 'Lax'
    return app


def gate(app, look, users, at='/login', names=('username', 'password'), words=('Sign in', 'Username', 'Password', 'Invalid username or password'), home='/', note='', lang='en'):
    """A login with a signed session. Users are names with passwords; g.me is who is logged in."""
    @app.before_request
    def who():
        g.me = session.get('who') if session.get('who') in users else None

    @app.route(at, methods=['GET', 'POST'])
    def login():
        said = ''
        if request.method == 'POST':
            name = request.form.get(names[0], '')
            if name in users and users[name] == request.form.get(names[1]):
                session.clear()
                session['who'] = name
                return redirect(home)
            said = f'<div class="alert alert-danger">{words[3]}</div>'
        return look(words[0], said + form(at, [(words[1], names[0]), (words[2], names[1], '', 'password')], words[0]) + note, lang=lang)

    @app.route('/logout')
    def logout():
        session.clear()
        return redirect(at)

    def member(view):
        def inner(*a, **k):
            return view(*a, **k) if g.me else redirect(at)
        inner.__name__ = view.__name__
        return inner
    return member


def memory(script):
    db = sqlite3.connect(':memory:', check_same_thread=False, isolation_level=None)
    db.executescript(script)

    def ask(text, *values):
        with LOCK:
            return db.execute(text, values).fetchall()
    return ask
