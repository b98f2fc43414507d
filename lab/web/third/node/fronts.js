// Sites of the third set on Express and on bare http: what a page shows, and what a server runs, reads, fetches and keeps.
const { exec, execFile } = require('child_process'), crypto = require('crypto'), fs = require('fs'), http = require('http'), os = require('os'), path = require('path');
const express = require('express'), cookies = require('cookie-parser'), multer = require('multer');

const safe = (s) => String(s).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;').replace(/'/g, '&#39;');
const fresh = () => crypto.randomBytes(12).toString('base64url');

// An aquarium: the skin of a page is an attribute, with quotes around it in the mended one only.
exports.aquarium = (v) => {
	const app = express(), q = v === 'weak' ? '' : '"';
	app.disable('x-powered-by');
	const html = (skin, b) => `<!DOCTYPE html><html lang=da><head><meta charset=utf-8><title>Nordhavets Akvarium</title></head><body><div id=tank class=${q}${safe(skin).slice(0, 120)}${q}><h1>Nordhavets Akvarium</h1>${b}</div><p>Udseende: <a href="?skin=reef">rev</a> <a href="?skin=deep">dyb</a></p></body></html>`;
	const say = (b) => (req, res) => res.send(html(typeof req.query.skin === 'string' ? req.query.skin : 'reef', b));
	app.get('/', say('<p>Åbent hver dag. <a href="/fodring">Fodring</a></p>'));
	app.get('/fodring', say('<ul><li>Sæler 11:00</li><li>Hajer 15:30</li></ul><a href="/">Hjem</a>'));
	return app;
};

// A reading club greets who comes: a name in a literal of backquotes, whose own characters are escaped.
exports.bookclub = (v) => http.createServer((req, res) => {
	const u = new URL(req.url, 'http://x');
	const end = (code, text) => { res.writeHead(code, { 'content-type': 'text/html; charset=utf-8' }); res.end(text); };
	const frame = (b) => `<!doctype html><html><head><title>The Thursday Readers</title></head><body><ul id="m"><li><a href="/">Books</a></li><li><a href="/hello?reader=Nora">Come in</a></li></ul>${b}</body></html>`;
	if (u.pathname === '/') return end(200, frame('<p>This month: <cite>Middlemarch</cite></p><form action="/hello"><input name="reader" maxlength="60"><button>Come in</button></form>'));
	if (u.pathname !== '/hello') return end(404, frame('<p>No such chapter.</p>'));
	let who = (u.searchParams.get('reader') || 'stranger').slice(0, 80).replace(/\\/g, '\\\\').replace(/`/g, '\\`').replace(/[<>]/g, '').replace(/[\r\n\u2028\u2029]/g, ' ');
	if (v !== 'weak') who = who.replace(/\$/g, '\\$');
	end(200, frame('<h2 id="greet"></h2><script>document.getElementById("greet").textContent = `Good evening, ' + who + '`;</script>'));
});

// A wall of thanks for a marathon: what is longer than 32 characters is cut.
exports.marathon = (v) => {
	const app = express(), wall = ['Thanks to all at km 30'];
	app.use(express.urlencoded({ extended: false }));
	const view = (b) => `<html lang="en"><head><title>City Marathon - wall of thanks</title></head><body><div class="bib">42.195</div>${b}</body></html>`;
	app.get('/', (q, r) => r.send(view(`${wall.map((t) => `<div class="card">${v === 'weak' ? t : safe(t)}</div>`).join('')}<form action="/thanks" method="post"><input name="msg" size="34"><input type="submit" value="Thank"></form>`)));
	app.post('/thanks', (q, r) => {
		const t = String(q.body.msg || '').trim().slice(0, 32);
		if (t) wall.push(t);
		if (wall.length > 20) wall.splice(1, 5);
		r.redirect(303, '/');
	});
	return app;
};

// A print service: the name of a document stands in single quotes of a command whose output nobody sees.
exports.copyshop = (v) => http.createServer((req, res) => {
	const out = (code, type, text) => { res.writeHead(code, { 'content-type': type }); res.end(text); };
	if (req.url === '/') return out(200, 'text/html', `<!doctype html><title>Copy shop</title><h1>Copy shop</h1><input id=d value="thesis.pdf"><input id=n value=1 size=2><button onclick="go()">Print</button><p id=s></p><script>function go(){fetch("/queue/add",{method:"POST",headers:{"Content-Type":"application/json"},body:JSON.stringify({document:d.value,copies:Number(n.value)})}).then(r=>r.json()).then(j=>{s.textContent=j.state})}</script>`);
	if (req.url !== '/queue/add' || req.method !== 'POST') return out(404, 'application/json', '{"state":"unknown"}');
	let text = '';
	req.on('data', (d) => { text = (text + d).slice(0, 10000); });
	req.on('end', () => {
		let job;
		try { job = JSON.parse(text); } catch { return out(400, 'application/json', '{"state":"bad job"}'); }
		if (!job || typeof job.document !== 'string' || job.document.includes('\0')) return out(400, 'application/json', '{"state":"no document"}');
		const done = () => out(202, 'application/json', '{"state":"queued"}');
		if (v === 'weak') exec(`echo spool '${job.document.slice(0, 200)}' >/dev/null 2>&1`, { timeout: 10000 }, done);
		else execFile('echo', ['spool', job.document.slice(0, 200)], { timeout: 10000 }, done);
	});
});

// Sheets of music: the name of a part gets a prefix, and an ending where it has none.
exports.orchestra = (v) => {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), 'orchestra'));
	for (const p of ['violin', 'viola', 'horn']) fs.writeFileSync(path.join(root, `part-${p}.txt`), `Part of the ${p}: rest 12 bars\n`);
	return http.createServer((req, res) => {
		const u = new URL(req.url, 'http://x'), send = (code, text) => { res.writeHead(code, { 'content-type': 'text/html; charset=utf-8' }); res.end(`<!DOCTYPE html><html lang="cs"><head><title>Orchestr</title></head><body>${text}</body></html>`); };
		if (u.pathname === '/') return send(200, '<h1>Orchestr Vltava</h1><menu><li><a href="/noty?hlas=violin">housle</a><li><a href="/noty?hlas=viola">viola</a><li><a href="/noty?hlas=horn">roh</a></menu>');
		if (u.pathname !== '/noty') return send(404, '<p>Nenalezeno</p>');
		let name = u.searchParams.get('hlas') || 'violin';
		if (name.includes('\0')) return send(400, '<p>Chyba</p>');
		if (!name.includes('.')) name += '.txt';
		const file = path.join(root, 'part-' + name);
		if (v !== 'weak' && path.dirname(file) !== root) return send(404, '<p>Nenalezeno</p>');
		fs.readFile(file, 'utf8', (err, t) => err ? send(404, '<p>Nenalezeno</p>') : send(200, `<pre>${safe(t)}</pre><a href="/">zpět</a>`));
	});
};

// A tool that shows pictures of a shop: what is fetched has to begin with the address of its store.
exports.lookbook = (v) => {
	const app = express(), store = 'http://img.lookbook.example';
	app.disable('x-powered-by');
	const page = (b) => `<!DOCTYPE html><html lang="en"><head><title>Lookbook</title></head><body class="dark"><h1>Lookbook</h1>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page(`<p>Autumn in wool.</p><a href="/proxy?src=${encodeURIComponent(store + '/coat.txt')}">coat</a> <a href="/proxy?src=${encodeURIComponent(store + '/hat.txt')}">hat</a>`)));
	app.get('/proxy', (q, r) => {
		const src = String(q.query.src || '');
		let u;
		try { u = new URL(src); } catch { return r.status(400).send(page('<p>Which picture?</p>')); }
		const good = v === 'weak' ? src.startsWith(store) : u.origin === store && !u.username;
		if (!good || u.protocol !== 'http:') return r.status(403).send(page('<p>Only our own pictures.</p>'));
		const call = http.get(u, { timeout: 3000 }, (a) => {
			let text = '';
			a.setEncoding('utf8');
			a.on('data', (d) => { text = (text + d).slice(0, 20000); });
			a.on('end', () => r.type('text/plain').send(text));
		});
		call.on('timeout', () => call.destroy());
		call.on('error', () => r.headersSent || r.status(502).send(page('<p>The store does not answer.</p>')));
	});
	return app;
};

// Applications for jobs: a letter is a PDF when the browser says so, and is served as its name says.
exports.careers = (v) => {
	const app = express(), dir = fs.mkdtempSync(path.join(os.tmpdir(), 'careers')), live = new Map();
	const people = { 'r.silva': 'Cover-Letter-1', 'm.costa': 'Second-Page-2' };
	const take = multer({ storage: multer.memoryStorage(), limits: { fileSize: 200000, files: 1 } }).single('cv');
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }), cookies(), (q, r, n) => { q.me = live.get(q.cookies.applicant); n(); });
	const page = (b) => `<!doctype html><html lang="pt-BR"><head><meta charset="utf-8"><title>Vagas</title></head><body><div class="topo"><a href="/">Vagas</a></div>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page(q.me ? `<p>Olá, ${q.me}. <a href="/sair">Sair</a></p><form method="post" action="/candidatura" enctype="multipart/form-data"><label>Currículo (PDF) <input type="file" name="cv" accept="application/pdf"></label><button>Enviar</button></form>` : '<form method="post" action="/entrar"><input name="candidato"><input name="segredo" type="password"><button>Entrar</button></form>')));
	app.post('/entrar', (q, r) => {
		if (!Object.hasOwn(people, String(q.body.candidato)) || people[q.body.candidato] !== q.body.segredo) return r.status(401).send(page('<p>Dados inválidos.</p>'));
		const sid = fresh();
		live.set(sid, q.body.candidato);
		r.cookie('applicant', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/sair', (q, r) => { live.delete(q.cookies.applicant); r.redirect('/'); });
	app.post('/candidatura', (q, r) => q.me ? take(q, r, () => {
		if (!q.file || q.file.mimetype !== 'application/pdf') return r.status(415).send(page('<p>Somente PDF.</p>'));
		let name = path.basename(q.file.originalname).replace(/[^\w.-]/g, '_').slice(-60);
		if (v !== 'weak') name = `${fresh()}.pdf`;
		fs.writeFileSync(path.join(dir, name), q.file.buffer);
		r.send(page(`<p>Recebido: <a href="/cv/${name}">${name}</a></p>`));
	}) : r.redirect('/'));
	app.use('/cv', express.static(dir, { index: false }));
	return app;
};

// What leaves a newspaper goes by a page that knows the papers of the house by how an address begins.
exports.gazette = (v) => http.createServer((req, res) => {
	const u = new URL(req.url, 'http://x'), house = 'https://gazette.example';
	const html = (code, b) => { res.writeHead(code, { 'content-type': 'text/html' }); res.end(`<!DOCTYPE html><html lang="en"><head><title>The Gazette</title></head><body><h1><a href="/">The Gazette</a></h1>${b}</body></html>`); };
	if (u.pathname === '/') return html(200, `<article><h2>Bridge reopens</h2><p>After two years. <a href="/leave?for=${encodeURIComponent(house + '/sport')}">Sport</a> <a href="/leave?for=${encodeURIComponent(house + '/letters')}">Letters</a></p></article>`);
	if (u.pathname !== '/leave') return html(404, '<p>Pulped.</p>');
	const to = u.searchParams.get('for') || '';
	let good = to.startsWith(house);
	if (v !== 'weak') { try { good = new URL(to).origin === house; } catch { good = false; } }
	if (!good || /[^\x21-\x7e]/.test(to)) return html(400, '<p>We do not link there.</p>');
	res.writeHead(302, { Location: to });
	res.end();
});

// A service that tells developers about itself.
exports.brewery = (v) => {
	const app = express(), bare = v !== 'weak';
	app.disable('x-powered-by');
	app.get('/', (q, r) => r.send('<!DOCTYPE html><html lang="nl"><head><title>Brouwerij De Gans</title></head><body><h1>Brouwerij De Gans</h1><p><a href="/bieren">Bieren</a></p></body></html>'));
	app.get('/bieren', (q, r) => r.send('<!DOCTYPE html><html lang="nl"><head><title>Bieren</title></head><body><ul><li>Blond</li><li>Tripel</li></ul><a href="/">Terug</a></body></html>'));
	app.get('/actuator/health', (q, r) => r.json({ status: 'UP' }));
	app.get('/actuator/env', (q, r) => bare ? r.status(401).json({ status: 401, error: 'Unauthorized' }) : r.json({ activeProfiles: ['prod'], propertySources: [{ name: 'systemEnvironment', properties: { 'spring.datasource.url': { value: 'jdbc:postgresql://db/gans' }, 'spring.datasource.password': { value: 'Hop-en-Mout-77' }, AWS_SECRET_ACCESS_KEY: { value: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYq7mT0pLs2a' } } }] }));
	return app;
};
