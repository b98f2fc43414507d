package bench

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/lab/web"
)

//go:embed library.json
var libraryDocument string

// tries is a login as somebody, after more wrong passwords than anyone types.
func tries(send func(word string) string, word string) string {
	return strings.Repeat(send("wrong")+" ; ", 14) + send(word)
}

// libraryCases are of an interface of a library: "sound" is the same without its weaknesses.
func libraryCases(variant string) (all []web.Case) {
	weak := variant == "weak"
	one := func(path, class, proof, expect string) {
		all = append(all, web.Case{Path: path, Class: class, True: weak, Proof: proof, Expect: expect})
	}
	look := func(path, class, proof, expect string) {
		all = append(all, web.Case{Path: path, Class: class, Proof: proof, Expect: expect})
	}
	one("/users/v1/*", "sql", "anna GET /users/v1/zzz'%20UNION%20SELECT%20password,about%20FROM%20accounts%20WHERE%20username='root'%20--%20", "root-Pass9")
	one("/users/v1/*", "error", "anna GET /users/v1/zzz'", "^500(?s).*SQL logic error")
	one("/books/v1/*", "bola", "anna GET /books/v1/harbour-lights", "third pot")
	one("/loans/v1/*", "bola", "anna GET /loans/v1/72", "14 Mill Lane")
	one("/users/v1/register", "mass", `- POST /users/v1/register {"username":"q7","password":"q7-Pass","email":"q7@lab.example","admin":true} ; `+
		`- POST /users/v1/login {"username":"q7","password":"q7-Pass"} ; - GET /users/v1/me`, `"admin":true`)
	one("/users/v1/_debug", "exposure", "- GET /users/v1/_debug", "root-Pass9")
	one("/users/v1/login", "enumeration", `- POST /users/v1/login {"username":"zzz","password":"x"}`, "is not known")
	one("/users/v1/login", "limit", tries(func(word string) string {
		return `- POST /users/v1/login {"username":"root","password":"` + word + `"}`
	}, "root-Pass9"), `"token"`)
	one("/users/v1/*/password", "takeover", `anna PUT /users/v1/ben/password {"password":"ben-Pass2"}`, "changed")
	one("/reports/v1/members", "bfla", "anna GET /reports/v1/members", "ben@lab")
	one("/**", "jwt", "- [Authorization: Bearer {jwt}] GET /users/v1/me", `"username":"root"`)
	one("/covers/v1", "ssrf", `anna POST /covers/v1 {"address":"http://127.0.0.1:{port}/home.html"}`, "The house of the lab")
	look("/books/v1", "sql", "anna GET /books/v1?sort=(CASE+WHEN+owner='ben'+THEN+0+ELSE+1+END)", `^200 [^\n]*\n[^\n]*\n[^\n]*\n\n.\{"title":"harbour`)
	look("/shelves/v1/*", "bola", "anna GET /shelves/v1/2", "third pot|@lab")
	look("/users/v1/*/email", "takeover", `anna PUT /users/v1/ben/email {"email":"ben@lab.example"}`, "changed")
	look("/users/v1/*/account", "bfla", "anna DELETE /users/v1/ben/account", "deleted")
	return all
}

const libraryData = `CREATE TABLE accounts (username TEXT PRIMARY KEY, password TEXT, email TEXT, admin INTEGER, about TEXT);
INSERT INTO accounts VALUES ('anna','anna-Pass1','anna@lab.example',0,'reads novels'),('ben','ben-Pass2','ben@lab.example',0,'reads maps'),
('root','root-Pass9','root@lab.example',1,'keeps the house');
CREATE TABLE books (title TEXT PRIMARY KEY, owner TEXT, secret TEXT);
INSERT INTO books VALUES ('garden-year','anna','Sow the beans in May'),('harbour-lights','ben','The key lies under the third pot'),('old-maps','ben','Ask the ferryman');
CREATE TABLE loans (id INTEGER PRIMARY KEY, owner TEXT, book TEXT, address TEXT);
INSERT INTO loans VALUES (71,'anna','garden-year','3 Hill Road'),(72,'ben','harbour-lights','14 Mill Lane'),(73,'ben','old-maps','14 Mill Lane');`

// library is the interface while it runs.
type library struct {
	*site

	key    []byte // of its tokens
	failed map[string][]time.Time
}

// account is who sends a request.
type account struct {
	Username string `json:"username"`
	Email    string `json:"email"`
	Admin    bool   `json:"admin"`
}

func buildLibrary(s *site) {
	l := &library{site: s, key: []byte(rand.Text()), failed: map[string][]time.Time{}}
	if s.weak {
		l.key = []byte("secret")
	}
	if _, err := s.db.Exec(libraryData); err != nil {
		panic(err) // it is written above
	}
	s.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]string{"message": "The library", "document": "/openapi.json"})
	})
	s.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { write(w, 200, "application/json", libraryDocument) })
	s.HandleFunc("POST /users/v1/register", l.register)
	s.HandleFunc("POST /users/v1/login", l.login)
	s.HandleFunc("GET /users/v1/_debug", l.debug)
	l.own("GET /users/v1/me", func(w http.ResponseWriter, _ *http.Request, a *account) { reply(w, 200, a) })
	l.own("GET /users/v1/{name}", l.profile)
	l.own("PUT /users/v1/{name}/password", l.password)
	l.own("PUT /users/v1/{name}/email", l.email)
	l.own("DELETE /users/v1/{name}/account", l.remove)
	l.own("GET /books/v1", l.books)
	l.own("GET /books/v1/{title}", l.book)
	l.own("POST /books/v1", l.addBook)
	l.own("GET /loans/v1", l.loans)
	l.own("GET /loans/v1/{id}", l.loan)
	l.own("DELETE /loans/v1/{id}", l.loan)
	l.own("GET /shelves/v1/{id}", func(w http.ResponseWriter, r *http.Request, _ *account) {
		names := map[string]string{"1": "Novels", "2": "Maps", "3": "Gardens"}
		if names[r.PathValue("id")] == "" {
			reply(w, 404, problem("There is no such shelf"))
			return
		}
		reply(w, 200, map[string]string{"id": r.PathValue("id"), "name": names[r.PathValue("id")]})
	})
	l.own("GET /reports/v1/members", l.members)
	l.own("POST /covers/v1", l.cover)
}

func problem(text string) map[string]string {
	return map[string]string{"status": "fail", "message": text}
}

func done(text string) map[string]string {
	return map[string]string{"status": "success", "message": text}
}

func reply(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = 500, []byte(`{"status":"fail"}`)
	}
	write(w, status, "application/json", string(text))
}

// asked is the object that a request has as JSON; of what is none, an empty one.
func asked(r *http.Request) map[string]any {
	out := map[string]any{}
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&out) // see above
	return out
}

func said(body map[string]any, name string) string {
	text, _ := body[name].(string)
	return text
}

func (l *library) sign(text string) string {
	sum := hmac.New(sha256.New, l.key)
	sum.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// token is a JSON web token of a user, for an hour.
func (l *library) token(name string) string {
	claims, _ := json.Marshal(map[string]any{"sub": name, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}) // of strings and numbers
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return text + "." + l.sign(text)
}

// who is the account of a request; nil for nobody.
func (l *library) who(r *http.Request) *account {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(text, ".")
	if len(parts) != 3 || !hmac.Equal([]byte(l.sign(parts[0]+"."+parts[1])), []byte(parts[2])) {
		return nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Sub string
		Exp int64
	}
	if err != nil || json.Unmarshal(plain, &claims) != nil || claims.Exp < time.Now().Unix() {
		return nil
	}
	a := &account{}
	if l.db.QueryRowContext(r.Context(), "SELECT username, email, admin FROM accounts WHERE username = ?", claims.Sub).Scan(&a.Username, &a.Email, &a.Admin) != nil {
		return nil
	}
	return a
}

// own serves an operation to users alone.
func (l *library) own(pattern string, serve func(http.ResponseWriter, *http.Request, *account)) {
	l.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		a := l.who(r)
		if a == nil {
			reply(w, 401, problem("Invalid token. Please log in again."))
			return
		}
		serve(w, r, a)
	})
}
