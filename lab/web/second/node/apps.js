// Sites of the second set on Express and on bare http: what a server fetches, trusts, and lets through.
const crypto = require('crypto'), dns = require('dns').promises, fs = require('fs'), http = require('http'), net = require('net'), os = require('os'), path = require('path');
const express = require('express'), cookies = require('cookie-parser');

const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const word = () => crypto.randomBytes(8).toString('hex');

// A shortener that reads the title of a page. Names and addresses of the machine itself are refused by their usual text.
exports.shortener = (v) => {
	const app = express(), weak = v === 'weak', links = new Map();
	const page = (b) => `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>tiny.one</title></head><body><center><h1><a href="/">tiny.one</a></h1>${b}<p><a href="/terms">Terms</a></p></center></body></html>`;
	const inner = (ip) => ip === '::1' || ip.startsWith('::ffff:') || /^(127|10|0|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(ip);
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }));
	app.get('/', (q, r) => r.send(page('<form method="post" action="/make"><input name="target" size="60" placeholder="https://"><button>Make it tiny</button></form>')));
	app.get('/terms', (q, r) => r.send(page('<p>No spam.</p>')));
	app.get('/t/:code', (q, r) => links.has(q.params.code) ? r.send(page(`<p>You leave for ${esc(links.get(q.params.code))}</p>`)) : r.status(404).send(page('<p>No such link.</p>')));
	app.post('/make', async (q, r) => {
		const target = String(q.body.target || '');
		let u;
		try { u = new URL(target); } catch { return r.status(400).send(page('<p>This is no address.</p>')); }
		if (u.protocol !== 'http:' && u.protocol !== 'https:') return r.status(400).send(page('<p>Only web pages.</p>'));
		let bad = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|10\.|192\.168\.|169\.254\.)/i.test(target);
		if (!weak) bad = await dns.lookup(u.hostname.replace(/^\[|\]$/g, '')).then((a) => inner(a.address), () => true);
		if (bad) return r.status(403).send(page('<p>Addresses of our own network are not shortened.</p>'));
		let title = '';
		try {
			const a = await fetch(u, { redirect: 'manual', signal: AbortSignal.timeout(4000) });
			title = (/<title>([^<]*)/i.exec((await a.text()).slice(0, 20000)) || [])[1] || 'untitled';
		} catch { title = 'unreachable'; }
		const code = crypto.randomBytes(4).toString('hex');
		links.set(code, target);
		if (links.size > 500) links.clear();
		r.send(page(`<p><a href="/t/${code}">/t/${code}</a> leads to &ldquo;${esc(title)}&rdquo;</p>`));
	});
	return app;
};

// A quiz whose points are counted by the page, and a certificate by the points that it sends.
exports.quiz = (v) => {
	const app = express(), weak = v === 'weak', live = {};
	const asks = [['Capital of Peru?', 'lima'], ['Seven times eight?', '56'], ['Who wrote Emma?', 'austen']];
	const page = (b) => `<!doctype html><html lang="en"><head><title>QuizTime</title></head><body><h1>QuizTime</h1><p><a href="/">Start</a> | <a href="/hall">Hall of fame</a></p>${b}</body></html>`;
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }), cookies());
	app.get('/', (q, r) => {
		const sid = word();
		live[sid] = {};
		r.cookie('quiz', sid, { httpOnly: true, sameSite: 'lax' }).send(page(`<form method="post" action="/answer">${asks.map((a, i) => `<p>${a[0]} <input name="a${i}"></p>`).join('')}<input type="hidden" name="points" value="0"><input type="hidden" name="of" value="3"><button>Done</button></form><script>document.forms[0].onsubmit=function(){var k=[${asks.map((a) => crypto.createHash('md5').update(a[1]).digest('hex').slice(0, 1).charCodeAt(0))}];this.points.value=k.filter(function(x,i){return document.forms[0]["a"+i].value.length>1}).length}</script>`));
	});
	app.get('/hall', (q, r) => r.send(page('<ol><li>Ada, 3 of 3</li></ol>')));
	app.post('/answer', (q, r) => {
		const one = live[q.cookies.quiz];
		if (!one) return r.redirect('/');
		one.points = weak ? Number(q.body.points) || 0 : asks.filter((a, i) => String(q.body[`a${i}`] || '').toLowerCase() === a[1]).length;
		r.redirect('/result');
	});
	app.get('/result', (q, r) => {
		const one = live[q.cookies.quiz];
		if (!one || one.points === undefined) return r.redirect('/');
		r.send(page(one.points >= 3 ? `<p>Certificate: ${one.points} of 3 points</p>` : `<p>${one.points} of 3 points. Try again.</p>`));
	});
	return app;
};

// Maps as files, by a server of its own: an address is decoded after it was looked at.
exports.atlas = (v) => {
	const weak = v === 'weak', root = fs.mkdtempSync(path.join(os.tmpdir(), 'atlas'));
	fs.mkdirSync(path.join(root, 'maps'));
	fs.writeFileSync(path.join(root, 'maps', 'alps.txt'), 'Mont Blanc 4806\n');
	fs.writeFileSync(path.join(root, 'maps', 'andes.txt'), 'Aconcagua 6961\n');
	const page = (b) => `<!DOCTYPE html><html><head><title>Atlas</title></head><body><pre>ATLAS\n=====</pre>${b}</body></html>`;
	return http.createServer((q, r) => {
		const at = q.url.split('?')[0];
		const end = (status, type, body) => { r.writeHead(status, { 'Content-Type': type }); r.end(body); };
		if (at === '/') return end(200, 'text/html', page('<a href="/maps/alps.txt">Alps</a> <a href="/maps/andes.txt">Andes</a> <a href="/about">About</a>'));
		if (at === '/about') return end(200, 'text/html', page('<p>Printed since 1904.</p>'));
		if (!at.startsWith('/maps/') || at.includes('..')) return end(404, 'text/html', page('<p>Off the map.</p>'));
		let file;
		try { file = path.join(root, decodeURIComponent(at)); } catch { return end(400, 'text/html', page('<p>Bad address.</p>')); }
		if (!weak && !file.startsWith(path.join(root, 'maps') + path.sep)) return end(404, 'text/html', page('<p>Off the map.</p>'));
		fs.readFile(file, (e, b) => e ? end(404, 'text/html', page('<p>Off the map.</p>')) : end(200, 'text/plain; charset=utf-8', b));
	});
};

// Tokens in a cookie: an algorithm "none" is refused as it is usually written.
exports.parking = (v) => {
	const app = express(), weak = v === 'weak', key = crypto.randomBytes(32);
	const b64 = (x) => Buffer.from(x).toString('base64url');
	const sum = (t) => crypto.createHmac('sha256', key).update(t).digest('base64url');
	const page = (b) => `<!DOCTYPE html><html lang="en"><head><title>ParkWell</title></head><body><div class="app-bar">ParkWell <a href="/">Home</a> <a href="/permits">Permits</a> <a href="/wardens">Wardens</a></div>${b}</body></html>`;
	const read = (text) => {
		try {
			const [h, p, s] = text.split('.'), alg = JSON.parse(Buffer.from(h, 'base64url')).alg, claims = JSON.parse(Buffer.from(p, 'base64url'));
			if (alg === 'none') return null;
			if (weak && String(alg).toLowerCase() === 'none') return claims;
			return alg === 'HS256' && s === sum(`${h}.${p}`) ? claims : null;
		} catch { return null; }
	};
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }), cookies(), (q, r, n) => { q.me = read(q.cookies.pass || ''); n(); });
	app.get('/', (q, r) => r.send(page(q.me ? `<p>Hello ${esc(q.me.sub)}</p><a href="/exit">Exit</a>` : '<form method="post" action="/enter"><input name="plate" placeholder="Plate"><input name="code" type="password"><button>Enter</button></form>')));
	app.post('/enter', (q, r) => {
		if (q.body.plate !== 'ZH-4711' || q.body.code !== 'Blue-zone9') return r.status(401).send(page('<p>Plate or code is wrong.</p><a href="/">Back</a>'));
		const t = `${b64('{"alg":"HS256","typ":"JWT"}')}.${b64('{"sub":"ZH-4711","role":"driver"}')}`;
		r.cookie('pass', `${t}.${sum(t)}`, { httpOnly: true, sameSite: 'lax' }).redirect('/permits');
	});
	app.get('/exit', (q, r) => r.clearCookie('pass').redirect('/'));
	app.get('/permits', (q, r) => q.me ? r.send(page(`<h2>Permits of ${esc(q.me.sub)}</h2><p>Zone 4 until December.</p>`)) : r.redirect('/'));
	app.get('/wardens', (q, r) => q.me ? q.me.role === 'warden' ? r.send(page('<h2>Wardens</h2><p>Towed today: BE-1, VD-7</p>')) : r.status(403).send(page('<p>Wardens only.</p>')) : r.redirect('/'));
	return app;
};

// A camera: HTTP's own login with the password that it was sold with.
exports.camera = (v) => {
	const weak = v === 'weak', secret = weak ? 'admin' : word();
	let wrong = 0;
	const page = (b) => `<HTML><HEAD><TITLE>IP Camera</TITLE></HEAD><BODY BGCOLOR=black TEXT=white><H2>IP Camera</H2>${b}</BODY></HTML>`;
	return http.createServer((q, r) => {
		const at = q.url.split('?')[0];
		const end = (status, body, more) => { r.writeHead(status, { 'Content-Type': 'text/html', Server: 'mini_httpd/1.19', ...more }); r.end(body); };
		if (at === '/') return end(200, page('<A HREF="/live.html">Live</A> <A HREF="/setup/">Setup</A>'));
		if (at === '/live.html') return end(200, page('<P>No signal.</P>'));
		if (!at.startsWith('/setup/')) return end(404, page('<P>Not found.</P>'));
		const given = Buffer.from((q.headers.authorization || '').replace(/^Basic /, ''), 'base64').toString();
		if (given !== `admin:${secret}` || wrong > 30) {
			wrong += !weak && given !== '' ? 1 : 0;
			return end(401, page('<P>Login required.</P>'), { 'WWW-Authenticate': 'Basic realm="IP Camera"' });
		}
		end(200, page('<FORM ACTION="/setup/"><P>Name <INPUT NAME="name" VALUE="Yard"></P></FORM><P>WLAN key: hazel-9922</P>'));
	});
};

// A petition: a name, with its special characters escaped for HTML, stands in a string of a handler.
exports.petition = (v) => {
	const app = express(), weak = v === 'weak';
	const page = (b) => `<!DOCTYPE html><html lang="en"><head><title>Save the plane trees</title></head><body><h1>Save the plane trees</h1>${b}<footer><a href="/">Petition</a> <a href="/why">Why</a></footer></body></html>`;
	app.disable('x-powered-by');
	app.get('/', (q, r) => r.send(page('<p>1,204 have signed.</p><form action="/sign"><input name="name" placeholder="Your name"><input name="town" placeholder="Town"><button>Sign</button></form>')));
	app.get('/why', (q, r) => r.send(page('<p>They give shade.</p>')));
	app.get('/sign', (q, r) => {
		const name = String(q.query.name || 'friend').slice(0, 200);
		const inside = weak ? esc(name) : esc(name.replace(/[^\p{L}\p{N} .-]/gu, ''));
		r.send(page(`<p>Thank you, ${esc(name)}.</p><button type="button" onclick="share('I am ${inside} and I signed', 'petition')">Share</button><script>function share(a, b) { document.title = a + b; }</script>`));
	});
	return app;
};
