package goflow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// clinic has visits of its users, each with a note, and doctors, who are for everybody.
func clinic(s *site) {
	s.login(entry{at: "/session/new", name: "name", cookie: safeCookie})
	type visit struct{ who, doctor, day, street string }
	visits := map[string]*visit{"V-2201": {"anna", "Hall", "Monday", "Mill Lane 3"}, "V-2203": {"anna", "Reed", "Tuesday", "Mill Lane 3"},
		"V-2209": {"ben", "Hall", "Friday", "Harbour 9"}}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Clinic", s.hello(r)+link("/visits", "Visits")+link("/doctors/1", "Dr Hall")+link("/doctors/2", "Dr Reed"))
	})
	s.HandleFunc("GET /doctors/{n}", func(w http.ResponseWriter, r *http.Request) {
		name := map[string]string{"1": "Hall", "2": "Reed", "3": "Stone"}[r.PathValue("n")]
		if name == "" {
			show(w, 404, "Doctor", "<p>Nobody of this number works here.</p>")
			return
		}
		show(w, 200, "Doctor", "<p>Dr "+name+" is in room "+r.PathValue("n")+" on all days.</p>")
	})
	s.own("GET /visits", func(w http.ResponseWriter, _ *http.Request, u *user) {
		var list strings.Builder
		for ref, v := range visits {
			if v.who == u.Name {
				fmt.Fprintf(&list, `<tr><td><a href="/visits/%s">%s</a></td><td><a href="/visits/%s/note.txt">note</a></td></tr>`,
					ref, ref, ref)
			}
		}
		show(w, 200, "Visits", "<table>"+list.String()+"</table>")
	})
	find := func(ref string, u *user) *visit {
		v := visits[ref]
		if v == nil || !s.weak && v.who != u.Name {
			return nil
		}
		return v
	}
	s.own("GET /visits/{ref}", func(w http.ResponseWriter, r *http.Request, u *user) {
		v := find(r.PathValue("ref"), u)
		if v == nil {
			show(w, 404, "Visit", "<p>No such visit.</p>")
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		show(w, 200, "Visit", fmt.Sprintf("<ul><li>Patient: %s, %s</li><li>Doctor: %s</li><li>Day: %s</li></ul>", v.who, v.street, v.doctor, enc(v.day))+
			form("/visits/move", "ref="+r.PathValue("ref"), "day="+v.day))
	})
	s.own("GET /visits/{ref}/note.txt", func(w http.ResponseWriter, r *http.Request, u *user) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		v := find(r.PathValue("ref"), u)
		if v == nil {
			http.Error(w, "no such note", http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, "Note of Dr %s\nPatient %s of %s sleeps badly.\n", v.doctor, v.who, v.street)
	})
	s.own("POST /visits/move", func(w http.ResponseWriter, r *http.Request, u *user) {
		v := find(r.PostFormValue("ref"), u)
		if v == nil {
			show(w, 404, "Visit", "<p>No such visit.</p>")
			return
		}
		s.mu.Lock()
		v.day = r.PostFormValue("day")
		s.mu.Unlock()
		http.Redirect(w, r, "/visits/"+r.PostFormValue("ref"), http.StatusSeeOther)
	})
}

// ledger is a bank: statements, transfers, and a profile that a script changes.
func ledger(s *site) {
	s.login(entry{at: "/bank/login", name: "customer", cookie: safeCookie})
	number := func(u *user) int { return 4000 + u.ID }
	holder := func(text string) *user {
		for _, u := range s.users {
			if strconv.Itoa(number(u)) == text {
				return u
			}
		}
		return nil
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		more := ""
		if u := s.who(r); u != nil {
			more = link(fmt.Sprintf("/statement?account=%d", number(u)), "Statement") + link("/transfer", "Transfer") + link("/profile", "Profile")
		}
		show(w, 200, "Bank", s.hello(r)+more)
	})
	s.own("GET /statement", func(w http.ResponseWriter, r *http.Request, u *user) {
		of := holder(r.URL.Query().Get("account"))
		if of == nil || !s.weak && of != u {
			show(w, 200, "Statement", "<p>We know no such account of yours.</p>")
			return
		}
		show(w, 200, "Statement", fmt.Sprintf("<p>%s holds %d.</p><p>Contact: %s</p>", of.Name, of.Balance, enc(of.Mail)))
	})
	s.own("GET /transfer", func(w http.ResponseWriter, _ *http.Request, u *user) {
		show(w, 200, "Transfer", fmt.Sprintf("<p>Balance: %d</p>", u.Balance)+form("/transfer", "to=4012", "amount=5"))
	})
	s.own("POST /transfer", func(w http.ResponseWriter, r *http.Request, u *user) {
		to := holder(r.PostFormValue("to"))
		amount, err := strconv.Atoi(r.PostFormValue("amount"))
		if to == nil || err != nil || amount > u.Balance || !s.weak && amount <= 0 {
			show(w, 422, "Transfer", "<p>This transfer cannot be made.</p>")
			return
		}
		s.mu.Lock()
		u.Balance, to.Balance = u.Balance-amount, to.Balance+amount
		s.mu.Unlock()
		show(w, 200, "Transfer", fmt.Sprintf("<p>Sent. Balance: %d</p>", u.Balance))
	})
	s.own("GET /profile", func(w http.ResponseWriter, _ *http.Request, _ *user) {
		show(w, 200, "Profile", `<p id="me"></p><input id="mail" value="anna@lab.example"><script>
fetch('/bank/api/profile').then(r => r.json()).then(p => { document.getElementById('me').textContent = p.customer.mail; });
function save() { fetch('/bank/api/profile', {method: 'PATCH', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify({customer: {mail: document.getElementById('mail').value}})}); }</script><button onclick="save()">Save</button>`)
	})
	profile := func(u *user) any {
		return map[string]any{"customer": map[string]any{"name": u.Name, "mail": u.Mail, "is_staff": u.Admin, "plan": u.Plan}}
	}
	s.own("GET /bank/api/profile", func(w http.ResponseWriter, _ *http.Request, u *user) { answer(w, 200, profile(u)) })
	s.own("PATCH /bank/api/profile", func(w http.ResponseWriter, r *http.Request, u *user) {
		in, _ := asked(r)["customer"].(map[string]any)
		s.mu.Lock()
		defer s.mu.Unlock()
		if mail, ok := in["mail"].(string); ok {
			u.Mail = mail
		}
		if admin, ok := in["is_staff"].(bool); ok && s.weak {
			u.Admin = admin
		}
		answer(w, 200, profile(u))
	})
}

// hr has pages of the payroll, which are for the chief. "weak" looks at nobody; the others believe what the browser says.
func hr(s *site) {
	sealed := func(name, role string) string {
		raw, _ := json.Marshal(map[string]string{"name": name, "role": role}) // of texts: it cannot fail
		return base64.StdEncoding.EncodeToString(raw)
	}
	s.login(entry{at: "/in", name: "person", cookie: safeCookie, then: func(w http.ResponseWriter, r *http.Request, u *user) {
		if s.variant == "cookie" {
			c := safeCookie
			c.Name, c.Value, c.Path = "profile", sealed(u.Name, u.Role), "/"
			http.SetCookie(w, &c)
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}})
	may := func(r *http.Request, u *user) bool {
		switch s.variant {
		case "weak":
			return true
		case "cookie":
			c, err := r.Cookie("profile")
			if err != nil {
				return false
			}
			raw, _ := base64.StdEncoding.DecodeString(c.Value)
			var said struct{ Role string }
			return json.Unmarshal(raw, &said) == nil && said.Role == "chief"
		case "method":
			return r.Method != http.MethodGet || u.Role == "chief"
		case "parameter":
			return u.Role == "chief" || r.URL.Query().Get("admin") == "true"
		}
		return u.Role == "chief"
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		more := ""
		if u := s.who(r); u != nil {
			more = link("/handbook", "Handbook")
			if may(r, u) && u.Role == "chief" {
				more += link("/payroll", "Payroll") + link("/payroll/export", "Export")
			}
		}
		show(w, 200, "People", s.hello(r)+more)
	})
	s.own("GET /handbook", func(w http.ResponseWriter, _ *http.Request, _ *user) {
		show(w, 200, "Handbook", "<p>Work begins at nine. The chief keeps the payroll.</p>")
	})
	guarded := func(title, body string) func(http.ResponseWriter, *http.Request, *user) {
		return func(w http.ResponseWriter, r *http.Request, u *user) {
			if !may(r, u) {
				show(w, 403, title, "<p>You may not see this.</p>")
				return
			}
			show(w, 200, title, body)
		}
	}
	s.own("/payroll", guarded("Payroll", "<table><tr><td>anna</td><td>3100</td></tr><tr><td>ben</td><td>2900</td></tr></table>"))
	s.own("/payroll/export", guarded("Export", "<pre>name,iban\nanna,LAB77\nben,LAB78</pre>"))
}

// ward is an interface with tokens: "none" takes unsigned ones, "weak" has a key that everybody knows. It is described by Swagger 2.
func ward(s *site) {
	if s.variant == "weak" {
		s.key = []byte("secret")
	}
	beds := map[string][2]string{"31": {"anna", "north, window"}, "32": {"anna", "north, door"}, "47": {"ben", "south, window"}}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]string{"name": "Ward", "swagger": "/swagger.json"})
	})
	s.HandleFunc("GET /swagger.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, wardText)
	})
	s.HandleFunc("POST /v3/sign-in", func(w http.ResponseWriter, r *http.Request) {
		in := asked(r)
		name, _ := in["login"].(string)
		u := s.users[name]
		if u == nil || u.Pass != in["secret"] {
			answer(w, 401, map[string]string{"message": "login or secret is wrong"})
			return
		}
		answer(w, 200, map[string]string{"token": s.token(u)})
	})
	own := func(pattern string, serve func(http.ResponseWriter, *http.Request, *user)) {
		s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			u := s.read(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			if u == nil {
				answer(w, 401, map[string]string{"message": "sign in first"})
				return
			}
			serve(w, r, u)
		})
	}
	own("GET /v3/beds", func(w http.ResponseWriter, _ *http.Request, u *user) {
		mine := []any{}
		for id, b := range beds {
			if b[0] == u.Name {
				mine = append(mine, map[string]string{"id": id})
			}
		}
		answer(w, 200, mine)
	})
	own("GET /v3/beds/{id}", func(w http.ResponseWriter, r *http.Request, u *user) {
		b, ok := beds[r.PathValue("id")]
		if !ok || s.variant == "sound" && b[0] != u.Name {
			answer(w, 404, map[string]string{"message": "no such bed"})
			return
		}
		answer(w, 200, map[string]string{"id": r.PathValue("id"), "patient": b[0], "place": b[1]})
	})
	own("GET /v3/stock", func(w http.ResponseWriter, r *http.Request, _ *user) {
		s.goods(w, r.URL.Query().Get("sort"))
	})
	own("GET /v3/all-patients", func(w http.ResponseWriter, _ *http.Request, u *user) {
		if s.variant == "sound" && !u.Admin {
			answer(w, 403, map[string]string{"message": "for the chief"})
			return
		}
		answer(w, 200, []map[string]any{{"login": "anna", "mail": "anna@lab.example"}, {"login": "ben", "mail": "ben@lab.example"}, {"login": "root"}})
	})
}

const wardText = `{"swagger": "2.0", "info": {"title": "Ward", "version": "3"}, "basePath": "/v3", "consumes": ["application/json"],
 "securityDefinitions": {"token": {"type": "apiKey", "in": "header", "name": "Authorization"}}, "security": [{"token": []}], "paths": {
 "/sign-in": {"post": {"summary": "Sign in", "security": [], "responses": {"200": {"description": "a token"}}, "parameters": [{"in": "body", "name": "b",
   "schema": {"type": "object", "properties": {"login": {"type": "string", "example": "anna"}, "secret": {"type": "string", "format": "password"}}}}]}},
 "/beds": {"get": {"summary": "My beds", "responses": {"200": {"description": "a list"}}}},
 "/beds/{id}": {"get": {"summary": "A bed", "responses": {"200": {"description": "it"}}, "parameters": [
   {"in": "path", "name": "id", "required": true, "type": "integer", "x-example": 31}]}},
 "/stock": {"get": {"summary": "The stock", "responses": {"200": {"description": "a list"}}, "parameters": [
   {"in": "query", "name": "sort", "type": "string", "default": "name"}]}},
 "/all-patients": {"get": {"summary": "All patients, for the chief", "responses": {"200": {"description": "a list"}}}}}}`
