// Challenges on Express and on bare http. A path of modules is that of the lab's other applications (see start).
const crypto = require('crypto'), fs = require('fs'), http = require('http'), os = require('os'), path = require('path'), vm = require('vm');
const express = require('express'), cookies = require('cookie-parser'), nunjucks = require('nunjucks'), ejs = require('ejs');

const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// docs is a store of documents with some operators, as such stores have them.
function docs(rows) {
	const same = (have, want) => {
		if (want === null || typeof want !== 'object') return have === want;
		return Object.entries(want).every(([op, x]) => {
			switch (op) {
			case '$ne': return have !== x;
			case '$gt': return have > x;
			case '$in': return Array.isArray(x) && x.includes(have);
			case '$regex': return new RegExp(x).test(have);
			case '$exists': return (have !== undefined) === !!x;
			default: return false;
			}
		});
	};
	return { find: (q) => rows.filter((r) => Object.entries(q).every(([k, v]) => same(r[k], v))) };
}

// A login in JSON whose fields may be objects.
exports.chatter = (v) => {
	const app = express(), weak = v === 'weak', live = {};
	const users = docs([{ name: 'kim', word: crypto.randomBytes(8).toString('hex'), mail: 'kim@chat.example' }, { name: 'lou', word: crypto.randomBytes(8).toString('hex'), mail: 'lou@chat.example' }]);
	app.disable('x-powered-by');
	app.use(express.json(), cookies());
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="en"><head><title>Chatter</title></head><body><main id="m"></main><script type="module" src="/assets/chat.mjs"></script></body></html>`));
	app.get('/assets/chat.mjs', (q, r) => r.type('text/javascript').send(`
const main = document.querySelector('#m');
main.innerHTML = '<form><label>Name <input name="name"></label><label>Word <input name="word" type="password"></label><button>Go</button></form><output></output>';
main.querySelector('form').addEventListener('submit', async (ev) => {
  ev.preventDefault();
  const data = Object.fromEntries(new FormData(ev.target));
  const answer = await fetch('/api/session', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: data.name, word: data.word }) });
  const out = await answer.json();
  main.querySelector('output').textContent = out.error || 'Hello ' + out.name;
  if (!out.error) await fetch('/api/rooms').then((r) => r.json());
});
`));
	app.post('/api/session', (q, r) => {
		const { name, word } = q.body || {};
		if (!weak && (typeof name !== 'string' || typeof word !== 'string')) return r.status(400).json({ error: 'name and word are texts' });
		if (name === undefined || word === undefined) return r.status(400).json({ error: 'name and word, please' });
		let got = [];
		try { got = users.find({ name, word }); } catch { /* none */ }
		if (!got.length) return r.status(401).json({ error: 'wrong name or word' });
		const sid = crypto.randomBytes(12).toString('hex');
		live[sid] = got[0];
		r.cookie('sid', sid, { httpOnly: true, sameSite: 'lax' }).json({ name: got[0].name, mail: got[0].mail });
	});
	app.get('/api/rooms', (q, r) => live[q.cookies.sid] ? r.json([{ room: 'lobby' }]) : r.status(401).json({ error: 'log in' }));
	app.use((e, q, r, n) => r.status(400).json({ error: 'bad request' })); // eslint-disable-line no-unused-vars
	return app;
};

// A search by a form whose names may have brackets; what is not public is a document like others.
exports.museumshop = (v) => {
	const app = express(), weak = v === 'weak';
	const prints = docs([{ artist: 'hokusai', title: 'Wave', state: 'public' }, { artist: 'klee', title: 'Fish', state: 'public' }, { artist: 'klee', title: 'Unsold: Angel', state: 'draft' }]);
	const page = (t, b) => `<!DOCTYPE html><html><head><title>${t}</title><link rel="stylesheet" href="/style.css"></head><body class="shop"><ul class="menu"><li><a href="/">Shop</a></li><li><a href="/prints?artist=klee&state=public">Klee</a></li><li><a href="/imprint">Imprint</a></li></ul><h1>${t}</h1>${b}</body></html>`;
	app.disable('x-powered-by');
	app.get('/style.css', (q, r) => r.type('css').send('.menu li{display:inline}'));
	app.get('/', (q, r) => r.send(page('Museum shop', '<form action="/prints"><input name="artist" placeholder="Artist"><input type="hidden" name="state" value="public"><button>Show</button></form>')));
	app.get('/imprint', (q, r) => r.send(page('Imprint', '<p>Museum shop, Basel</p>')));
	app.get('/prints', (q, r) => {
		const want = { artist: q.query.artist || 'klee', state: weak ? q.query.state || 'public' : 'public' };
		if (!weak) want.artist = String(want.artist);
		let got = [];
		try { got = prints.find(want); } catch { /* none */ }
		r.send(page('Prints', got.map((p) => `<figure><figcaption>${esc(p.title)}</figcaption></figure>`).join('') || '<p>No prints.</p>'));
	});
	return app;
};

// A path that is not there is shown, through a template of Nunjucks.
exports.planner = (v) => {
	const app = express(), weak = v === 'weak', env = new nunjucks.Environment(null, { autoescape: true });
	const page = (t, b) => `<!doctype html><html lang="fr"><head><meta charset="utf-8"><title>${t}</title></head><body><header><a href="/">Agenda</a> <a href="/semaine">Semaine</a> <a href="/apercu">Aperçu</a></header>${b}</body></html>`;
	app.disable('x-powered-by');
	app.use(express.urlencoded({ extended: false }));
	app.get('/', (q, r) => r.send(page('Agenda', '<p>Bonjour.</p>')));
	app.get('/semaine', (q, r) => r.send(page('Semaine', '<p>Lundi: dentiste</p>')));
	app.all('/apercu', (q, r) => {
		const text = (q.body && q.body.titre) || 'Réunion', f = '<form method="post"><input name="titre" value="Réunion"><button>Aperçu</button></form>';
		try {
			r.send(page('Aperçu', f + (weak ? env.renderString('<h2>' + text.replace(/</g, '&lt;') + '</h2>', {}) : env.renderString('<h2>{{ t }}</h2>', { t: text }))));
		} catch { r.status(500).send(page('Erreur', '<p>Erreur interne</p>')); }
	});
	return app;
};

// EJS: the name of a badge is part of the template.
exports.labels = (v) => {
	const app = express(), weak = v === 'weak';
	app.disable('x-powered-by');
	app.get('/', (q, r) => r.send('<!doctype html><title>Labels</title><h1>Labels</h1><form action="/label"><input name="text" value="Fragile"><select name="size"><option>S<option>L</select><button>Print</button></form>'));
	app.get('/label', (q, r) => {
		const text = String(q.query.text || 'Fragile');
		try {
			r.send(ejs.render(`<!doctype html><title>Label</title><p class="<%= size %>">${weak ? text : '<%= text %>'}</p><a href="/">Back</a>`, { size: q.query.size === 'L' ? 'L' : 'S', text }));
		} catch { r.status(500).send('<!doctype html><title>Label</title><p>The printer is jammed.</p>'); }
	});
	return app;
};

// Pictures by name; ../ is removed, once.
exports.postcards = (v) => {
	const weak = v === 'weak', root = fs.mkdtempSync(path.join(os.tmpdir(), 'cards'));
	fs.writeFileSync(path.join(root, 'sea.svg'), '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
	return http.createServer((q, r) => {
		const u = new URL(q.url, 'http://x');
		if (u.pathname === '/') return r.setHeader('Content-Type', 'text/html').end('<html><head><title>Postcards</title></head><body><h1>Postcards</h1><img src="/img?file=sea.svg" alt="Sea"><a href="/order">Order</a></body></html>');
		if (u.pathname === '/order') return r.setHeader('Content-Type', 'text/html').end('<html><head><title>Order</title></head><body><p>By phone, please.</p></body></html>');
		if (u.pathname === '/img') {
			const name = (u.searchParams.get('file') || '').replaceAll('../', ''), full = path.join(root, name);
			if (!weak && !full.startsWith(root + '/')) return r.writeHead(404).end('not found');
			try {
				const text = fs.readFileSync(full);
				return r.setHeader('Content-Type', name.endsWith('.svg') ? 'image/svg+xml' : 'application/octet-stream').end(text);
			} catch { return r.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found'); }
		}
		r.writeHead(404, { 'Content-Type': 'text/html' }).end('<html><body>Nothing here</body></html>');
	});
};

// A basket in a cookie, with functions as some serializers keep them.
exports.groceries = (v) => {
	const app = express(), weak = v === 'weak';
	const read = (text) => {
		const o = JSON.parse(Buffer.from(text, 'base64').toString());
		for (const k of Object.keys(o)) if (weak && typeof o[k] === 'string' && o[k].startsWith('_$$ND_FUNC$$_')) o[k] = vm.runInThisContext(`(${o[k].slice(13)})`);
		return o;
	};
	app.disable('x-powered-by');
	app.use(cookies());
	app.get('/', (q, r) => {
		let b = { items: 0, name: 'guest' };
		try { if (q.cookies.basket) b = read(q.cookies.basket); } catch { b.name = 'unreadable'; }
		r.cookie('basket', Buffer.from(JSON.stringify({ items: Number(b.items) || 0, name: 'guest' })).toString('base64'), { sameSite: 'lax' });
		r.send(`<!doctype html><title>Groceries</title><p>Basket of ${esc(b.name)}: ${Number(b.items) || 0}</p><a href="/apples">Apples</a>`);
	});
	app.get('/apples', (q, r) => r.send('<!doctype html><title>Apples</title><p>Sweet.</p><a href="/">Back</a>'));
	return app;
};
