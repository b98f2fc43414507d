package slacktest

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A token is good for one workspace, and what is posted there is found there alone.
func TestWorkspaces(t *testing.T) {
	s := New()
	send := func(method, token string, form url.Values) string {
		r := httptest.NewRequest("POST", "/api/"+method, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Body.String()
	}
	message := url.Values{"channel": {"C1"}, "thread_ts": {"1.1"}, "text": {"x"}, "metadata": {`{"event_type": "t", "event_payload": {"key": "k"}}`}}
	if got := send("chat.postMessage", "xoxb-none", message); !strings.Contains(got, "invalid_auth") {
		t.Error(got)
	}
	if got := send("chat.postMessage", Token, message); !strings.Contains(got, `"ok":true`) || len(s.Messages()) != 1 {
		t.Error(got)
	}
	replies := url.Values{"channel": {"C1"}, "ts": {"1.1"}, "limit": {"10"}}
	for token, there := range map[string]bool{Token: true, OtherToken: false} {
		if got := send("conversations.replies", token, replies); strings.Contains(got, `"text":"x"`) != there {
			t.Error(token, got)
		}
	}
	s.Fail("auth.test", "fatal_error")
	if got := send("auth.test", Token, url.Values{}); !strings.Contains(got, "fatal_error") {
		t.Error(got)
	}
}
