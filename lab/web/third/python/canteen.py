"""A site of the third set on Django: parents order the meals of their children, who are named by a field that is not shown."""
import secrets

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
from django.utils.html import escape

settings.configure(DEBUG=False, SECRET_KEY=secrets.token_hex(32), ALLOWED_HOSTS=['*'], ROOT_URLCONF=__name__, USE_I18N=False,
                   CSRF_COOKIE_HTTPONLY=True, MIDDLEWARE=['django.middleware.common.CommonMiddleware', 'django.middleware.csrf.CsrfViewMiddleware'])
django.setup()

USERS = {'mum.lind': 'Packed+Lunch1', 'dad.roy': 'Packed+Lunch2'}
KIDS = {'4101': ('mum.lind', 'Elsa Lind', 'nuts, insulin at noon'), '4102': ('dad.roy', 'Tim Roy', 'epilepsy'), '4103': ('dad.roy', 'Ann Roy', 'none')}
LIVE = {}


def page(request, body, status=200):
    return HttpResponse(f'<!doctype html><html lang="en-AU"><head><meta charset="utf-8"><title>School canteen</title></head><body class="apple"><h1>School canteen</h1><p><a href="/">Menu</a> <a href="/family/">Family</a> <a href="/bye/">Bye</a></p>{body}</body></html>', status=status)


def form(request, to, inner): return f'<form method="post" action="{to}"><input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}">{inner}</form>'


def me(request): return LIVE.get(request.COOKIES.get('canteen'))


def menu(request):
    return page(request, '<ul><li>Monday: soup</li><li>Tuesday: pasta</li></ul>' + ('' if me(request) else '<a href="/hello/">Parents</a>'))


def hello(request):
    said = ''
    if request.method == 'POST':
        name = request.POST.get('parent', '')
        if name in USERS and USERS[name] == request.POST.get('pass'):
            sid, answer = secrets.token_hex(16), HttpResponseRedirect('/family/')
            LIVE[sid] = name
            answer.set_cookie('canteen', sid, httponly=True, samesite='Lax')
            return answer
        said = '<p>That did not work.</p>'
    return page(request, said + form(request, '/hello/', 'Parent <input name="parent"> Pass <input name="pass" type="password"> <button>Hello</button>'))


def bye(request):
    LIVE.pop(request.COOKIES.get('canteen'), None)
    return HttpResponseRedirect('/')


def family(request):
    if not me(request):
        return HttpResponseRedirect('/hello/')
    return page(request, ''.join(f'<h3>{k[1]}</h3>' + form(request, '/card/', f'<input type="hidden" name="kid" value="{n}"><button>Show the card</button>') for n, k in KIDS.items() if k[0] == me(request)))


def card(request):
    if not me(request) or request.method != 'POST':
        return HttpResponseRedirect('/family/')
    kid = KIDS.get(request.POST.get('kid', ''))
    if not kid or request.META['lab.variant'] != 'weak' and kid[0] != me(request):
        return page(request, '<p>We have no such child.</p>', 404)
    return page(request, f'<h2>{escape(kid[1])}</h2><p>Health: {escape(kid[2])}</p>')


urlpatterns = [path('', menu), path('hello/', hello), path('bye/', bye), path('family/', family), path('card/', card)]


def canteen(v, files):
    """Django itself, with its middleware against forged requests."""
    inner = get_wsgi_application()

    def app(environ, start):
        environ['lab.variant'] = v
        return inner(environ, start)
    return app
