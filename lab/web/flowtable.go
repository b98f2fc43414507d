package web

// flow is an application of several pages. Its variants are the same application with other faults.
type flow struct {
	app      string
	stacks   string // which have it, separated by blanks
	variants string // separated by blanks; "sound" has none of the faults, and looks as if it had
	login    string // "form /login username password": where and how its users log in; "token …" is a form with a token against forged requests;
	// "json …" answers a token; "" for none
	users string // who the tester is, of anna, ben and root; "anna ben" without, and nobody with "-"
	spec  string // path of its description
	cases []step
}

// step is a place of a flow with a class of FlowClasses.
type step struct {
	path  string // a * stands for a segment, /** for all of the application
	class string
	weak  string // variants in which it is weak; in all others it looks so. "*" is all but sound
	proof string // see Prove
}

// FlowClasses are the classes of the flows with the CWE numbers by which testers may name each.
var FlowClasses = map[string][]int{
	"bola": {639, 284, 566, 862, 863}, "bfla": {285, 862, 863, 425, 284, 269, 565, 302, 807, 288, 650, 178, 647}, "mass": {915}, "jwt": {347, 345, 287, 290},
	"introspection": {200}, "upload": {434, 79, 80, 646}, "ldap": {90}, "cors": {942, 346}, "csrf": {352}, "enumeration": {204, 203},
	"fixation": {384}, "limit": {307}, "default": {1392, 1391, 1393, 521, 798}, "cookie": {614, 1004, 1275}, "host": {644, 640, 74},
	"exposure": {200, 538, 552, 548, 530, 540, 527, 312, 798, 615, 215, 489, 522}, "error": {209, 550}, "logic": {840, 841, 472, 602, 799}, "pollution": {1321},
	"websocket": {1385, 346}, "deserialization": {502}, "sql": Classes["sql"], "xss": Classes["xss"], "command": Classes["command"],
	"path": {22, 23, 36, 73, 98}, "redirect": Classes["redirect"], "template": {1336, 94, 95, 134}, "crlf": Classes["crlf"], "xxe": Classes["xxe"],
	"ssrf": Classes["ssrf"], "xpath": Classes["xpath"], "code": {94, 95, 78, 77, 470, 98}, "nosql": Classes["nosql"], "juggling": {1024, 697, 843, 704, 287, 289, 303, 305, 1025},
	"predictable": {330, 334, 335, 340, 341, 342, 343, 331, 6, 539, 565, 287, 290, 302}, "overwrite": {621, 473, 915, 454, 285, 862, 863, 269},
	"race": {362, 366, 367}, "cache": {524, 525, 349, 644}, "session": {598}, "expiry": {613, 294, 672, 640}, "log": {117,
		93},
	"tamper": {642, 472, 565, 353, 345, 602, 807, 321}, "hidden": {472, 602, 915, 269, 266, 285, 807},
	"takeover": {620, 639, 284, 285, 862, 863, 640}, "continue": {698, 705, 425, 862, 863, 285, 284, 306, 200},
}

const (
	both    = "node python"
	byForm  = "form /login username password"
	pairs   = "weak sound"
	elsewhe = "zzz'OR'1'='1"
)

var lockers = []step{
	{"/v2/members/*", "sql", "weak", "- GET /v2/members/zzz'OR'1'='1 => anna@lab"},
	{"/v2/members/*/password", "takeover", "weak", `anna PUT /v2/members/ben/password {"password":"ben-Pass2"} => "changed"`},
	{"/v2/parcels/*", "bola", "weak", "anna GET /v2/parcels/violin => pin"},
	{"/v2/lockers/*", "bola", "weak", "anna GET /v2/lockers/208 => Harbour"},
	{"/v2/members", "mass", "weak", `- POST /v2/members {"handle":"q7","mail":"q7@lab.example","password":"q7-Pass","staff":true} ; - GET /v2/members/_all => (?s)q7.*"staff": ?true`},
	{"/v2/members/_all", "exposure", "weak", "- GET /v2/members/_all => anna-Pass1"},
	{"/v2/sessions", "enumeration", "weak", `- POST /v2/sessions {"handle":"zzz","password":"x"} => no such member`},
	{"/**", "jwt", "weak", ""},
	{"/v2/audit", "bfla", "weak", "anna GET /v2/audit => opened"},
	{"/v2/quote", "error", "weak", `- POST /v2/quote {"weight":"x","size":"S"} => Traceback`},
	{"/v2/sizes/*", "bola", "", ""},
}

var flows = []flow{
	{"orders", both, pairs, byForm, "", "", []step{
		{"/orders/*", "bola", "weak", "anna GET /orders/103 => Harbour"},
		{"/invoice", "bola", "weak", "anna GET /invoice?number=9104 => Harbour"},
		{"/products/*", "bola", "", ""},
		{"/profile", "mass", "weak", "anna POST /profile mail=a@lab.example&phone=1&role=admin ; anna GET /profile => Role: admin"},
	}},
	{"desk", both, "weak cookie sound", "form /signin user password", "anna root", "", []step{
		{"/admin/people", "bfla", "weak cookie", "anna [Cookie: role=admin] GET /admin/people => root@lab"},
		{"/admin/export", "bfla", "weak cookie", "anna [Cookie: role=admin] GET /admin/export => id,name"},
		{"/admin/role", "bfla", "weak cookie", "anna [Cookie: role=admin] POST /admin/role person=ben&level=customer => is now"},
		{"/faq", "bfla", "", ""},
	}},
	{"rest", both, pairs, "json /api/login username password", "", "/openapi.json", []step{
		{"/api/accounts/*", "bola", "weak", "anna GET /api/accounts/12 => iban"},
		{"/api/notes/*", "bola", "weak", "anna GET /api/notes/n-502 => safe is"},
		{"/api/items", "sql", "weak", "anna GET /api/items?q=zzz%25'OR'1'LIKE'1 => lamp"},
		{"/api/check", "command", "weak", `anna POST /api/check {"host":"$((7*191))"} => 1337`},
		{"/api/admin/users", "bfla", "weak", "anna GET /api/admin/users => root@lab"},
		{"/api/me", "mass", "weak", `anna PUT /api/me {"role":"admin"} ; anna GET /api/me => "admin"`},
	}},
	{"tokens", both, "none unsigned key kid confusion sound", byForm, "", "", []step{
		{"/**", "jwt", "*", "- [Cookie: token={jwt}] GET /admin => drawer"},
	}},
	{"graph", "node", pairs, byForm, "", "", []step{
		{"/graphql", "sql", "weak", `- POST /graphql {"query":"{items(search:\"zzz'OR'1'='1\"){name}}"} => lamp`},
		{"/graphql", "command", "weak", `- POST /graphql {"query":"{ping(host:\"$((7*191))\")}"} => 1337`},
		{"/graphql", "bola", "weak", `anna POST /graphql {"query":"{user(id:12){phone}}"} => 555-0112`},
		{"/graphql", "introspection", "weak", `- POST /graphql {"query":"{__schema{types{name}}}"} => "User"`},
	}},
	{"spa", both, pairs, "form-json /api/session username password", "", "", []step{
		{"/api/search", "sql", "weak", `- POST /api/search {"term":"zzz'OR'1'='1","sort":"name"} => lamp`},
		{"/api/mails/*", "bola", "weak", "anna GET /api/mails/32 => 7733"},
		{"/", "xss", "weak", ""},
	}},
	{"uploads", both, "weak claimed attachment sound", byForm, "", "", []step{
		{"/avatar", "upload", "weak claimed",
			"anna FILE /avatar picture q7.html image/png <b>q7 ; anna GET /pictures/q7.html => (?s)^200 text/html.*<b>q7"},
	}},
	{"chat", "node", pairs, byForm, "", "", []step{{"/live", "sql", "weak", ""}, {"/live", "websocket", "weak", ""}}},
	{"preview", both, "weak filter sound", "", "", "", []step{
		{"/card", "ssrf", "weak filter", "- GET /card?link=http://0x7f000001:{port}/ => <p>Links"},
		{"/api/import", "ssrf", "weak filter", `- POST /api/import {"feed":{"source":"http://0x7f000001:{port}/"}} => <title>Links`},
	}},
	{"people", "node", pairs, "", "", "", []step{
		{"/staff", "ldap", "weak", "- GET /staff?name=* => carl"},
		{"/enter", "ldap", "weak", "- POST /enter account=anna&word=* => Welcome"},
	}},
	{"reset", both, "weak forwarded sound", byForm, "", "", []step{
		{"/forgot", "host", "weak forwarded", "- [X-Forwarded-Host: q7.example] [Host: q7.example] POST /forgot mail=anna@lab.example ; " +
			"anna GET /outbox => http://q7\\.example/set"},
		{"/invite", "host", "weak forwarded", "- [X-Forwarded-Host: q7.example] [Host: q7.example] GET /invite => http://q7\\.example/join"},
	}},
	{"signin", both, pairs, byForm, "", "", []step{
		{"/login", "default", "weak", "- POST /login username=admin&password=admin => ^303"},
		{"/login", "enumeration", "weak", "- POST /login username=zzz&password=x => no such user"},
		{"/login", "redirect", "weak", "- POST /login username=anna&password=anna-Pass1&next=//q7.example/ => Location: //q7"},
		{"/login", "limit", "weak", ""},
		{"/**", "cookie", "weak", ""},
		{"/**", "fixation", "weak", "-1 [Cookie: sid=0123abcd; session_id=0123abcd] POST /login username=anna&password=anna-Pass1 ; " +
			"-2 [Cookie: sid=0123abcd; session_id=0123abcd] GET /account => anna@lab"},
		{"/account/mail", "csrf", "weak", "anna POST /account/mail mail=q7@lab.example ; anna GET /account => q7@lab"},
	}},
	{"shop", both, pairs, byForm, "", "", []step{
		{"/cart", "logic", "weak", "anna POST /cart item=2&price=1&quantity=-3 => Total: -3 "},
		{"/coupon", "logic", "weak", "anna POST /coupon code=WELCOME10 ; anna POST /coupon code=WELCOME10 => Discount: 20"},
	}},
	{"notes", both, pairs, byForm, "", "", []step{
		{"/write", "xss", "weak", "anna POST /write text=<b>q7 ; ben GET /wall => <b>q7"},
		{"/letter**", "template", "weak", "anna POST /letter greeting={{7*191}} ; anna GET /letter/preview => 1337"},
	}},
	{"settings", "node", pairs, byForm, "", "", []step{{"/api/settings", "pollution", "weak", ""}}},
	{"docs", both, "strip prefix twice sound", "", "", "", []step{
		{"/manual", "path", "*", "- GET /manual?name={up}etc/passwd => root:x:0:0"},
		{"/.git/**", "exposure", "*", "- GET /.git/HEAD => refs/heads"},
		{"/.env", "exposure", "*", "- GET /.env => DB_PASSWORD"},
		{"/backup/", "exposure", "*", "- GET /backup/ => site.sql"},
		{"/backup/site.sql", "exposure", "*", "- GET /backup/site.sql => INSERT"},
		{"/internal-report", "exposure", "*", "- GET /internal-report => Salaries"},
	}},
	{"track", both, "weak refusing sound", "", "", "", []step{
		{"/", "sql", "*", "- [Cookie: visitor=" + elsewhe + "] GET / => back!"},
		{"/list", "sql", "*", `- GET /list?state={b64:{"page":1,"kind":"zzz'OR'1'='1"}} => is news`},
		{"/letter", "sql", "*", ""},
	}},
	{"cors", both, "reflect null suffix sound", byForm, "", "", []step{
		{"/api/card", "cors", "*", "anna [Origin: {origin}] GET /api/card => Allow-Origin: {origin}(?s).*555"},
	}},
	{"feeds", "python", "weak svg sound", "", "", "", []step{
		{"/import", "xxe", "weak", `- POST /import <!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><feed><entry><title>q7&e;</title></entry></feed> => q7\w`},
		{"/picture", "xxe", "svg", ""},
	}},
	{"basket", "python", pairs, "", "", "", []step{
		{"/", "deserialization", "weak", ""},
		{"/enter", "xpath", "weak", "- POST /enter account=zzz'or'1'='1&word=zzz'or'1'='1 => Welcome"},
	}},
	{"lockers", "python", pairs, "json /v2/sessions handle password", "", "/openapi.json", lockers},
	{"depot", "python", pairs, "json /v2/sessions handle password", "-", "/openapi.json", lockers}, // the same without users
}
