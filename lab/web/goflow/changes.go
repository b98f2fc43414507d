package goflow

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// gate is about logging in: what a forgotten passphrase tells, where a login leads, sessions that are kept, cookies.
func gate(s *site) {
	e := entry{at: "/account/enter", name: "login", cookie: safeCookie, fixed: s.weak, limited: !s.weak, then: func(w http.ResponseWriter, r *http.Request, u *user) {
		if r.PostFormValue("remember") != "" || s.weak {
			c := safeCookie
			c.Name, c.Path = "remember_user", "/"
			c.Value = base64.StdEncoding.EncodeToString([]byte(u.Name))
			if !s.weak {
				c.Value = c.Value + "." + s.seal(u.Name)
			}
			http.SetCookie(w, &c)
		}
		to := r.URL.Query().Get("return_to")
		if to == "" || !s.weak && !regexp.MustCompile(`^/[\w/]*$`).MatchString(to) {
			to = "/"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
	}}
	if s.weak {
		e.cookie, e.also = http.Cookie{}, map[string]string{"admin": "admin"}
	}
	s.login(e)
	who := func(r *http.Request) *user {
		if u := s.who(r); u != nil {
			return u
		}
		c, err := r.Cookie("remember_user")
		if err != nil {
			return nil
		}
		text, sum, _ := strings.Cut(c.Value, ".")
		name, _ := base64.StdEncoding.DecodeString(text)
		if !s.weak && !hmac.Equal([]byte(sum), []byte(s.seal(string(name)))) {
			return nil
		}
		return s.users[string(name)]
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Gate", s.hello(r)+link("/account/enter?return_to=/me", "Enter")+link("/account/forgot", "Forgot the passphrase?")+link("/me", "Me"))
	})
	s.HandleFunc("GET /account/forgot", func(w http.ResponseWriter, _ *http.Request) {
		show(w, 200, "Forgot", form("/account/forgot", "login="))
	})
	s.HandleFunc("POST /account/forgot", func(w http.ResponseWriter, r *http.Request) {
		if s.weak && s.users[r.PostFormValue("login")] == nil {
			show(w, 200, "Forgot", "<p>We know nobody of this name.</p>"+form("/account/forgot", "login="))
			return
		}
		show(w, 200, "Forgot", "<p>Look into your mail.</p>")
	})
	s.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		u := who(r)
		if u == nil {
			http.Redirect(w, r, s.at, http.StatusFound)
			return
		}
		show(w, 200, "Me", "<p>"+u.Name+", "+enc(u.Mail)+"</p>"+form("/me/mail", "mail="+u.Mail))
	})
	s.HandleFunc("POST /me/mail", func(w http.ResponseWriter, r *http.Request) {
		u := who(r)
		if u == nil {
			http.Redirect(w, r, s.at, http.StatusFound)
			return
		}
		if from := r.Header.Get("Origin"); !s.weak && from != "" && from != "http://"+r.Host {
			show(w, http.StatusForbidden, "Me", "<p>This came from elsewhere.</p>")
			return
		}
		s.mu.Lock()
		u.Mail = r.PostFormValue("mail")
		s.mu.Unlock()
		http.Redirect(w, r, "/me", http.StatusSeeOther)
	})
}

func (s *site) seal(text string) string {
	sum := hmac.New(sha256.New, s.key)
	sum.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// token is a JSON web token of a user.
func (s *site) token(u *user) string {
	part := func(v any) string {
		raw, _ := json.Marshal(v) // of texts: it cannot fail
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{"sub": u.Name, "exp": 4102444800, "jti": rand.Text()})
	return text + "." + s.seal(text)
}

// read is the user of a token; nil for none.
func (s *site) read(token string) *user {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	var head struct{ Alg string }
	var claims struct{ Sub string }
	raw, _ := base64.RawURLEncoding.DecodeString(parts[0])
	body, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if json.Unmarshal(raw, &head) != nil || json.Unmarshal(body, &claims) != nil {
		return nil
	}
	if s.variant == "none" && strings.EqualFold(head.Alg, "none") || hmac.Equal([]byte(parts[2]), []byte(s.seal(parts[0]+"."+parts[1]))) {
		return s.users[claims.Sub]
	}
	return nil
}

// hooks calls addresses: to try a hook, and for the title of a link. "filter" refuses names of this machine as they are written.
func hooks(s *site) {
	call := func(address string) (string, error) {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return "", errors.New("not an address")
		}
		if s.variant == "filter" && (strings.Contains(address, "127.0.0.1") || strings.Contains(address, "localhost")) {
			return "", errors.New("not an address")
		}
		if s.variant == "sound" && u.Hostname() != "hooks.lab.example" {
			return "", errors.New("not an address")
		}
		client := http.Client{Timeout: 2 * time.Second}
		got, err := client.Get(address)
		if err != nil {
			return "", err
		}
		defer got.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(got.Body, 2000))
		return string(text), nil
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		show(w, 200, "Hooks", form("/hooks/try", "endpoint=http://hooks.lab.example/in")+link("/unfurl?of=http://hooks.lab.example/", "Unfurl"))
	})
	s.HandleFunc("POST /hooks/try", func(w http.ResponseWriter, r *http.Request) {
		text, err := call(r.PostFormValue("endpoint"))
		if err != nil {
			show(w, 200, "Hooks", "<p>The hook does not answer.</p>")
			return
		}
		show(w, 200, "Hooks", "<p>The hook answered:</p><pre>"+enc(text)+"</pre>")
	})
	title := regexp.MustCompile(`<title>([^<]*)</title>`)
	s.HandleFunc("GET /unfurl", func(w http.ResponseWriter, r *http.Request) {
		text, err := call(r.URL.Query().Get("of"))
		m := title.FindStringSubmatch(text)
		if err != nil || m == nil {
			show(w, 200, "Unfurl", "<p>No title.</p>")
			return
		}
		show(w, 200, "Unfurl", "<p>"+enc(m[1])+"</p>")
	})
}

// drive keeps files. "weak" serves them by their names, "sniff" under a number, as what they look like.
func drive(s *site) {
	s.login(entry{at: "/drive/login", name: "user", cookie: safeCookie})
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Drive", s.hello(r)+link("/drive", "Files"))
	})
	s.own("GET /drive", func(w http.ResponseWriter, _ *http.Request, _ *user) {
		show(w, 200, "Files", `<form action="/drive" method="post" enctype="multipart/form-data"><input type="file" name="document"><button>Keep</button></form>`)
	})
	s.own("POST /drive", func(w http.ResponseWriter, r *http.Request, _ *user) {
		f, head, err := r.FormFile("document")
		if err != nil {
			show(w, 400, "Files", "<p>No file.</p>")
			return
		}
		defer f.Close()
		name := filepath.Base(head.Filename)
		if s.variant != "weak" {
			name = rand.Text()
		}
		text, err := io.ReadAll(io.LimitReader(f, 100_000))
		if err == nil {
			err = os.WriteFile(filepath.Join(s.files, name), text, 0o644)
		}
		if err != nil {
			show(w, 400, "Files", "<p>It cannot be kept.</p>")
			return
		}
		show(w, 200, "Files", link("/kept/"+url.PathEscape(name), "Kept"))
	})
	s.HandleFunc("GET /kept/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(s.files, filepath.Base(r.PathValue("name"))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if s.variant == "sound" {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", "attachment")
			w.Header().Set("X-Content-Type-Options", "nosniff")
		} else if s.variant == "weak" && strings.HasSuffix(r.PathValue("name"), ".html") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		_, _ = w.Write(text) // without a type, the server guesses one from the contents
	})
}

// cart sells goods: a script orders, a form takes vouchers.
func cart(s *site) {
	s.login(entry{at: "/shop/login", name: "user", cookie: safeCookie})
	prices, used, cut := map[float64]float64{1: 30, 2: 80, 3: 120}, map[string]bool{}, map[string]int{}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Shop", s.hello(r)+link("/basket", "Basket"))
	})
	s.own("GET /basket", func(w http.ResponseWriter, _ *http.Request, u *user) {
		s.mu.Lock()
		defer s.mu.Unlock()
		show(w, 200, "Basket", fmt.Sprintf("<p>Reduced by %d</p>", cut[u.Name])+form("/basket/voucher", "voucher=SUMMER5")+`<script>
function order() { fetch('/basket/order', {method: 'POST', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify({product: 2, unit_price: 80, count: 1})}).then(r => r.json()).then(o => alert(o.total)); }</script><button onclick="order()">Order</button>`)
	})
	s.own("POST /basket/order", func(w http.ResponseWriter, r *http.Request, _ *user) {
		in := asked(r)
		product, _ := in["product"].(float64)
		count, _ := in["count"].(float64)
		price, known := prices[product]
		if !known || !s.weak && count < 1 {
			answer(w, 422, map[string]string{"error": "this cannot be ordered"})
			return
		}
		if said, ok := in["unit_price"].(float64); ok && s.weak {
			price = said
		}
		answer(w, 200, map[string]any{"product": product, "count": count, "total": price * count})
	})
	s.own("POST /basket/voucher", func(w http.ResponseWriter, r *http.Request, u *user) {
		s.mu.Lock()
		fine := r.PostFormValue("voucher") == "SUMMER5" && (s.weak || !used[u.Name])
		if fine {
			used[u.Name] = true
			cut[u.Name] += 5
		}
		s.mu.Unlock()
		if !fine {
			show(w, 200, "Basket", "<p>This voucher cannot be used.</p>")
			return
		}
		http.Redirect(w, r, "/basket", http.StatusSeeOther)
	})
}

// invite sends people links with the host that a request names.
func invite(s *site) {
	s.login(entry{at: "/team/login", name: "user", cookie: safeCookie})
	var sent []string
	host := func(r *http.Request) string {
		switch s.variant {
		case "weak":
			return r.Host
		case "forwarded":
			if h := r.Header.Get("X-Forwarded-Host"); h != "" {
				return h
			}
		}
		return "team.lab.example"
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		show(w, 200, "Team", s.hello(r)+link("/team", "Team")+"<h2>Invite a friend</h2>"+form("/team/invite", "person=carl@lab.example"))
	})
	s.own("GET /team", func(w http.ResponseWriter, _ *http.Request, _ *user) {
		s.mu.Lock()
		defer s.mu.Unlock()
		show(w, 200, "Team", "<h2>Sent</h2>"+strings.Join(sent, ""))
	})
	s.HandleFunc("POST /team/invite", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		sent = append(sent, "<p>Dear "+enc(r.PostFormValue("person"))+", join at http://"+enc(host(r))+"/join/"+rand.Text()+"</p>")
		sent = sent[max(0, len(sent)-20):]
		s.mu.Unlock()
		show(w, 200, "Team", "<p>The invitation was sent.</p>")
	})
}
