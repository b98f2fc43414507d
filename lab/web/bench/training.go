package bench

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/lab/web"
)

// trainingCases are of an application to train with, at its lowest level.
func trainingCases(string) (all []web.Case) {
	one := func(weak bool, path, class, proof, expect string) {
		all = append(all, web.Case{Path: path, Class: class, True: weak, Proof: proof, Expect: expect})
	}
	const wrong, login = "-1 POST /login.php username=root&token={token}&password=", "-1 GET /login.php ; "
	one(true, "/login.php", "limit", login+tries(func(word string) string { return wrong + word }, "root-Pass9"), "Location: /index.php")
	one(true, "/brute", "limit", tries(func(word string) string { return "anna GET /brute/?username=root&Login=Login&password=" + word }, "root-Pass9"), "Welcome to the area of root")
	one(true, "/command", "command", "anna POST /command/ ip=127.0.0.1%3Bexpr+7+'*'+191&Submit=Submit", "1337")
	one(true, "/csrf", "csrf", "anna [Origin: https://q7.example] GET /csrf/?password_new=anna-Pass1&password_conf=anna-Pass1&Change=Change", "was changed")
	one(true, "/fi", "path", "anna GET /fi/?page="+up+"etc/passwd", "root:x:0:0")
	one(true, "/fi", "ssrf", "anna GET /fi/?page=http://127.0.0.1:{port}/home.html", "The house of the lab")
	one(true, "/upload", "upload", "anna FILE /upload/ uploaded q7.html text/html <script>q7()</script> ; - GET /uploads/q7.html", "^200 text/html(?s).*<script>q7")
	one(true, "/sqli", "sql", "anna GET /sqli/?Submit=Submit&id=zzz'+OR+name='root", "root@lab")
	one(true, "/sqli", "error", "anna GET /sqli/?Submit=Submit&id='", "SQL logic error")
	one(true, "/sqli_blind", "sql", "anna GET /sqli_blind/?Submit=Submit&id=zzz'+OR+name='root", "^200(?s).*is known")
	one(true, "/weak_id", "predictable", "anna POST /weak_id/ a=b ; anna POST /weak_id/ a=b", `head: Set-Cookie: visit=\d{1,4};`)
	one(true, "/xss_d", "xss", "anna GET /xss_d/", `write\("<option value='" \+ chosen`)
	one(true, "/xss_r", "xss", "anna GET /xss_r/?name=<b>q7", "Hello <b>q7")
	one(true, "/xss_s", "xss", "anna POST /xss_s/ txtName=q7&mtxMessage=<b>q7&btnSign=Sign ; anna GET /xss_s/", "Message: <b>q7")
	one(true, "/csp", "xss", "anna POST /csp/ include=http://q7.example/x.js", `<script src="http://q7.example/x.js"`)
	one(true, "/javascript", "tamper", "anna POST /javascript/ phrase=success&token=c3NlY2N1cw==&send=Submit", "Well done")
	one(true, "/authbypass", "bfla", "anna GET /authbypass/", "User manager")
	one(true, "/authbypass/users.json", "bfla", "anna GET /authbypass/users.json", "root@lab")
	one(true, "/open_redirect/go", "redirect", "anna GET /open_redirect/go?redirect=https://q7.example/", "^302(?s).*Location: https://q7")
	one(true, "/cryptography", "tamper", "anna GET /cryptography/ ; anna POST /cryptography/ state={state:clerk=chief}&send=Open", "combination is 17")
	one(true, "/api/users", "exposure", "anna GET /api/users", `"password": ?"\w{32}"`)
	one(true, "/api/me", "mass", `anna PUT /api/me {"mail":"anna@lab.example","credit":999} ; anna GET /api/me`, `"credit":999`)
	one(true, "/phpinfo.php", "exposure", "anna GET /phpinfo.php", "DOCUMENT_ROOT")
	one(true, "/**", "cookie", "-1 GET /login.php", `head: (?m)^Set-Cookie: PHPSESSID=\w+; Path=/\r?$`)
	one(true, "/**", "fixation", "-1 [Cookie: PHPSESSID=q7q7q7] GET /login.php ; -1 [Cookie: PHPSESSID=q7q7q7] POST /login.php "+
		"username=anna&password=anna-Pass1&token={token} ; -2 [Cookie: PHPSESSID=q7q7q7] GET /index.php", "You are anna")
	one(false, "/members", "sql", "anna GET /members/?name=zzz'+OR+name='root", "root@lab")
	one(false, "/notes", "xss", "anna GET /notes/?q=<b>q7", "<b>q7")
	one(false, "/address", "csrf", "anna [Origin: https://q7.example] POST /address/ mail=anna@lab.example", "was kept")
	one(false, "/goto", "redirect", "anna GET /goto/?to=https://q7.example/", "Location: https://q7")
	one(false, "/help", "path", "anna GET /help/?page="+up+"etc/passwd", "root:x:0:0")
	one(false, "/lookup", "command", "anna POST /lookup/ host=127.0.0.1%3Bexpr+7+'*'+191", "1337")
	one(false, "/setup", "bfla", "anna GET /setup/", "Database of")
	return all
}

// training is the application while it runs.
type training struct {
	*site

	sessions map[string]*trainee
	people   map[string]*trainee // their passwords and mails
	guests   []string            // entries of the guest book
	visits   int
}

// trainee is a user, or a session, whose user may be nobody.
type trainee struct {
	name, pass, mail string
	admin            bool
	credit           int
	token            string // of the forms of a session
}

func (t *training) menu(u *trainee) string {
	pages := []string{"brute", "command", "csrf", "fi/?page=readme.txt", "upload", "sqli", "sqli_blind", "weak_id", "xss_d", "xss_r", "xss_s", "csp", "javascript",
		"open_redirect", "cryptography", "members", "notes", "address", "goto/?to=home", "help/?page=readme.txt", "lookup", "api"}
	if u.admin {
		pages = append(pages, "authbypass", "setup")
	}
	var out strings.Builder
	for _, p := range pages {
		name, _, _ := strings.Cut(p, "/")
		if !strings.Contains(p, "/") {
			p += "/"
		}
		out.WriteString(link("/"+p, strings.ReplaceAll(name, "_", " ")))
	}
	return "<nav><ul>" + link("/index.php", "Home") + out.String() + link("/phpinfo.php", "PHP information") + link("/logout.php", "Log out") + "</ul></nav>"
}

func (t *training) page(w http.ResponseWriter, status int, title, body string, u *trainee) {
	show(w, status, title, t.menu(u)+"<main>"+body+"</main><footer>You are "+u.name+". Level: low</footer>")
}

// session is that of a request; one that the client names is taken as it is.
func (t *training) session(w http.ResponseWriter, r *http.Request) *trainee {
	id := strings.ToLower(rand.Text())
	if c, err := r.Cookie("PHPSESSID"); err == nil && c.Value != "" {
		id = c.Value
	} else {
		http.SetCookie(w, &http.Cookie{Name: "PHPSESSID", Value: id, Path: "/"})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions[id] == nil {
		t.sessions[id] = &trainee{token: rand.Text()}
	}
	return t.sessions[id]
}

// user is who is logged in; nil for nobody.
func (t *training) user(s *trainee) *trainee {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.people[s.name]
}

// own serves a page to users alone. What serve returns is the content of the page; "" when it has answered.
func (t *training) own(path, title string, serve func(w http.ResponseWriter, r *http.Request, u, s *trainee) string) {
	if strings.HasSuffix(path, "/") {
		path += "{$}" // and nothing below it
	}
	t.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		s := t.session(w, r)
		u := t.user(s)
		if u == nil {
			http.Redirect(w, r, "/login.php", http.StatusFound)
			return
		}
		if body := serve(w, r, u, s); body != "" {
			t.page(w, 200, title, body, u)
		}
	})
}

func buildTraining(s *site) {
	t := &training{site: s, sessions: map[string]*trainee{}, people: map[string]*trainee{
		"anna": {name: "anna", pass: "anna-Pass1", mail: "anna@lab.example", credit: 5},
		"root": {name: "root", pass: "root-Pass9", mail: "root@lab.example", credit: 50, admin: true}}}
	t.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/index.php", http.StatusFound) })
	t.HandleFunc("/login.php", t.login)
	t.HandleFunc("GET /logout.php", func(w http.ResponseWriter, r *http.Request) {
		s := t.session(w, r)
		t.mu.Lock()
		s.name = ""
		t.mu.Unlock()
		http.Redirect(w, r, "/login.php", http.StatusFound)
	})
	t.own("/index.php", "Training", func(_ http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		return "<p>Welcome. Each page has something to train with.</p>"
	})
	t.own("/phpinfo.php", "PHP information", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		return fmt.Sprintf("<h2>PHP Version 8.2.7</h2><table><tr><td>System</td><td>Linux training 6.1.0</td></tr><tr><td>$_SERVER['DOCUMENT_ROOT']</td>"+
			"<td>/var/www/training</td></tr><tr><td>$_SERVER['REMOTE_ADDR']</td><td>%s</td></tr></table>", enc(r.RemoteAddr))
	})
	t.injections()
	t.browsers()
	t.rights()
	t.sound()
}

// login is a form with a token of the session. It renews no session, and counts no wrong passwords.
func (t *training) login(w http.ResponseWriter, r *http.Request) {
	s := t.session(w, r)
	note := ""
	if r.Method == http.MethodPost {
		t.mu.Lock()
		u := t.people[r.PostFormValue("username")]
		ok := u != nil && u.pass == r.PostFormValue("password") && r.PostFormValue("token") == s.token
		if ok {
			s.name = u.name
		}
		t.mu.Unlock()
		if ok {
			http.Redirect(w, r, "/index.php", http.StatusFound)
			return
		}
		note = "<p>The login failed.</p>"
	}
	show(w, 200, "Training: login", note+`<form action="/login.php" method="post"><label>Username <input type="text" name="username"></label>`+
		`<label>Password <input type="password" name="password"></label><input type="hidden" name="token" value="`+s.token+`">`+
		`<input type="submit" name="Login" value="Login"></form>`)
}

// fields is a form with fields, each name=value; a password begins with *.
func fields(method, button string, all ...string) string {
	var out strings.Builder
	for _, f := range all {
		name, value, _ := strings.Cut(f, "=")
		kind := "text"
		if rest, ok := strings.CutPrefix(name, "*"); ok {
			name, kind = rest, "password"
		}
		fmt.Fprintf(&out, `<label>%s <input type="%s" name="%s" value="%s"></label>`, name, kind, name, enc(value))
	}
	return `<form action="" method="` + method + `">` + out.String() + `<input type="submit" name="` + button + `" value="` + button + `"></form>`
}

// reversed is the token that the script of a page makes of a phrase.
func reversed(phrase string) string {
	b := []byte(phrase)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return base64.StdEncoding.EncodeToString(b)
}
