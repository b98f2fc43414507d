package oast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxRegister is how long the body of a request of a client may be, in bytes.
const maxRegister = 16 << 10

// registration is the body of /register; /deregister has no public key.
type registration struct {
	PublicKey   string `json:"public-key"`
	Secret      string `json:"secret-key"`
	Correlation string `json:"correlation-id"`
}

// polled is the answer to /poll. Extra is always empty here: interactsh fills it with what belongs to a token.
type polled struct {
	Data  []string `json:"data"`
	Extra []string `json:"extra"`
	Key   string   `json:"aes_key"`
}

// ServeHTTP answers clients at /register, /poll and /deregister, and records every other request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(find(r.Host, s.store.known)) > 0 {
		s.serveTarget(w, r) // a target was told this name, whatever path it asks for
		return
	}
	switch r.URL.Path {
	case "/register", "/deregister", "/poll":
		s.serveClient(w, r)
	default:
		s.serveTarget(w, r)
	}
}

func (s *Server) serveClient(w http.ResponseWriter, r *http.Request) {
	want := http.MethodPost
	if r.URL.Path == "/poll" {
		want = http.MethodGet
	}
	if r.Method != want {
		w.Header().Set("Allow", want)
		answer(w, http.StatusMethodNotAllowed, "error", "use "+want)
		return
	}
	if s.config.Token != "" && !equal(s.config.Token, r.Header.Get("Authorization")) {
		answer(w, http.StatusUnauthorized, "error", "the header Authorization does not have this server's token")
		return
	}
	if r.URL.Path == "/poll" {
		s.servePoll(w, r)
		return
	}
	var in registration
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRegister)).Decode(&in); err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		answer(w, status, "error", "could not decode json body: "+err.Error())
		return
	}
	do, done, failed := func() error { return s.store.register(in.Correlation, in.Secret, in.PublicKey) },
		"registration successful", "could not set id and public key: "
	if r.URL.Path == "/deregister" {
		do = func() error { return s.store.deregister(in.Correlation, in.Secret) }
		done, failed = "deregistration successful", "could not remove id: "
	}
	if err := do(); err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, errFull) {
			status = http.StatusServiceUnavailable
		}
		answer(w, status, "error", failed+err.Error())
		return
	}
	answer(w, http.StatusOK, "message", done)
}

func (s *Server) servePoll(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for _, name := range []string{"id", "secret"} {
		if q.Get(name) == "" {
			answer(w, http.StatusBadRequest, "error", "no "+name+" specified for poll")
			return
		}
	}
	data, key, err := s.store.poll(q.Get("id"), q.Get("secret"))
	if err != nil {
		answer(w, http.StatusBadRequest, "error", "could not get interactions: "+err.Error())
		return
	}
	writeJSON(w, http.StatusOK, polled{Data: data, Key: key})
}

func answer(w http.ResponseWriter, status int, key, text string) {
	writeJSON(w, status, map[string]string{key: text})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		status = http.StatusInternalServerError // texts always have a JSON form
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // a client that is gone needs no answer
}

// serveTarget records a request by the identifiers in its host, path and query, and answers with the label reversed,
// as interactsh does: templates look for it to tell that the answer was read.
func (s *Server) serveTarget(w http.ResponseWriter, r *http.Request) {
	request := dump(r)
	ids := find(r.Host+" "+r.URL.Path+" "+r.URL.RawQuery, s.store.known)
	reflected := ""
	if len(ids) > 0 {
		reflected = reverse(ids[0].full[strings.LastIndexByte(ids[0].full, '.')+1:])
	}
	kind, body := "text/html; charset=utf-8", "<html><head></head><body>"+reflected+"</body></html>"
	switch path := strings.ToLower(r.URL.Path); {
	case path == "/robots.txt":
		kind, body = "text/plain; charset=utf-8", "User-agent: *\nDisallow: / # "+reflected
	case strings.HasSuffix(path, ".json"):
		kind, body = "application/json", `{"data":"`+reflected+`"}`
	case strings.HasSuffix(path, ".xml"):
		kind, body = "application/xml", "<data>"+reflected+"</data>"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if s.config.Domain != "" {
		w.Header().Set("Server", s.config.Domain)
	}
	protocol := "http"
	if r.TLS != nil {
		protocol = "https"
	}
	var head bytes.Buffer
	_ = w.Header().Write(&head) // a buffer takes everything
	s.record(ids, Interaction{
		Protocol: protocol, RawRequest: request, RemoteAddress: hostOf(r.RemoteAddr),
		RawResponse: "HTTP/1.1 200 OK\r\n" + head.String() + "\r\n" + body,
	})
	_, _ = io.WriteString(w, body) // a target that is gone needs no answer
}

// dump is a request as it came: its line, headers, and the beginning of its body.
func dump(r *http.Request) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\nHost: %s\r\n", r.Method, r.RequestURI, r.Proto, r.Host)
	_ = r.Header.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	if left := maxRaw - b.Len(); left > 0 {
		_, _ = io.CopyN(&b, r.Body, int64(left)) // what came of a body that breaks off is recorded
	}
	return b.String()
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}
