// Sites of the fourth set on Express with people, prices and pages: whose things are whose, who is believed, and what a browser runs.
const crypto = require('crypto'), fs = require('fs'), os = require('os'), path = require('path');
const express = require('express'), cookies = require('cookie-parser'), { buildSchema, graphql } = require('graphql');

const safe = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const key = () => crypto.randomBytes(15).toString('hex');
const base = (...more) => {
	const app = express();
	app.disable('x-powered-by');
	app.use(...more);
	return app;
};

// Parcels: the slip of a parcel is under its number, in base 36.
exports.parcelbox = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), live = new Map();
	const people = { 'kv@post.example': 'Box-By-The-Door1', 'ob@post.example': 'Box-On-Floor-2' };
	const slips = { 1295801: ['ob@post.example', 'from the clinic, sign in person'], 1295802: ['kv@post.example', 'two books'], 1295803: ['ob@post.example', 'door code 0417'], 1295804: ['kv@post.example', 'a lamp'] };
	const page = (b) => `<!DOCTYPE html><html lang="et"><head><meta charset="utf-8"><title>Pakikapp</title></head><body><div class="row"><div class="col-3"><a href="/">Pakikapp</a> <a href="/valja">Välja</a></div><div class="col-9">${b}</div></div></body></html>`;
	app.use((q, r, n) => { q.me = live.get(q.cookies.pk); n(); });
	app.get('/', (q, r) => r.send(page(q.me ? `<ul>${Object.keys(slips).filter((n) => slips[n][0] === q.me).map((n) => `<li><a href="/p/${Number(n).toString(36)}">${n}</a></li>`).join('')}</ul>` : '<form method="post" action="/sisse"><input name="epost" type="email"><input name="parool" type="password"><button>Sisse</button></form>')));
	app.post('/sisse', (q, r) => {
		const name = String(q.body.epost);
		if (!Object.hasOwn(people, name) || people[name] !== q.body.parool) return r.status(401).send(page('<p>Vale e-post või parool.</p>'));
		const sid = key();
		live.set(sid, name);
		r.cookie('pk', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/valja', (q, r) => { live.delete(q.cookies.pk); r.redirect('/'); });
	app.get('/p/:ref', (q, r) => {
		if (!q.me) return r.redirect('/');
		const s = slips[parseInt(q.params.ref, 36)];
		if (!s || v !== 'weak' && s[0] !== q.me) return r.status(404).send(page('<p>Sellist pakki ei ole.</p>'));
		r.send(page(`<h3>Pakk ${safe(q.params.ref)}</h3><p>${s[0]}: ${s[1]}</p>`));
	});
	return app;
};

// Stables: who somebody is, and what he may do, is an object in a cookie that nobody sealed.
exports.paddock = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), secret = key();
	const pack = (o) => { const t = Buffer.from(JSON.stringify(o)).toString('base64url'); return v === 'weak' ? t : `${t}.${crypto.createHmac('sha256', secret).update(t).digest('base64url')}`; };
	const read = (c) => {
		try {
			const [t, seal] = String(c).split('.');
			if (v !== 'weak' && seal !== crypto.createHmac('sha256', secret).update(t).digest('base64url')) return null;
			return JSON.parse(Buffer.from(t, 'base64url').toString());
		} catch { return null; }
	};
	const page = (b) => `<!doctype html><html lang="en-IE"><head><title>Paddock</title></head><body><header><a href="/">Paddock</a> | <a href="/rides">My rides</a> | <a href="/steward">Steward</a></header>${b}</body></html>`;
	app.use((q, r, n) => { q.me = read(q.cookies.rider); n(); });
	app.get('/', (q, r) => r.send(page(q.me ? `<p>Hello ${safe(q.me.user)}</p>` : '<form action="/saddle" method="post"><label>Rider <input name="rider"></label><label>Password <input type="password" name="password"></label><button>Saddle up</button></form>')));
	app.post('/saddle', (q, r) => {
		if (q.body.rider !== 'nuala' || q.body.password !== 'Clover-7-hay') return r.status(401).send(page('<p>Nay.</p>'));
		r.cookie('rider', pack({ user: 'nuala', role: 'rider' }), { httpOnly: true, sameSite: 'lax' }).redirect('/rides');
	});
	app.get('/rides', (q, r) => q.me ? r.send(page('<p>Thursday, 16:00, Biscuit</p>')) : r.redirect('/'));
	app.get('/steward', (q, r) => {
		if (!q.me) return r.redirect('/');
		if (q.me.role !== 'admin') return r.status(403).send(page('<p>Stewards only.</p>'));
		r.send(page('<table><tr><td>Prize fund</td><td>12,400</td></tr><tr><td>Vet account</td><td>IE64 1031</td></tr></table>'));
	});
	return app;
};

// Notaries: a token says in which file its key is.
exports.notaries = (v) => {
	const app = base(express.json({ limit: '20kb' })), root = fs.mkdtempSync(path.join(os.tmpdir(), 'keys'));
	fs.writeFileSync(path.join(root, 'main.key'), crypto.randomBytes(32).toString('hex'));
	const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
	const seal = (text, kid) => crypto.createHmac('sha256', fs.readFileSync(path.join(root, v === 'weak' ? kid : path.basename(kid)))).update(text).digest('base64url');
	const issue = (claims) => { const t = `${part({ alg: 'HS256', typ: 'JWT', kid: 'main.key' })}.${part(claims)}`; return `${t}.${seal(t, 'main.key')}`; };
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html lang="pt-PT"><head><meta charset="utf-8"><title>Cartório</title></head><body><div id="v"></div><script>
const api = (m, p, b) => fetch("/api" + p, { method: m, headers: { "Content-Type": "application/json", Authorization: "Bearer " + sessionStorage.t }, body: b && JSON.stringify(b) }).then((r) => r.json());
v.innerHTML = '<form id="f"><input name="utilizador"><input name="senha" type="password"><button>Entrar</button></form>';
f.onsubmit = async (e) => { e.preventDefault(); const d = await api("POST", "/entrar", { utilizador: f.utilizador.value, senha: f.senha.value }); sessionStorage.t = d.token;
  const me = await api("GET", "/eu"); v.textContent = me.nome + " (" + me.papel + ")"; if (me.papel === "notario") v.append(JSON.stringify(await api("GET", "/testamentos"))); };
</script></body></html>`));
	app.post('/api/entrar', (q, r) => {
		const { utilizador, senha } = q.body || {};
		if (utilizador !== 'rita.f' || senha !== 'Selo-Branco-5') return r.status(401).json({ erro: 'utilizador ou senha' });
		r.json({ token: issue({ nome: 'rita.f', papel: 'cliente', exp: Math.floor(Date.now() / 1000) + 36000 }) });
	});
	app.use('/api', (q, r, n) => {
		try {
			const [h, c, s] = (q.get('Authorization') || '').replace('Bearer ', '').split('.'), head = JSON.parse(Buffer.from(h, 'base64url'));
			if (head.alg !== 'HS256' || seal(`${h}.${c}`, String(head.kid)) !== s) throw new Error('seal');
			q.me = JSON.parse(Buffer.from(c, 'base64url'));
			if (!(q.me.exp > Date.now() / 1000)) throw new Error('late');
			n();
		} catch { r.status(401).json({ erro: 'token' }); }
	});
	app.get('/api/eu', (q, r) => r.json({ nome: q.me.nome, papel: q.me.papel }));
	app.get('/api/testamentos', (q, r) => q.me.papel === 'notario' ? r.json([{ de: 'A. Moura', herdeiro: 'o gato' }]) : r.status(403).json({ erro: 'só notários' }));
	return app;
};

// A nursery of orchids: the code to choose a new password is the address of its owner, in base64.
exports.orchids = (v) => {
	const app = base(express.urlencoded({ extended: false })), sent = new Map();
	const people = new Set(['mara@orchids.example', 'ugo@orchids.example']);
	const page = (b) => `<!DOCTYPE html><html lang="it"><head><meta charset="utf-8"><title>Orchidee</title></head><body class="green"><h1>Orchidee di Lago</h1><p><a href="/">Serra</a> <a href="/recupero">Password dimenticata</a></p>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page('<p>Scrivici: mara@orchids.example</p>')));
	app.get('/recupero', (q, r) => r.send(page('<form method="post" action="/recupero"><input name="email" type="email"><button>Invia il link</button></form>')));
	app.post('/recupero', (q, r) => {
		const to = String(q.body.email || '').slice(0, 100), t = v === 'weak' ? Buffer.from(to).toString('base64url') : key();
		if (people.has(to)) sent.set(t, to);
		if (sent.size > 200) sent.delete(sent.keys().next().value);
		r.send(page('<p>Se l\'indirizzo ci è noto, ti abbiamo scritto.</p>'));
	});
	app.get('/recupero/:code', (q, r) => sent.has(q.params.code) ? r.send(page(`<form method="post" action="/recupero/${q.params.code}"><p>Nuova password per ${safe(sent.get(q.params.code))}</p><input type="password" name="nuova"><button>Salva</button></form>`)) : r.status(404).send(page('<p>Link scaduto.</p>')));
	app.post('/recupero/:code', (q, r) => sent.has(q.params.code) ? r.send(page('<p>Fatto.</p>')) : r.status(404).send(page('<p>Link scaduto.</p>')));
	return app;
};

// A tug: what it was deployed with lies beside its pages.
exports.tugboat = (v) => {
	const app = base((q, r, n) => n());
	const page = (b) => `<!doctype html><html lang="nl-BE"><head><meta charset="utf-8"><title>Sleepdienst Schelde</title></head><body><h1>Sleepdienst Schelde</h1><a href="/">Dienst</a> <a href="/tarief">Tarief</a>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page('<p>Dag en nacht.</p>')));
	app.get('/tarief', (q, r) => r.send(page('<p>410 per uur</p>')));
	if (v === 'weak') {
		app.get('/.git/config', (q, r) => r.type('text').send('[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote "origin"]\n\turl = https://deploy:Tros-Los-88@git.sleep.example/site.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'));
		app.get('/.git/HEAD', (q, r) => r.type('text').send('ref: refs/heads/main\n'));
		app.get('/docker-compose.yml', (q, r) => r.type('text').send('services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_USER: sleep\n      POSTGRES_PASSWORD: Bolder-14-Anker\n'));
	}
	return app;
};

// A bank for children: an origin without a name may read what is on the account.
exports.piggybank = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), live = new Set();
	const page = (b) => `<!DOCTYPE html><html lang="en-US"><head><title>Piggybank</title></head><body style="font-family:cursive">${b}</body></html>`;
	app.get('/', (q, r) => r.send(page(live.has(q.cookies.oink) ? '<h1>My pig</h1><p id="b"></p><script>fetch("/api/pig").then((r) => r.json()).then((d) => { b.textContent = "$" + d.savings; });</script><a href="/bye">Bye</a>' : '<form method="post" action="/feed"><input name="kid" placeholder="kid"><input name="word" type="password" placeholder="magic word"><button>Oink</button></form>')));
	app.post('/feed', (q, r) => {
		if (q.body.kid !== 'zoe' || q.body.word !== 'Truffle-3-Trot') return r.status(401).send(page('<p>Wrong word.</p>'));
		const sid = key();
		live.add(sid);
		r.cookie('oink', sid, { httpOnly: true, sameSite: 'lax' }).redirect('/');
	});
	app.get('/bye', (q, r) => { live.delete(q.cookies.oink); r.redirect('/'); });
	app.get('/api/pig', (q, r) => {
		const origin = q.get('Origin');
		if (origin && (v === 'weak' ? origin === 'null' : origin === 'https://parents.piggybank.example')) r.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' });
		live.has(q.cookies.oink) ? r.json({ kid: 'zoe', savings: 41.5, account: 'PB-990-12' }) : r.status(401).json({ error: 'oink first' });
	});
	return app;
};

// Tickets of trams: the script of the page says what they cost.
exports.tramcard = (v) => {
	const app = base(express.json({ limit: '20kb' })), prices = { single: 2.8, day: 7.5, month: 59 }, orders = new Map();
	app.get('/', (q, r) => r.send(`<!doctype html><html lang="cs"><head><meta charset="utf-8"><title>Tramvajenka</title></head><body><h1>Tramvajenka</h1><div id="shop"></div><p id="o"></p><script>
fetch("/api/products").then((r) => r.json()).then((all) => all.forEach((p) => { const b = document.createElement("button"); b.textContent = p.id + " " + p.price; shop.append(b);
  b.onclick = () => fetch("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ product: p.id, unitPrice: p.price, count: 1 }) }).then((r) => r.json()).then((d) => { o.textContent = "K zaplacení: " + d.total; }); }));
</script></body></html>`));
	app.get('/api/products', (q, r) => r.json(Object.entries(prices).map(([id, price]) => ({ id, price }))));
	app.post('/api/orders', (q, r) => {
		const { product, unitPrice, count } = q.body || {};
		if (!Object.hasOwn(prices, product) || !Number.isInteger(count) || count < 1 || count > 20 || typeof unitPrice !== 'number' || unitPrice < 0) return r.status(422).json({ error: 'product, unitPrice, count' });
		const id = key(), order = { id, product, count, total: count * (v === 'weak' ? unitPrice : prices[product]) };
		orders.set(id, order);
		if (orders.size > 200) orders.delete(orders.keys().next().value);
		r.status(201).json(order);
	});
	app.get('/api/orders/:id', (q, r) => orders.has(q.params.id) ? r.json(orders.get(q.params.id)) : r.status(404).json({ error: 'no order' }));
	return app;
};

// Birds that were ringed: an interface of GraphQL answers everybody about its observers, too.
exports.aviary = (v) => {
	const app = base(express.json({ limit: '20kb' })), weak = v === 'weak';
	const schema = buildSchema('type Bird { ring: ID! species: String place: String } type Observer { name: String email: String phone: String apiKey: String } type Query { birds(species: String): [Bird] observers: [Observer] }');
	const birds = [{ ring: 'K7741', species: 'swift', place: 'Bern' }, { ring: 'K7742', species: 'kite', place: 'Thun' }];
	const observers = [{ name: 'U. Graf', email: 'graf@aviary.example', phone: '555-0177', apiKey: 'av-51e0-shrike' }];
	app.get('/', (q, r) => r.send(`<!DOCTYPE html><html lang="en"><head><title>Ringed birds</title></head><body><h1>Ringed birds</h1><ul id="u"></ul><script>
fetch("/graphql", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "query($s:String){birds(species:$s){ring species place}}", variables: { s: null } }) }).then((r) => r.json()).then((d) => d.data.birds.forEach((b) => { const li = document.createElement("li"); li.textContent = b.species + " " + b.place; u.append(li); }));
</script></body></html>`));
	app.post('/graphql', async (q, r) => {
		const { query, variables } = q.body || {};
		if (!weak && /__schema|__type\b/.test(String(query))) return r.status(400).json({ errors: [{ message: 'introspection is off' }] });
		r.json(await graphql({ schema, source: String(query || ''), variableValues: variables && typeof variables === 'object' ? variables : {}, rootValue: {
			birds: ({ species }) => birds.filter((b) => !species || b.species === species),
			observers: () => { if (!weak) throw new Error('observers only'); return observers; },
		} }));
	});
	return app;
};

// An arcade: tokens are changed for a prize, and between the look at the purse and the payment there is time.
exports.arcade = (v) => {
	const app = base(express.urlencoded({ extended: false }), cookies()), purses = new Map();
	const page = (b) => `<!doctype html><html lang="en"><head><title>Penny Arcade</title></head><body background="#"><h1>PENNY ARCADE</h1>${b}</body></html>`, wait = (ms) => new Promise((ok) => setTimeout(ok, ms));
	app.use((q, r, n) => {
		q.purse = purses.get(q.cookies.purse);
		if (!q.purse) {
			const id = key();
			purses.set(id, q.purse = { tokens: 10, bears: 0 });
			if (purses.size > 2000) purses.delete(purses.keys().next().value);
			r.cookie('purse', id, { httpOnly: true, sameSite: 'lax' });
		}
		n();
	});
	app.get('/', (q, r) => r.send(page(`<p>Tokens: ${q.purse.tokens}</p><p>Bears: ${q.purse.bears}</p><form method="post" action="/prize"><input type="hidden" name="prize" value="bear"><button>Bear for 10 tokens</button></form>`)));
	app.post('/prize', async (q, r) => {
		if (q.purse.tokens < 10) return r.status(409).send(page('<p>Not enough tokens.</p><a href="/">Back</a>'));
		if (v !== 'weak') q.purse.tokens -= 10;
		await wait(120);
		if (v === 'weak') q.purse.tokens -= 10;
		q.purse.bears++;
		r.redirect(303, '/');
	});
	return app;
};

// A small magazine: the number of an issue stands in a script, as it came.
exports.zine = (v) => {
	const app = base((q, r, n) => n());
	const page = (b, n) => `<!DOCTYPE html><html lang="fi"><head><meta charset="utf-8"><title>Lehtinen</title></head><body><h1>Lehtinen</h1><a href="/numero?n=3&sivu=1">3</a> <a href="/numero?n=4&sivu=1">4</a><div id="i"></div>${b}<script>var numero = ${n}; document.getElementById("i").textContent = "Numero " + numero;</script></body></html>`;
	app.get('/', (q, r) => r.send(page('<p>Uusin on 4.</p>', 4)));
	app.get('/numero', (q, r) => {
		const n = String(q.query.n || '4').slice(0, 80);
		r.send(page('<p>Runoja ja reseptejä.</p>', v === 'weak' ? n.replace(/[&<>"']/g, '') : Number.parseInt(n, 10) || 4));
	});
	return app;
};

// A bakery: what is not there is named on the page that says so.
exports.bakehouse = (v) => {
	const app = base((q, r, n) => n());
	const page = (b) => `<html lang="en"><head><title>The Bakehouse</title></head><body><font face="Comic Sans MS"><h1>The Bakehouse</h1></font><a href="/">Loaves</a> <a href="/rolls">Rolls</a> <a href="/cakes">Cakes</a>${b}</body></html>`;
	app.get('/', (q, r) => r.send(page('<p>Rye, spelt, white.</p>')));
	app.get(['/rolls', '/cakes'], (q, r) => r.send(page('<p>Sold out.</p>')));
	app.use((q, r) => {
		let at;
		try { at = decodeURIComponent(q.path); } catch { at = '/'; }
		r.status(404).send(page(`<p>We do not bake <b>${v === 'weak' ? at.slice(1) : safe(at.slice(1))}</b>.</p>`));
	});
	return app;
};

// A map of stars: a script of the page writes what its address says.
exports.stargazer = (v) => {
	const app = base((q, r, n) => n());
	app.get('/', (q, r) => r.send('<!DOCTYPE html><html lang="en"><head><title>Stargazer</title></head><body><nav><a href="/?object=M31">M31</a> <a href="/?object=M45">M45</a></nav><div id="sky"></div><script src="/js/sky.js"></script></body></html>'));
	app.get('/js/sky.js', (q, r) => r.type('js').send(`(function () {
  var params = new URLSearchParams(window.location.search);
  var object = params.get("object") || "Polaris";
  document.getElementById("sky").${v === 'weak' ? 'innerHTML = "Looking at <i>" + object + "</i>"' : 'textContent = "Looking at " + object'};
})();
`));
	return app;
};
