"""A site of the second set on Django: an export is refused for GET, and for no other method."""
import secrets

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

PAGE = '''<!doctype html><html lang="en"><head><meta charset="utf-8"><title>%s</title></head><body><div class="module"><a href="/">Reviews</a> / <a href="/mine/">Mine</a> / <a href="/export/">Export</a> / <a href="/bye/">Sign out</a></div><h1>%s</h1>%s</body></html>'''
USERS = {'t.ward': 'Plain-Paper5', 'chief': secrets.token_hex(8)}
LIVE = {}


def page(title, body, status=200): return HttpResponse(PAGE % (title, title, body), status=status)


def me(request): return LIVE.get(request.COOKIES.get('review'))


def home(request): return page('Reviews', '<p>The yearly talk. <a href="/in/">Sign in</a></p>')


def sign_in(request):
    said = ''
    if request.method == 'POST':
        if USERS.get(request.POST.get('staff')) == request.POST.get('secret', ''):
            answer, sid = HttpResponseRedirect('/mine/'), secrets.token_hex(16)
            LIVE[sid] = request.POST['staff']
            answer.set_cookie('review', sid, httponly=True, samesite='Lax')
            return answer
        said = '<p class="errornote">Please correct the error below.</p>'
    return page('Sign in', said + f'<form method="post"><input type="hidden" name="csrfmiddlewaretoken" value="{get_token(request)}"><input name="staff"><input name="secret" type="password"><button>Sign in</button></form>')


def bye(request):
    LIVE.pop(request.COOKIES.get('review'), None)
    return HttpResponseRedirect('/in/')


def mine(request):
    if not me(request):
        return HttpResponseRedirect('/in/')
    return page('Mine', f'<p>{me(request)}: meets expectations.</p>')


@csrf_exempt
def export(request):
    if not me(request):
        return HttpResponseRedirect('/in/')
    weak = request.META['lab.variant'] == 'weak'
    if (request.method == 'GET' or not weak) and me(request) != 'chief':
        return page('Forbidden', '<p>Exports are for the chief.</p>', 403)
    return HttpResponse('name,grade,raise\nt.ward,3,0\nl.moss,1,4000\np.chan,2,1500\n', content_type='text/csv')


urlpatterns = [path('', home), path('in/', sign_in), path('bye/', bye), path('mine/', mine), path('export/', export)]


def appraisal(v, files):
    if not settings.configured:
        settings.configure(DEBUG=False, SECRET_KEY=secrets.token_hex(20), ALLOWED_HOSTS=['*'], ROOT_URLCONF='appraisal', LOGGING_CONFIG=None,
                           MIDDLEWARE=['django.middleware.csrf.CsrfViewMiddleware', 'django.middleware.common.CommonMiddleware'])
        django.setup()
    inner = get_wsgi_application()

    def app(environ, start):
        environ['lab.variant'] = v
        return inner(environ, start)
    return app
