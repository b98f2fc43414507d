"""A challenge on Django: an interface that shows drafts of others, and a search in raw SQL."""
import json
import secrets

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import path

from kit import e, memory

PAGE = '''<!DOCTYPE html>
<html><head><title>%s | Journal</title><meta name="generator" content="Journal 2"></head><body class="home"><div id="header"><a href="/">Journal</a> <a href="/drafts/">Drafts</a> <a href="/archive/?year=2023">2023</a> <a href="/accounts/login/">Log in</a></div>
<div id="content"><h1>%s</h1>%s</div></body></html>'''
USERS = {'writer': 'Quill-77', 'editor': secrets.token_hex(8)}
DRAFTS = {31: ('editor', 'Closing the paper in June'), 32: ('writer', 'Ten soups'), 33: ('editor', 'Pay cuts'), 34: ('writer', 'On rain')}
ASK = memory("CREATE TABLE posts (title TEXT, year TEXT, live INT); INSERT INTO posts VALUES ('Snow','2023',1),('Sun','2024',1),('Secret plans','2023',0)")
LIVE = {}


def page(title, body, status=200): return HttpResponse(PAGE % (title, title, body), status=status)


def weak(request): return request.META['lab.variant'] == 'weak'


def me(request): return LIVE.get(request.COOKIES.get('sessionid'))


def home(request): return page('Journal', '<p>Essays, weekly.</p>')


def login(request):
    said = ''
    if request.method == 'POST':
        if USERS.get(request.POST.get('username')) == request.POST.get('password', ''):
            answer, sid = HttpResponseRedirect('/drafts/'), secrets.token_hex(16)
            LIVE[sid] = request.POST['username']
            answer.set_cookie('sessionid', sid, httponly=True, samesite='Lax')
            return answer
        said = '<ul class="errorlist nonfield"><li>Please enter a correct username and password.</li></ul>'
    return page('Log in', said + f'<form method="post"><input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}"><p><label for="id_username">Username:</label> <input type="text" name="username" maxlength="254" id="id_username"></p>'
                '<p><label for="id_password">Password:</label> <input type="password" name="password" id="id_password"></p><button type="submit">Log in</button></form>')


def drafts(request):
    if not me(request):
        return HttpResponseRedirect('/accounts/login/')
    return page('Drafts', ''.join(f'<p><a href="/drafts/{n}/">{e(d[1])}</a></p>' for n, d in DRAFTS.items() if d[0] == me(request)))


def draft(request, n):
    if not me(request):
        return HttpResponseRedirect('/accounts/login/')
    d = DRAFTS.get(n)
    return page('Draft', f'<p>{e(d[1])}</p><p>by {d[0]}</p>') if d and (weak(request) or d[0] == me(request)) else page('Not found', '<p>The page was not found.</p>', 404)


def archive(request):
    year = request.GET.get('year', '2024')
    try:
        got = ASK(f"SELECT title FROM posts WHERE live = 1 AND year = {year}") if weak(request) else ASK('SELECT title FROM posts WHERE live = 1 AND year = ?', year)
    except Exception:
        got = []
    return page('Archive', ''.join(f'<p>{e(r[0])}</p>' for r in got) or '<p>No posts.</p>')


urlpatterns = [path('', home), path('accounts/login/', login), path('drafts/', drafts), path('drafts/<int:n>/', draft), path('archive/', archive)]


def blog(v, files):
    if not settings.configured:
        settings.configure(DEBUG=False, SECRET_KEY=secrets.token_hex(20), ALLOWED_HOSTS=['*'], ROOT_URLCONF='blog', LOGGING_CONFIG=None,
                           MIDDLEWARE=['django.middleware.csrf.CsrfViewMiddleware', 'django.middleware.common.CommonMiddleware'])
        django.setup()
    inner = get_wsgi_application()

    def app(environ, start):
        environ['lab.variant'] = v
        return inner(environ, start)
    return app
