package apps

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

func notes() App {
	return App{
		Name: "notes", About: "a JSON API with two users and bearer tokens", handler: newNotes,
		Weaknesses: []Weakness{
			{"notes-idor", "639 284 862 863", "/api/notes/*", "", "Any user reads the notes of another",
				`idor|object.level|access control|authori[sz]ation|other user`},
			{"notes-jwt-none", "347 345 287 327", "/api/*", "", "Tokens without a signature are taken",
				`jwt|token|signature|\bnone\b`},
			{"notes-mass-assignment", "915 269", "/api/register", "role", "Whoever registers chooses their own role",
				`mass.assign|role|privilege`},
			{"notes-enumeration", "204 203 200", "/api/login", "", "The login tells which users there are",
				`enumerat|user ?names?`},
			{"notes-guessing", "307", "/api/login", "", "Passwords may be guessed without end",
				`brute|rate.limit|guess|lockout`},
			{"notes-cors", "942 346", "/api/*", "", "The API trusts every origin with credentials", `cors|origin`},
			{"notes-openapi", "200", "/openapi.json", "", "The description of the API is public",
				`openapi|swagger|api (desc|doc)`},
		},
	}
}

type user struct{ password, role string }

type note struct {
	Owner string `json:"owner"`
	Text  string `json:"text"`
}

type board struct {
	mu    sync.Mutex
	users map[string]user
	notes []note
}

const notesKey = "made-up signing key"

func newNotes() http.Handler {
	b := &board{
		users: map[string]user{"ada": {"countess", "user"}, "ben": {"blue-bicycle", "user"}},
		notes: []note{{"ada", "Ada's made-up note"}, {"ben", "Ben's made-up note"}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Notes", `<h1>Notes</h1><p>An API for notes. <a href="/api/status">Status</a>, <a href="/openapi.json">description</a>.</p>`))
	mux.HandleFunc("GET /openapi.json", text("application/json", `{"openapi":"3.0.3","info":{"title":"Notes","version":"1.0"},"paths":{"/api/register":{"post":{}},"/api/login":{"post":{}},"/api/me":{"get":{}},"/api/notes/{id}":{"get":{}}}}`))
	mux.HandleFunc("GET /api/status", text("application/json", `{"status":"ok"}`))
	mux.HandleFunc("POST /api/login", b.withCredentials(b.login))
	mux.HandleFunc("POST /api/register", b.withCredentials(b.register))
	mux.HandleFunc("GET /api/me", b.withUser(func(w http.ResponseWriter, _ *http.Request, name string) {
		reply(w, http.StatusOK, map[string]string{"name": name, "role": b.users[name].role})
	}))
	mux.HandleFunc("GET /api/notes/{id}", b.withUser(func(w http.ResponseWriter, r *http.Request, _ string) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(b.notes) {
			reply(w, http.StatusNotFound, map[string]string{"error": "no such note"})
			return
		}
		reply(w, http.StatusOK, b.notes[id-1])
	}))
	return guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && strings.HasPrefix(r.URL.Path, "/api/") {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			w.Header().Set("Vary", "Origin")
		}
		mux.ServeHTTP(w, r)
	}))
}

func reply(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal"}`)
	}
	answer(w, status, "application/json", string(body))
}

type credentials struct{ User, Password, Role string }

// withCredentials reads them and locks the board.
func (b *board) withCredentials(next func(http.ResponseWriter, credentials)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var c credentials
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&c); err != nil {
			reply(w, http.StatusBadRequest, map[string]string{"error": "not JSON"})
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		next(w, c)
	}
}

func (b *board) login(w http.ResponseWriter, c credentials) {
	u, known := b.users[c.User]
	switch {
	case !known:
		reply(w, http.StatusNotFound, map[string]string{"error": "no such user"})
	case u.password != c.Password:
		reply(w, http.StatusUnauthorized, map[string]string{"error": "wrong password"})
	default:
		reply(w, http.StatusOK, map[string]string{"token": token(c.User)})
	}
}

// maxUsers limits the memory of the API.
const maxUsers = 1000

func (b *board) register(w http.ResponseWriter, c credentials) {
	if _, taken := b.users[c.User]; taken || c.User == "" || len(b.users) > maxUsers {
		reply(w, http.StatusConflict, map[string]string{"error": "not available"})
		return
	}
	if c.Role == "" {
		c.Role = "user"
	}
	b.users[c.User] = user{c.Password, c.Role}
	reply(w, http.StatusCreated, map[string]string{"token": token(c.User)})
}

func (b *board) withUser(next func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		name := bearer(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if _, known := b.users[name]; !known {
			reply(w, http.StatusUnauthorized, map[string]string{"error": "log in first"})
			return
		}
		next(w, r, name)
	}
}

func token(name string) string {
	signed := encode(`{"alg":"HS256","typ":"JWT"}`) + "." + encode(`{"sub":"`+name+`"}`)
	return signed + "." + signature(signed)
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func signature(signed string) string {
	mac := hmac.New(sha256.New, []byte(notesKey))
	mac.Write([]byte(signed))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// bearer is the user of a token. It trusts the token's own alg header: the weakness.
func bearer(jwt string) string {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return ""
	}
	var head struct{ Alg string }
	var claims struct{ Sub string }
	for i, into := range []any{&head, &claims} {
		plain, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(plain, into) != nil {
			return ""
		}
	}
	if !strings.EqualFold(head.Alg, "none") && parts[2] != signature(parts[0]+"."+parts[1]) {
		return ""
	}
	return claims.Sub
}
