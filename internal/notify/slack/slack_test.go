package slack

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/slack/slacktest"
)

var app = App{slacktest.ClientID, slacktest.ClientSecret, slacktest.SigningSecret}

func open(t *testing.T) (*Client, *slacktest.Slack) {
	stub := slacktest.New()
	server := httptest.NewServer(stub)
	t.Cleanup(server.Close)
	return New(server.URL+"/api", &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}), stub
}

func TestConnecting(t *testing.T) {
	c, _ := open(t)
	link := c.AuthorizeURL(app, "https://v.example/cb", "a b")
	if !strings.Contains(link, "/oauth/v2/authorize?client_id=111.222&redirect_uri=https%3A%2F%2Fv.example%2Fcb&scope=app_mentions") ||
		!strings.HasSuffix(link, "&state=a+b") {
		t.Error(link)
	}
	g, err := c.Exchange(t.Context(), app, "", slacktest.Code)
	if err != nil || g.Token != slacktest.Token || g.Team.ID != slacktest.Team || g.BotUser != slacktest.Bot || g.Unfit != "" {
		t.Errorf("%+v %v", g, err)
	}
	_, err = c.Exchange(t.Context(), app, "", "another")
	if e, ok := errors.AsType[*apiclient.Error](err); !ok || e.Code != "invalid_code" || e.Temporary() {
		t.Error(err)
	}
	if g, err := c.Whose(t.Context(), slacktest.OtherToken); err != nil || g.Team.ID != slacktest.OtherTeam {
		t.Errorf("%+v %v", g, err)
	}
	if _, err := c.Whose(t.Context(), "xoxb-none"); !IsRevoked(err) || strings.Contains(err.Error(), "xoxb-none") {
		t.Error(err)
	}
	for user, want := range map[string]string{"U0ADA": "ada@example.com", "U0AWAY": "", "U0NEW": "", "U0NONE": ""} {
		if got, err := c.Email(t.Context(), slacktest.Token, slacktest.Team, user); got != want || err != nil {
			t.Errorf("%s: %q %v", user, got, err)
		}
	}
}

// What is posted is found by its key, also behind many others; it has no link or mention but ours.
func TestMessages(t *testing.T) {
	c, stub := open(t)
	ctx, m := t.Context(), Message{Channel: "C0MAIN", Thread: "1.1", Text: Escape("<!channel> & <http://x|y>"), Key: "k"}
	for range pageSize + 1 {
		if _, err := c.Post(ctx, slacktest.Token, Message{Channel: m.Channel, Thread: m.Thread, Text: "x", Key: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	if ts, err := c.Find(ctx, slacktest.Token, slacktest.Bot, m); ts != "" || err != nil {
		t.Error(ts, err)
	}
	ts, err := c.Post(ctx, slacktest.Token, m)
	if found, again := c.Find(ctx, slacktest.Token, slacktest.Bot, m); err != nil || again != nil || found != ts || ts == "" {
		t.Errorf("%q is not %q: %v %v", found, ts, err, again)
	}
	if found, err := c.Find(ctx, slacktest.Token, "U0ELSE", m); found != "" || err != nil {
		t.Errorf("of somebody else: %q %v", found, err)
	}
	m.Buttons, m.Value, m.Text = []Button{{"approve", "Approve", "primary"}, {"x", "X", ""}}, "v", strings.Repeat("é", 5000)
	if gone, err := c.Edit(ctx, slacktest.Token, ts, m); gone || err != nil {
		t.Fatal(gone, err)
	}
	all := stub.Messages()
	last := all[len(all)-1]
	if last.Edits != 1 || last.Value != "v" || len([]rune(last.Text)) != MaxText || !strings.Contains(string(last.Blocks), `"verbatim":true`) {
		t.Errorf("%+v", last)
	}
	if gone, err := c.Edit(ctx, slacktest.Token, "9.9", m); !gone || err != nil {
		t.Error(gone, err)
	}
	stub.Limit("chat.postMessage", 7)
	_, err = c.Post(ctx, slacktest.Token, m)
	if wait, retry := apiclient.RetryAfter(err); wait != 7*time.Second || !retry {
		t.Error(wait, retry, err)
	}
	stub.Fail("chat.postMessage", "ratelimited")
	if _, retry := apiclient.RetryAfter(postErr(t, c, m)); !retry {
		t.Error("a limit that is told with 200 is for good")
	}
	if _, retry := apiclient.RetryAfter(postErr(t, c, Message{Channel: "C0GONE", Text: "x"})); retry {
		t.Error("a channel that is gone comes back")
	}
}

func postErr(t *testing.T, c *Client, m Message) error {
	t.Helper()
	_, err := c.Post(t.Context(), slacktest.Token, m)
	if err == nil {
		t.Fatal("it is posted")
	}
	return err
}

func TestSignatures(t *testing.T) {
	now, body := time.Unix(1_800_000_000, 0), []byte(`{"type": "x"}`)
	good := slacktest.Sign(body, now)
	for name, c := range map[string]struct {
		header http.Header
		body   string
		now    time.Time
		secret string
		want   bool
	}{
		"good":           {good, string(body), now, slacktest.SigningSecret, true},
		"almost old":     {good, string(body), now.Add(MaxAge), slacktest.SigningSecret, true},
		"old":            {good, string(body), now.Add(MaxAge + time.Second), slacktest.SigningSecret, false},
		"of the future":  {good, string(body), now.Add(-MaxAge - time.Second), slacktest.SigningSecret, false},
		"another body":   {good, `{}`, now, slacktest.SigningSecret, false},
		"another secret": {good, string(body), now, "x", false},
		"no secret":      {slacktest.SignWith("", body, now), string(body), now, "", false},
		"nothing":        {http.Header{}, string(body), now, slacktest.SigningSecret, false},
		"no version": {http.Header{"X-Slack-Request-Timestamp": good["X-Slack-Request-Timestamp"],
			"X-Slack-Signature": {strings.TrimPrefix(good.Get("X-Slack-Signature"), "v0=")}}, string(body), now, slacktest.SigningSecret, false},
	} {
		if got := Signed(c.secret, c.header, []byte(c.body), c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

var formHeader = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}

func TestReading(t *testing.T) {
	event := func(more string) string {
		return `{"type": "event_callback", "team_id": "T0BLUE", "event_id": "Ev1", "event": {` + more + `}}`
	}
	const said = `"user": "U0ADA", "channel": "C0MAIN", "ts": "1.1", "text": "<@U0BOT> go"`
	for text, kind := range map[string]string{
		`{"type": "url_verification", "challenge": "c"}`:                      Challenge,
		event(`"type": "app_mention", ` + said):                               Said,
		event(`"type": "message", "channel_type": "im", ` + said):             Said,
		event(`"type": "message", "subtype": "message_changed", ` + said):     Other,
		event(`"type": "message", "bot_id": "B1", ` + said):                   Other,
		event(`"type": "message", "user": "../x", "channel": "C1", "ts": ""`): Other,
		event(`"type": "app_uninstalled"`):                                    Revoked,
		event(`"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}`):       Revoked,
		event(`"type": "tokens_revoked", "tokens": {"oauth": ["U0ADA"]}`):     Other,
		event(`"type": "reaction_added"`):                                     Other,
		`{"type": "app_rate_limited"}`:                                        Other,
		`{"type": "url_verification"}`:                                        "",
		`{"type": "event_callback", "team_id": "x"}`:                          "",
		`{}`: "",
		`[`:  "",
	} {
		in, ok := Read(http.Header{}, []byte(text))
		if ok != (kind != "") || ok && in.Kind != kind {
			t.Errorf("%s: %+v %v", text, in, ok)
		}
	}
	press := func(doc string) []byte { return []byte(url.Values{"payload": {doc}}.Encode()) }
	in, ok := Read(formHeader, press(`{"type": "block_actions", "team": {"id": "T0BLUE"}, "user": {"id": "U0ADA"},
		"container": {"message_ts": "2.2", "thread_ts": "1.1", "channel_id": "C0MAIN"}, "actions": [{"action_id": "approve", "value": "v", "action_ts": "3.3"}]}`))
	if !ok || in != (Incoming{Kind: Pressed, ID: "press/2.2/3.3/U0ADA", Team: "T0BLUE", User: "U0ADA", Channel: "C0MAIN", TS: "2.2",
		Thread: "1.1", Action: "approve", Value: "v"}) {
		t.Errorf("%+v %v", in, ok)
	}
	for text, want := range map[string]bool{`{"type": "view_submission", "team": {"id": "T0BLUE"}}`: true, `{}`: false, ``: false,
		`{"type": "block_actions", "team": {"id": "T0BLUE"}, "actions": [{}]}`: false} {
		if in, ok := Read(formHeader, press(text)); ok != want || in.Kind == Pressed {
			t.Errorf("%s: %+v %v", text, in, ok)
		}
	}
}

func TestTexts(t *testing.T) {
	for in, want := range map[string]string{
		"<@U0BOT> check <http://shop.example|shop.example> now":     "check shop.example now",
		"<@U0BOT> see <https://a.example/x?y=1&amp;z=2>":            "see https://a.example/x?y=1&z=2",
		"<https://good.example|https://bad.example>":                "https://good.example",
		"<@U0EVE> <#C1|general> <!here> &lt;b&gt; <mailto:a@b|a@b>": "@U0EVE #general @here <b> a@b",
		"&amp;lt;": "&lt;", "a < b": "a < b",
	} {
		if got := Plain(in, "U0BOT"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for in, want := range map[string]string{"<!channel>": "&lt;!channel&gt;", "a\u202eb\x00c": "abc", "a\nb": "a\nb", "&amp;": "&amp;amp;"} {
		if got := Escape(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := Line("a\nb  c", 4); got != "a b…" {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{"abcd": "abcd", "abcde": "abc…", "ab&amp;": "ab…"} {
		if got := Clip(in, 4); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := Link("https://v.example/a|b", "x>y"); got != "<https://v.example/a%7Cb|x&gt;y>" {
		t.Error(got)
	}
}

// FuzzRead: whatever is sent, the ids of what is read have the shape of Slack's, and what is read back of what is
// escaped is the same text.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type": "event_callback", "team_id": "T0BLUE", "event_id": "Ev1", "event": {"type": "message", "user": "U0ADA", "channel": "D1", "ts": "1.1", "text": "<@U1|x> a"}}`))
	f.Add([]byte(`payload=%7B%22type%22%3A%22block_actions%22%7D`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, header := range []http.Header{{}, formHeader} {
			in, ok := Read(header, body)
			if !ok {
				continue
			}
			if in.Kind == Said || in.Kind == Pressed {
				if !isID(in.User, "UW") || !isID(in.Channel, "CDG") || !isTS(in.TS) || in.Thread != "" && !isTS(in.Thread) || in.ID == "" {
					t.Errorf("%+v", in)
				}
			}
			Plain(in.Text, "U0BOT")
		}
		escaped := Escape(string(body))
		if strings.ContainsAny(escaped, "<>") {
			t.Errorf("%q", escaped)
		}
		if len([]rune(Clip(escaped, 10))) > 10 {
			t.Errorf("%q", Clip(escaped, 10))
		}
	})
}
