package tools

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// Resume restores the cookies of http_request's sessions from the journal.
func (k *Kit) Resume(entries []loop.Entry) {
	fill := k.secretReplacer(false)
	calls := map[string]webRequest{}
	for _, e := range entries {
		switch e.Kind {
		case loop.ToolCall:
			var called loop.Called
			var args webRequest
			if json.Unmarshal(e.Body, &called) == nil && called.Tool == k.httpRequest().name &&
				json.Unmarshal(called.Args, &args) == nil && args.Session != "" {
				calls[e.Key] = args
			}
		case loop.ToolResult:
			var returned loop.Returned
			if args, ok := calls[e.Key]; ok && json.Unmarshal(e.Body, &returned) == nil {
				k.web.restoreCookies(args.Session, fill.Replace(args.URL), fill.Replace(returned.Result.Text))
			}
		}
	}
}

// restoreCookies puts the cookies of an answer into a session.
func (w *web) restoreCookies(session, at, answer string) {
	u, err := url.Parse(at)
	head, _, ok := strings.Cut(answer, "\r\n\r\n")
	if err != nil || !ok {
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head+"\r\n\r\n")), nil)
	if err != nil {
		return
	}
	_ = response.Body.Close() // it has none
	w.jar(session).SetCookies(u, response.Cookies())
}
