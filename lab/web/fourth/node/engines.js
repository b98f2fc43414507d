// Sites of the fourth set on Express that hand what they get to something else: a template, a file, a server, a shell, the language itself.
const { exec, execFile } = require('child_process'), crypto = require('crypto'), fs = require('fs'), net = require('net'), os = require('os'), path = require('path'), dns = require('dns').promises;
const express = require('express'), ejs = require('ejs'), nunjucks = require('nunjucks'), multer = require('multer');

const safe = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const base = (...more) => {
	const app = express();
	app.disable('x-powered-by');
	app.use(...more, (q, r, n) => n());
	return app;
};

// Cards to print: the text of a card is part of a template of EJS, with marks of its own.
exports.postmark = (v) => {
	const app = base(express.json({ limit: '20kb' }));
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Postmark Press</title></head><body><div id="root"><h1>Postmark Press</h1><textarea id="t">Greetings from Bath</textarea><input id="n" value="Aunt May"><button id="b">Preview</button><iframe id="p" sandbox></iframe></div><script>
document.getElementById("b").onclick = async () => {
  const r = await fetch("/api/cards/preview", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ to: n.value, text: t.value, paper: "cream" }) });
  const d = await r.json(); p.srcdoc = d.html || d.error; };
</script></body></html>`));
	app.post('/api/cards/preview', (q, r) => {
		const { to, text } = q.body || {};
		if (typeof to !== 'string' || typeof text !== 'string' || text.length > 300) return r.status(422).json({ error: 'to and text' });
		const shown = v === 'weak' ? text : '<?= text ?>';
		try {
			r.json({ html: ejs.render(`<div class="card"><p>Dear <?= to ?>,</p><p>${shown}</p></div>`, { to, text }, { delimiter: '?' }) });
		} catch (err) {
			r.status(500).json({ error: `ejs: ${String(err.message).split('\n').pop().slice(0, 120)}` });
		}
	});
	return app;
};

// Names of the weather station: what a visitor calls it is kept, and is a template of Nunjucks on every page.
exports.barometer = (v) => {
	const app = base(express.urlencoded({ extended: false })), env = new nunjucks.Environment(null, { autoescape: true });
	let motto = 'Luft und Druck';
	const page = (b) => `<!doctype html><html lang="de"><head><meta charset="utf-8"><title>Wetterwarte</title></head><body><aside><a href="/">Warte</a> <a href="/spruch">Spruch</a></aside><section>${b}</section></body></html>`;
	app.get('/', (q, r) => {
		try {
			r.send(page(env.renderString(`<h1>${v === 'weak' ? safe(motto) : '{{ motto }}'}</h1><p>{{ hpa }} hPa</p>`, { motto, hpa: 1014 })));
		} catch {
			r.send(page('<h1>Wetterwarte</h1><p>1014 hPa</p>'));
		}
	});
	app.get('/spruch', (q, r) => r.send(page('<form method="post" action="/spruch"><input name="motto" maxlength="80"><select name="ton"><option>froh</option><option>ernst</option></select><button>Setzen</button></form>')));
	app.post('/spruch', (q, r) => {
		motto = String(q.body.motto || 'Luft und Druck').slice(0, 120);
		r.redirect(303, '/');
	});
	return app;
};

// A set of drawings: a name has to have the ending of one, wherever that stands.
exports.iconset = (v) => {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), 'icons'));
	for (const n of ['anchor', 'bell', 'crown']) fs.writeFileSync(path.join(root, `${n}.svg`), `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>${n}</title><path d="M1 1h7v7z"/></svg>`);
	const app = base(express.json());
	app.get('/', (q, r) => r.send('<!DOCTYPE html><html lang="en"><head><title>Icons</title></head><body><h1>Icons</h1><p><img src="/raw?icon=anchor.svg&size=24" alt="anchor"><img src="/raw?icon=bell.svg&size=24" alt="bell"><img src="/raw?icon=crown.svg&size=24" alt="crown"></p></body></html>'));
	app.get('/raw', (q, r) => {
		const name = String(q.query.icon || '');
		if (!name.includes('.svg') || name.includes('\0')) return r.status(415).type('text').send('icons only');
		const file = path.join(root, v === 'weak' ? name : path.basename(name));
		fs.readFile(file, (err, data) => err ? r.status(404).type('text').send('no such icon') : r.type(v !== 'weak' || file.endsWith('.svg') ? 'svg' : 'text').set('X-Content-Type-Options', 'nosniff').send(data));
	});
	return app;
};

// Hooks: an address is called once to try it, and the beginning of its answer is shown; two names of this machine are refused.
exports.tocsin = (v) => {
	const app = base(express.json({ limit: '20kb' }));
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="en"><head><title>Tocsin alerts</title></head><body><h1>Tocsin</h1><p>Rings your webhook when the river rises.</p><form id="f"><input name="callback" placeholder="https://…/hook" size="50"><button>Send a test</button></form><pre id="o"></pre><script>
f.onsubmit = (e) => { e.preventDefault(); fetch("/api/hooks/test", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ hook: { callback: f.callback.value, event: "flood" } }) }).then((r) => r.json()).then((d) => { o.textContent = d.body || d.error; }); };
</script></body></html>`));
	const local = (a) => net.isIPv4(a) ? /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(a) : true;
	app.post('/api/hooks/test', async (q, r) => {
		const to = ((q.body || {}).hook || {}).callback;
		let u;
		try { u = new URL(to); } catch { return r.status(422).json({ error: 'callback is no address' }); }
		if (!/^https?:$/.test(u.protocol) || /localhost|127\.0\.0\.1/i.test(to)) return r.status(403).json({ error: 'callback not allowed' });
		try {
			if (v !== 'weak' && local((await dns.lookup(u.hostname.replace(/[[\]]/g, ''))).address)) return r.status(403).json({ error: 'callback not allowed' });
			const a = await fetch(u, { redirect: 'manual', signal: AbortSignal.timeout(3000) });
			r.json({ status: a.status, body: (await a.text()).slice(0, 400) });
		} catch { r.status(502).json({ error: 'callback did not answer' }); }
	});
	return app;
};

// A sheet of sums: a formula is a program.
exports.abacus = (v) => {
	const app = base(express.json({ limit: '20kb' }));
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html lang="ru"><head><meta charset="utf-8"><title>Счёты</title></head><body><table><tr><td contenteditable id="a">2*(3+4)</td><td id="s"></td></tr></table><button id="b">=</button><script>
b.onclick = () => fetch("/api/cell", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ cell: "A1", formula: a.textContent }) }).then((r) => r.json()).then((d) => { s.textContent = d.value ?? d.error; });
</script></body></html>`));
	const sum = (t) => {
		if (!/^[\d+\-*/(). ]{1,80}$/.test(t)) throw new Error('only numbers');
		return Function(`"use strict"; return (${t})`)();
	};
	app.post('/api/cell', (q, r) => {
		const t = String((q.body || {}).formula || '').slice(0, 200);
		try {
			r.json({ cell: 'A1', value: String(v === 'weak' ? Function('return (' + t + ')')() : sum(t)).slice(0, 500) });
		} catch (err) { r.status(400).json({ error: err.name }); }
	});
	return app;
};

// Small pictures are made of large ones: the size is part of a command whose output nobody sees.
exports.thumbs = (v) => {
	const app = base(express.urlencoded({ extended: true })), page = (b) => `<html lang="pl"><head><meta charset="utf-8"><title>Miniaturki</title></head><body><fieldset><legend>Miniaturki</legend>${b}</fieldset></body></html>`;
	app.get('/', (q, r) => r.send(page('<form method="post" action="/zrob"><select name="obraz"><option>wawel.jpg</option><option>giewont.jpg</option></select><input name="rozmiar" value="120x80"><button>Zrób</button></form>')));
	app.post('/zrob', (q, r) => {
		const size = String(q.body.rozmiar || '').slice(0, 120), name = ['wawel.jpg', 'giewont.jpg'].includes(q.body.obraz) ? q.body.obraz : 'wawel.jpg';
		if (/[\s;|<>]/.test(size) || v !== 'weak' && !/^\d{1,4}x\d{1,4}$/.test(size)) return r.status(400).send(page('<p>Zły rozmiar.</p>'));
		const done = () => r.send(page('<p>Gotowe, odbiór przy kasie.</p><a href="/">Jeszcze raz</a>'));
		if (v === 'weak') exec(`echo convert ${name} -resize ${size} mini.jpg >/dev/null 2>&1`, { timeout: 12000 }, done);
		else execFile('echo', ['convert', name, '-resize', size], { timeout: 12000 }, done);
	});
	return app;
};

// A market of fish: what is looked for is part of a condition in the language of the store.
exports.fishmarket = (v) => {
	const app = base(express.urlencoded({ extended: false }));
	const store = [{ name: 'cod', price: 18, listed: true }, { name: 'hake', price: 15, listed: true }, { name: 'eel', price: 30, listed: true }, { name: 'turbot for the mayor', price: 0, listed: false }];
	const find = ({ $where }) => { const f = Function(`return (${$where})`); return store.filter((d) => f.call(d)); };
	const page = (b) => `<!doctype html><html lang="ga"><head><meta charset="utf-8"><title>Margadh an éisc</title></head><body><h1>Margadh an éisc</h1><form action="/fish"><input name="kind" placeholder="cod"><button>Find</button></form>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page('<a href="/fish?kind=cod">cod</a> <a href="/fish?kind=hake">hake</a>')));
	app.get('/fish', (q, r) => {
		const kind = String(q.query.kind || '').slice(0, 100);
		try {
			const all = v === 'weak' ? find({ $where: `this.listed && this.name == '${kind}'` }) : store.filter((d) => d.listed && d.name === kind);
			r.send(page(all.length ? `<ul>${all.map((d) => `<li>${d.name}: ${d.price}</li>`).join('')}</ul>` : '<p>Not today.</p>'));
		} catch (err) { r.status(500).send(page(`<p>MongoServerError: ${safe(err.message)}</p>`)); }
	});
	return app;
};

// Coats of arms of families: a picture is kept as what its sender says that it is, and shown from here.
exports.heraldry = (v) => {
	const app = base(express.urlencoded({ extended: false })), kept = new Map();
	const up = multer({ limits: { fileSize: 50000 } });
	const page = (b) => `<!DOCTYPE html><html lang="la"><head><meta charset="utf-8"><title>Heraldica</title></head><body><h1>Scuta</h1>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page(`<form method="post" action="/scuta" enctype="multipart/form-data"><input type="text" name="family"><input type="file" name="shield" accept="image/*"><button>Add</button></form><ul>${[...kept.keys()].map((n) => `<li><a href="/scuta/${n}">${n}</a></li>`).join('')}</ul>`)));
	app.post('/scuta', up.single('shield'), (q, r) => {
		const f = q.file;
		if (!f || !f.mimetype.startsWith('image/') || v !== 'weak' && !['image/png', 'image/jpeg'].includes(f.mimetype)) return r.status(415).send(page('<p>A picture, please.</p>'));
		const name = path.basename(f.originalname).replace(/[^\w.-]/g, '');
		kept.set(name, { type: f.mimetype, data: f.buffer });
		if (kept.size > 40) kept.delete(kept.keys().next().value);
		r.redirect(303, '/');
	});
	app.get('/scuta/:name', (q, r) => {
		const f = kept.get(q.params.name);
		f ? r.type(f.type).set('X-Content-Type-Options', 'nosniff').send(f.data) : r.status(404).send(page('<p>Unknown family.</p>'));
	});
	return app;
};

// A vineyard: the login asks its store with what it is sent, operators and all.
exports.vineyard = (v) => {
	const app = base(express.json({ limit: '20kb' })), word = crypto.randomBytes(9).toString('hex');
	const cellar = [{ user: 'cellarmaster', pin: word, note: 'Barrel 9 is corked; the buyer does not know.' }];
	const ops = { $ne: (a, b) => a !== b, $gt: (a, b) => a > b, $lt: (a, b) => a < b, $in: (a, b) => Array.isArray(b) && b.includes(a), $exists: (a, b) => (a !== undefined) === !!b };
	const fits = (a, want) => want && typeof want === 'object' ? Object.entries(want).every(([o, b]) => Object.hasOwn(ops, o) && ops[o](a, b)) : a === want;
	const findOne = (f) => cellar.find((d) => Object.entries(f).every(([k, want]) => fits(d[k], want)));
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="hr"><head><meta charset="utf-8"><title>Vinograd</title></head><body><h1>Vinograd</h1><form id="p"><input name="user" placeholder="korisnik"><input name="pin" type="password" placeholder="pin"><button>Podrum</button></form><p id="n"></p><script>
p.addEventListener("submit", (e) => { e.preventDefault();
  fetch("/podrum/prijava", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ user: p.user.value, pin: p.pin.value }) }).then((r) => r.json()).then((d) => { n.textContent = d.note || d.error; }); });
</script></body></html>`));
	app.post('/podrum/prijava', (q, r) => {
		const { user, pin } = q.body || {};
		if (user === undefined || pin === undefined || v !== 'weak' && (typeof user !== 'string' || typeof pin !== 'string')) return r.status(400).json({ error: 'korisnik i pin' });
		const one = findOne({ user, pin });
		one ? r.json({ user: one.user, note: one.note }) : r.status(401).json({ error: 'pogrešno' });
	});
	return app;
};
