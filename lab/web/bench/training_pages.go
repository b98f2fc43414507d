package bench

import (
	"crypto/md5" // the weakness is that the answer has it
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// most is how many entries of a guest book and how many uploads are kept.
const most = 200

// injections are pages whose input reaches statements, commands and files.
func (t *training) injections() { //nolint:funlen // a list of pages
	t.own("/brute/", "Brute force", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		form, q := fields("get", "Login", "username=", "*password="), r.URL.Query()
		if !q.Has("Login") {
			return form
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if u := t.people[q.Get("username")]; u != nil && u.pass == q.Get("password") {
			return form + "<p>Welcome to the area of " + u.name + ".</p>"
		}
		return form + "<p>Username or password are not right.</p>"
	})
	t.own("/command/", "Ping a device", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		form := fields("post", "Submit", "ip=")
		if r.PostFormValue("Submit") == "" {
			return form
		}
		return form + "<pre>" + enc(shell(r, "echo PING "+r.PostFormValue("ip"))) + "</pre>"
	})
	t.own("/fi/", "File inclusion", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		name := r.URL.Query().Get("page")
		text, err := readFile(t.files + "/docs/" + name)
		if strings.HasPrefix(name, "http://") {
			text, err = fetch(r, name)
		}
		if err != nil {
			text = "<p>Warning: include(" + enc(name) + "): failed to open stream</p>"
		}
		return "<ul>" + link("/fi/?page=readme.txt", "readme.txt") + link("/fi/?page=news.txt", "news.txt") + "</ul><div>" + text + "</div>"
	})
	t.own("/sqli/", "SQL injection", func(w http.ResponseWriter, r *http.Request, u, _ *trainee) string {
		form, q := fields("get", "Submit", "id="), r.URL.Query()
		if !q.Has("Submit") {
			return form
		}
		list, err := t.list(r, "SELECT name, mail FROM members WHERE name = '"+q.Get("id")+"'")
		if err != nil {
			t.page(w, 500, "SQL injection", "<pre>"+enc(err.Error())+"</pre>", u)
			return ""
		}
		return form + list
	})
	t.own("/sqli_blind/", "SQL injection, blind", func(w http.ResponseWriter, r *http.Request, u, _ *trainee) string {
		form, q := fields("get", "Submit", "id="), r.URL.Query()
		if !q.Has("Submit") {
			return form
		}
		list, err := t.list(r, "SELECT name, mail FROM members WHERE name = '"+q.Get("id")+"'")
		if err != nil || !strings.Contains(list, "<li>") {
			t.page(w, 404, "SQL injection, blind", form+"<p>This user is not there.</p>", u)
			return ""
		}
		return form + "<p>This user is known.</p>"
	})
	t.own("/upload/", "Upload", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		form := `<form action="" method="post" enctype="multipart/form-data"><label>Choose a picture <input type="file" name="uploaded"></label>` +
			`<input type="submit" name="Upload" value="Upload"></form>`
		f, head, err := r.FormFile("uploaded")
		if err != nil {
			return form
		}
		defer f.Close()
		dir, name := filepath.Join(t.files, "uploads"), filepath.Base(head.Filename)
		kept, _ := os.ReadDir(dir) // there is none before the first
		text, err := io.ReadAll(io.LimitReader(f, 1<<18))
		if err != nil || len(kept) > most || os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, name), text, 0o644) != nil {
			return form + "<p>Your picture was not uploaded.</p>"
		}
		return form + `<p>Your picture was uploaded: <a href="/uploads/` + enc(name) + `">../../uploads/` + enc(name) + "</a></p>"
	})
	t.HandleFunc("GET /uploads/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, err := readFile(filepath.Join(t.files, "uploads", filepath.Base(filepath.Clean("/"+r.PathValue("name")))))
		if err != nil {
			show(w, 404, "Uploads", "<p>There is no such file.</p>")
			return
		}
		kind := mime.TypeByExtension(filepath.Ext(r.PathValue("name")))
		if kind == "" {
			kind = "text/plain; charset=utf-8"
		}
		write(w, 200, kind, text)
	})
}

// browsers are pages whose weakness is in what a browser does.
func (t *training) browsers() {
	t.own("/csrf/", "Change your password", func(_ http.ResponseWriter, r *http.Request, u, _ *trainee) string {
		form, q := fields("get", "Change", "*password_new=", "*password_conf="), r.URL.Query()
		switch {
		case !q.Has("Change"):
			return form
		case q.Get("password_new") == "" || q.Get("password_new") != q.Get("password_conf"):
			return form + "<p>The passwords are not the same.</p>"
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		u.pass = q.Get("password_new")
		return form + "<p>The password was changed.</p>"
	})
	t.own("/xss_d/", "Choose a language", func(_ http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		return `<form method="get"><select name="default"><script>
if (document.location.href.indexOf("default=") >= 0) {
  var chosen = decodeURIComponent(document.location.href.substring(document.location.href.indexOf("default=") + 8));
  document.write("<option value='" + chosen + "'>" + chosen + "</option>");
}
document.write("<option value='English'>English</option><option value='French'>French</option>");
</script></select><input type="submit" value="Select"></form>`
	})
	t.own("/xss_r/", "What is your name?", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		form := fields("get", "Submit", "name=")
		if name := r.URL.Query().Get("name"); name != "" {
			return form + "<pre>Hello " + name + "</pre>"
		}
		return form
	})
	t.own("/xss_s/", "Guest book", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		t.mu.Lock()
		defer t.mu.Unlock()
		if r.PostFormValue("btnSign") != "" && len(t.guests) < most {
			t.guests = append(t.guests, "<div>Name: "+enc(r.PostFormValue("txtName"))+"<br>Message: "+r.PostFormValue("mtxMessage")+"</div>")
		}
		return fields("post", "btnSign", "txtName=", "mtxMessage=") + strings.Join(t.guests, "\n")
	})
	t.own("/csp/", "Include a script", func(w http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		w.Header().Set("Content-Security-Policy", "script-src 'self' http: https:; object-src 'none'")
		form := fields("post", "send", "include=")
		if from := r.PostFormValue("include"); from != "" {
			return form + `<script src="` + enc(from) + `"></script>`
		}
		return form
	})
	t.own("/javascript/", "Say success", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		note := ""
		if phrase := r.PostFormValue("phrase"); phrase != "" {
			note = "<p>You got the phrase wrong.</p>"
			if r.PostFormValue("token") != reversed(phrase) {
				note = "<p>The token is not right.</p>"
			} else if phrase == "success" {
				note = "<p>Well done!</p>"
			}
		}
		return note + `<form name="low" method="post"><input type="hidden" name="token" value="" id="token"><label>Phrase <input type="text" name="phrase" value="ChangeMe" id="phrase"></label>` +
			`<input type="submit" name="send" value="Submit"></form><script>document.getElementById("token").value = btoa(document.getElementById("phrase").value.split("").reverse().join(""));</script>`
	})
	t.own("/open_redirect/", "Open redirect", func(_ http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		return "<ul>" + link("/open_redirect/go?redirect=/notes/", "Notes") + link("/open_redirect/go?redirect=/members/", "Members") + "</ul>"
	})
	t.own("/open_redirect/go", "Open redirect", func(w http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		if to := r.URL.Query().Get("redirect"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return ""
		}
		return "<p>There is nowhere to go.</p>"
	})
}

// rights are pages whose weakness is in whom they let do what.
func (t *training) rights() {
	t.own("/weak_id/", "Session identifiers", func(w http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		if r.Method == http.MethodPost {
			t.mu.Lock()
			t.visits++
			http.SetCookie(w, &http.Cookie{Name: "visit", Value: fmt.Sprint(t.visits), Path: "/weak_id/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			t.mu.Unlock()
		}
		return "<p>The button makes a cookie that is your session here.</p>" + fields("post", "Generate")
	})
	t.own("/authbypass/", "User manager", func(_ http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		return `<p>Only administrators see this page.</p><table id="users"></table><script>fetch("/authbypass/users.json").then(r => r.json()).then(all => {` +
			`for (const u of all) { document.getElementById("users").insertRow().insertCell().textContent = u.name + " " + u.mail; } });</script>`
	})
	t.own("/authbypass/users.json", "", func(w http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		t.mu.Lock()
		defer t.mu.Unlock()
		var all []map[string]string
		for _, name := range []string{"anna", "root"} {
			all = append(all, map[string]string{"name": name, "mail": t.people[name].mail})
		}
		reply(w, 200, all)
		return ""
	})
	t.own("/cryptography/", "The safe", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		state := base64.StdEncoding.EncodeToString([]byte(`{"safe":4,"level":"clerk"}`))
		note := ""
		if sent := r.PostFormValue("state"); sent != "" {
			var open struct{ Level string }
			plain, err := base64.StdEncoding.DecodeString(sent)
			if err != nil || json.Unmarshal(plain, &open) != nil {
				return "<p>This cannot be read.</p>"
			}
			note = "<p>Only the chief may see the combination.</p>"
			if open.Level == "chief" {
				note = "<p>The combination is 17-4-29.</p>"
			}
		}
		return note + `<form action="" method="post"><input type="hidden" name="state" value="` + state + `"><input type="submit" name="send" value="Open"></form>`
	})
	t.own("/api/", "Interface", func(_ http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		return `<ul>` + link("/api/users", "Users") + link("/api/me", "You") + `</ul><button id="keep">Keep my address</button><script>
document.getElementById("keep").onclick = function () {
  fetch("/api/me", {method: "PUT", headers: {"Content-Type": "application/json"}, body: JSON.stringify({"mail": "anna@lab.example"})});
};</script>`
	})
	t.own("GET /api/users", "", func(w http.ResponseWriter, _ *http.Request, _, _ *trainee) string {
		t.mu.Lock()
		defer t.mu.Unlock()
		var all []map[string]string
		for _, name := range []string{"anna", "root"} {
			sum := md5.Sum([]byte(t.people[name].pass))
			all = append(all, map[string]string{"name": name, "password": hex.EncodeToString(sum[:])})
		}
		reply(w, 200, all)
		return ""
	})
	me := func(w http.ResponseWriter, u *trainee) {
		reply(w, 200, map[string]any{"name": u.name, "mail": u.mail, "credit": u.credit})
	}
	t.own("GET /api/me", "", func(w http.ResponseWriter, _ *http.Request, u, _ *trainee) string {
		t.mu.Lock()
		defer t.mu.Unlock()
		me(w, u)
		return ""
	})
	t.own("PUT /api/me", "", func(w http.ResponseWriter, r *http.Request, u, _ *trainee) string {
		body := asked(r)
		t.mu.Lock()
		defer t.mu.Unlock()
		if mail := said(body, "mail"); mail != "" {
			u.mail = mail
		}
		if credit, ok := body["credit"].(float64); ok {
			u.credit = int(credit)
		}
		me(w, u)
		return ""
	})
}

// sound are pages that only look weak.
func (t *training) sound() {
	t.own("/members/", "Members", func(w http.ResponseWriter, r *http.Request, u, _ *trainee) string {
		list, err := t.list(r, "SELECT name, mail FROM members WHERE name = ?", r.URL.Query().Get("name"))
		if err != nil || strings.Contains(r.URL.Query().Get("name"), "'") {
			t.page(w, 500, "Members", "<pre>Error: this is no name</pre>", u)
			return ""
		}
		return fields("get", "Find", "name=anna") + list
	})
	t.own("/notes/", "Notes", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		q := enc(r.URL.Query().Get("q"))
		return `<form><input name="q" value="` + q + `"></form><p>There is no note about ` + q + `.</p>`
	})
	t.own("/address/", "Your address", func(w http.ResponseWriter, r *http.Request, u, s *trainee) string {
		form := `<form action="" method="post"><label>Mail <input type="text" name="mail" value="` + enc(u.mail) + `"></label><input type="hidden" name="token" value="` +
			s.token + `"><input type="submit" name="Keep" value="Keep"></form>`
		switch {
		case r.Method != http.MethodPost:
			return form
		case r.PostFormValue("token") != s.token:
			t.page(w, 403, "Your address", "<p>The token is not right.</p>", u)
			return ""
		}
		t.mu.Lock()
		u.mail = r.PostFormValue("mail")
		t.mu.Unlock()
		return form + "<p>Your address was kept.</p>"
	})
	t.own("/goto/", "Go to", func(w http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		to := map[string]string{"home": "/index.php", "notes": "/notes/"}[r.URL.Query().Get("to")]
		if to == "" {
			return "<p>We do not go to " + enc(r.URL.Query().Get("to")) + ".</p>"
		}
		http.Redirect(w, r, to, http.StatusFound)
		return ""
	})
	t.own("/help/", "Help", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		name := r.URL.Query().Get("page")
		text, err := readFile(filepath.Join(t.files, "docs", filepath.Base(filepath.Clean("/"+name))))
		if err != nil {
			return "<p>Warning: include(" + enc(name) + "): failed to open stream</p>"
		}
		return "<pre>" + enc(text) + "</pre>"
	})
	host := regexp.MustCompile(`^[a-z0-9.-]+$`)
	t.own("/lookup/", "Look up a host", func(_ http.ResponseWriter, r *http.Request, _, _ *trainee) string {
		form := fields("post", "Submit", "host=lab.example")
		switch name := r.PostFormValue("host"); {
		case name == "":
			return form
		case !host.MatchString(name) || strings.HasPrefix(name, "-"):
			return form + "<pre>sh: " + enc(name) + ": not found</pre>"
		default:
			return form + "<pre>" + enc(shell(r, "echo "+name)) + "</pre>"
		}
	})
	t.own("/setup/", "Set-up", func(w http.ResponseWriter, _ *http.Request, u, _ *trainee) string {
		if !u.admin {
			t.page(w, 403, "Set-up", "<p>Only administrators may do this.</p>", u)
			return ""
		}
		return "<p>Database of the application: sqlite, 2 members.</p>"
	})
}
