package alert

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// received is one request that a service got.
type received struct {
	path, auth string
	key        string
	body       map[string]any
}

// service answers every request with a status and keeps what it got.
func service(t *testing.T, status int, header http.Header, answer string) (string, chan received) {
	t.Helper()
	got := make(chan received, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := received{path: r.URL.Path, auth: r.Header.Get("Authorization"), key: r.Header.Get("Idempotency-Key")}
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(text, &one.body); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		got <- one
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func local() *Sender {
	return NewSender(&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

func channel(t *testing.T, text string) Channel {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c.Channels[0]
}

var finished = Alert{
	ID: "7f", Kind: Finished, Message: "Scan <!channel> ended", ScanName: "n", ScanID: "s",
	Finished: &End{
		FinishedAt: time.Unix(0, 0).UTC(), ScanTime: "10s", TotalMatches: 5, Severities: map[string]int{"high": 2, "info": 3},
		NewVulns:     3,
		NewVulnsList: []Vuln{{"A [b](http://evil) @everyone", "high", 2}, {"B", "info", 1}},
	},
}

func TestEachProviderGetsItsShape(t *testing.T) {
	url, got := service(t, 200, nil, "ok")
	for config, check := range map[string]func(received) bool{
		"slack: {webhook_url: " + url + "/s}": func(r received) bool {
			return r.key == "" && strings.Contains(r.body["text"].(string), "&lt;!channel&gt;") && r.path == "/s"
		},
		"discord: [{discord_webhook_url: " + url + "/d}]": func(r received) bool {
			mentions, ok := r.body["allowed_mentions"].(map[string]any)
			return ok && len(mentions["parse"].([]any)) == 0 && strings.Contains(r.body["content"].(string), "2 high, 3 info")
		},
		"telegram: {telegram_api_key: '1:a', telegram_chat_id: '7', api-url: " + url + "}": func(r received) bool {
			return r.path == "/bot1:a/sendMessage" && r.body["chat_id"] == "7" && r.body["parse_mode"] == nil
		},
		"teams: {teams_webhook_url: " + url + "/t}": func(r received) bool {
			text, _ := json.Marshal(r.body)
			return r.body["type"] == "message" && strings.Contains(string(text), `\\[b\\](http`)
		},
		"custom: {url: " + url + "/w, token: abcd}": func(r received) bool {
			end, ok := r.body["finished"].(map[string]any)
			return ok && r.auth == "Bearer abcd" && r.key == "7f" && r.body["type"] == "finished" && r.body["running"] == nil &&
				end["total_matches"] == 5.0
		},
		"webhook: {url: " + url + "/w, username: u, password: p, severity: [high]}": func(r received) bool {
			end := r.body["finished"].(map[string]any)
			return strings.HasPrefix(r.auth, "Basic ") && end["total_matches"] == 2.0 &&
				len(end["rescan_vulns_list"].([]any)) == 1 && end["rescan_new_vulnerabilities"] == 2.0
		},
	} {
		if err := local().Send(t.Context(), channel(t, config), finished); err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if r := <-got; !check(r) {
			t.Errorf("%s: got %+v", config, r)
		}
	}
}

// What a service refuses is told without the secrets, and with when to try again.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		header http.Header
		answer string
		want   string
		wait   time.Duration
		retry  bool
	}{
		{429, http.Header{"Retry-After": {"7"}}, `{"message": "slow down"}`, "Slack answered 429: slow down", 7 * time.Second,
			true},
		{503, nil, "busy\x1b[31m", "Slack answered 503: busy [31m", 0, true},
		{404, nil, "no_team", "Slack answered 404: no_team", 0, false},
		{302, http.Header{"Location": {"http://127.0.0.1:1/"}}, "", "Slack answered 302", 0, false},
	} {
		url, _ := service(t, c.status, c.header, c.answer)
		err := local().Send(t.Context(), channel(t, "slack: {webhook_url: "+url+"/hooks/s3cret}"), finished)
		wait, retry := apiclient.RetryAfter(err)
		if err == nil || err.Error() != c.want || wait != c.wait || retry != c.retry {
			t.Errorf("%d: %v, wait %v, retry %v", c.status, err, wait, retry)
		}
	}
	// A private address is not dialled, and the secret of its URL not told.
	err := NewSender(&netguard.Guard{}).Send(t.Context(),
		channel(t, "slack: {webhook_url: http://127.0.0.1:9/hooks/s3cret}"), finished)
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

// mailServer speaks enough SMTP to take one message.
func mailServer(t *testing.T) (string, chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		fmt.Fprint(conn, "220 here\r\n")
		var all strings.Builder
		for inside := false; ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			all.WriteString(line)
			switch {
			case inside && line == ".\r\n":
				inside = false
				fmt.Fprint(conn, "250 taken\r\n")
			case inside:
			case strings.HasPrefix(line, "DATA"):
				inside = true
				fmt.Fprint(conn, "354 go\r\n")
			case strings.HasPrefix(line, "QUIT"):
				fmt.Fprint(conn, "221 bye\r\n")
				got <- all.String()
				return
			default:
				fmt.Fprint(conn, "250 ok\r\n")
			}
		}
	}()
	return l.Addr().String(), got
}

func TestMail(t *testing.T) {
	server, got := mailServer(t)
	config := "smtp: {server: '" + server +
		"', from_address: a@example.com, to: [b@example.com, c@example.com], smtp_disable_starttls: true}"
	hostile := finished
	hostile.Message = "Ended\r\nBcc: evil@example.com\r\n\r\n.\r\nMAIL FROM: x"
	if err := local().Send(t.Context(), channel(t, config), hostile); err != nil {
		t.Fatal(err)
	}
	text := <-got
	head, body, _ := strings.Cut(text[strings.Index(text, "DATA\r\n")+6:], "\r\n\r\n")
	if strings.Count(text, "RCPT TO") != 2 || strings.Contains(head, "Bcc") ||
		!strings.Contains(head, "Subject: Ended\r\n") || !strings.Contains(head, "Message-ID: <7f@example.com>\r\n") ||
		!strings.Contains(body, "2 high, 3 info") {
		t.Errorf("%s", text)
	}
	secure := strings.Replace(config, "smtp_disable_starttls: true", "username: u, password: p4ssword", 1)
	server2, _ := mailServer(t)
	err := local().Send(t.Context(), channel(t, strings.Replace(secure, server, server2, 1)), finished)
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") || strings.Contains(err.Error(), "p4ssword") {
		t.Errorf("a server without STARTTLS: %v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                              "not a mapping",
		"events: [running]":               "names no provider",
		"pager: {}":                       `"pager" is no provider`,
		"slack: x":                        "not a mapping",
		"slack: {}":                       "webhook_url must be",
		"slack: {webhook_url: [1]}":       "not of its type",
		"slack: {webhook_url: 'ftp://x'}": "webhook_url must be",
		"slack: {webhook_url: 'https://x', events: [never]}":                 `"never" is no event`,
		"telegram: {api_key: a}":                                             "chat_id",
		"smtp: {server: h, to: [a@b.c]}":                                     "host:port",
		"smtp: {server: 'h:1'}":                                              "to is needed",
		"smtp: {server: 'h:1', to: ['a'], from_address: a@b.c}":              "no mail address",
		"slack: [" + strings.Repeat("{webhook_url: 'https://x'},", 21) + "]": "more than",
		"events: 5\nslack: {webhook_url: 'https://x'}":                       "events",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	c, err := Parse([]byte("events: [running]\nslack: [{webhook_url: 'https://a'}, {webhook_url: 'https://b', events: [new_vuln]}]\ndiscord: {webhook_url: 'https://c', events: []}"))
	if err != nil || c.Provider() != "discord,slack" || !c.Channels[1].Wants(Running) || c.Channels[2].Wants(Running) ||
		!c.Channels[2].Wants(NewVuln) || c.Channels[0].Wants(Running) {
		t.Errorf("%+v %v", c, err)
	}
}

// Of several mistakes, the same one is reported each time; the words that are allowed are all named.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"zzz: {}\npager: {}\nslack: {}\nteams: {}\ndiscord: {}": `discord: webhook_url must be an http or https URL`,
		"severity: 5\nevents: 5":                                `events is not a list of words`,
		"slack: {webhook_url: 'https://x', events: [never]}": `slack: "never" is no event: running, finished, ` +
			`failed_stopped, new_vuln, new_asset, source_drop, regression, risk_ended, due_soon, overdue, report are`,
	} {
		for range 20 {
			if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
				t.Fatalf("%s: %v, want %s", text, err, want)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	url, got := service(t, 200, nil, "ok")
	if ok, said := local().Verify(t.Context(), []byte("slack: {webhook_url: "+url+"}")); !ok ||
		!strings.Contains(said, "slack") {
		t.Error(said)
	}
	if r := <-got; !strings.Contains(r.body["text"].(string), "test") {
		t.Errorf("%+v", r)
	}
	bad, _ := service(t, 403, nil, "invalid_token")
	if ok, said := local().Verify(t.Context(), []byte("slack: {webhook_url: "+bad+"}")); ok ||
		!strings.Contains(said, "403: invalid_token") {
		t.Error(said)
	}
	if ok, said := local().Verify(t.Context(), []byte("nothing: {}")); ok || said == "" {
		t.Error(said)
	}
	if _, ok := errors.AsType[*apiclient.Error](local().Send(t.Context(),
		channel(t, "slack: {webhook_url: 'http://127.0.0.1:1'}"), finished)); !ok {
		t.Error("an unreachable service is not told as such")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("slack: [{slack_webhook_url: 'https://x', events: [running]}]\nseverity: [high]")
	f.Add("smtp: {server: 'a:1', to: [a@b.c], from_address: 'x <a@b.c>'}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse([]byte(text))
		if err == nil && len(c.Channels) == 0 {
			t.Error("nothing to tell, and no error")
		}
		for _, channel := range c.Channels {
			if m := mailOf(channel, finished, finished.text()).String(); strings.Count(m, "\r\n\r\n") < 1 ||
				strings.Contains(strings.SplitN(m, "\r\n\r\n", 2)[0], "\nBcc") {
				t.Errorf("%q", m)
			}
		}
	})
}
