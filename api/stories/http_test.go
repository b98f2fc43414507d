package stories

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/notify/github/githubtest"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request sends "METHOD PATH [as NAME]" with the headers and the body of a section.
// "as alice" sends alice's API key, "as alice.token" her bearer token.
func (s *story) request(line, text string) *answer {
	line, who, named := strings.Cut(line, " as ")
	method, path, _ := strings.Cut(line, " ")
	header, body := headersOf(s.fill(text))
	if !strings.HasPrefix(path, "http://") {
		path = s.base + path
	}
	if header.Get("X-Hub-Signature-256") == "signed" {
		header.Set("X-Hub-Signature-256", githubtest.Sign([]byte(body)))
	}
	if secret, is := strings.CutPrefix(header.Get("Webhook-Signature"), "signed "); is {
		maps.Copy(header, gitlabtest.Sign(secret, "a-webhook", []byte(body), time.Now()))
	}
	body = fromSlack(header, body)
	req, err := http.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	if name, isToken := strings.CutSuffix(who, ".token"); isToken {
		req.Header.Set("Authorization", "Bearer "+s.value(name+".token"))
	} else if named {
		req.Header.Set("X-Api-Key", s.value(who+".key"))
	}
	client := http.Client{Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s: reading the answer: %v", line, err)
	}
	return &answer{resp.StatusCode, resp.Header, got}
}

// check holds an answer against a section named "answer STATUS".
func (s *story) check(name string, got *answer, status, text string) {
	if got == nil {
		s.t.Fatalf("%s: there was no request", name)
	}
	if want := s.fill(status); http.StatusText(got.status) == "" || want != strings.Fields(want)[0] ||
		want != itoa(got.status) {
		s.t.Fatalf("%s: the status is %d\n%s", name, got.status, got.body)
	}
	s.matches(name, got.header, got.body, text)
}

// matches holds a message against the headers and the body of a section.
func (s *story) matches(name string, header http.Header, body []byte, text string) {
	wantHeader, wantBody := headersOf(text)
	for key := range wantHeader {
		if problem := s.match(key, s.fill(wantHeader.Get(key)), header.Get(key)); problem != "" {
			s.t.Fatalf("%s: %s", name, problem)
		}
	}
	wantBody = strings.TrimSpace(wantBody)
	switch {
	case wantBody == "":
	case strings.HasPrefix(wantBody, "~"): // patterns, a line each
		for pattern := range strings.SplitSeq(wantBody, "\n") {
			pattern = s.fill(strings.TrimPrefix(pattern, "~"))
			if !regexp.MustCompile(`(?s)` + strings.TrimSpace(pattern)).Match(body) {
				s.t.Fatalf("%s: no match for %s in\n%s", name, pattern, body)
			}
		}
	default:
		var want, have any
		if err := json.Unmarshal([]byte(s.fill(wantBody)), &want); err != nil {
			s.t.Fatalf("%s: the wanted body: %v", name, err)
		}
		if err := json.Unmarshal(body, &have); err != nil {
			s.t.Fatalf("%s: the body is not JSON: %v\n%s", name, err, body)
		}
		if problem := s.match("body", want, have); problem != "" {
			s.t.Fatalf("%s: %s\n%s", name, problem, body)
		}
	}
}

// waitFor waits for the end of a task, by its stream.
func (s *story) waitFor(id string) {
	if got := s.request("GET /api/v1/tasks/"+id+"/stream as "+s.value("waiter"), ""); !strings.Contains(string(got.body),
		"event: finish") {
		s.t.Fatalf("waiting for %s: the stream ended without its last event\n%s", id, got.body)
	}
}

// until asks again until the answer's body matches a pattern: not everything that happens
// in the background has a stream.
func (s *story) until(line, text, pattern string) *answer {
	re := regexp.MustCompile(`(?s)` + pattern)
	deadline := time.Now().Add(patience)
	pace := time.NewTicker(20 * time.Millisecond) // a key has 100 calls a second
	defer pace.Stop()
	for ; ; <-pace.C {
		got := s.request(line, text)
		if re.Match(got.body) {
			return got
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: never %s\n%s", line, pattern, got.body)
		}
	}
}

func (s *story) checkReceived(name, text string) {
	select {
	case r := <-s.received:
		s.matches(name, r.Header, <-s.bodies, text)
	case <-time.After(patience):
		s.t.Fatalf("%s: the receiver got nothing", name)
	}
}

// checkMailed holds the next mail against an address and a regular expression, whose named groups become values.
func (s *story) checkMailed(name, to, pattern string) {
	select {
	case m := <-s.mails:
		re := regexp.MustCompile(`(?s)` + strings.TrimSpace(s.fill(pattern)))
		found := re.FindStringSubmatch(m.Text)
		if strings.Join(m.To, " ") != s.fill(to) || found == nil {
			s.t.Fatalf("%s: the mail is %+v", name, m)
		}
		for i, group := range re.SubexpNames() {
			if group != "" {
				s.values[group] = found[i]
			}
		}
	case <-time.After(patience):
		s.t.Fatalf("%s: there is no mail", name)
	}
}

// headersOf splits a section into its header lines and its body, at the first empty line
// when the section starts with a header.
func headersOf(text string) (http.Header, string) {
	header := http.Header{}
	if !regexp.MustCompile(`^[A-Za-z-]+: `).MatchString(text) {
		return header, text
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 16<<20)
	read := 0
	for lines.Scan() {
		read += len(lines.Text()) + 1
		key, value, ok := strings.Cut(lines.Text(), ": ")
		if !ok {
			break
		}
		header.Add(key, value)
	}
	return header, text[min(read, len(text)):]
}
