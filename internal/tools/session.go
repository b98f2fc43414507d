package tools

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// Resume gives the sessions of http_request the cookies that answers have set before, as
// far as the task's journal has them: a run that goes on, or a later turn, need not log in
// again.
func (k *Kit) Resume(entries []loop.Entry) {
	fill := k.secretReplacer(false)
	calls := map[string]httpArgs{}
	for _, e := range entries {
		switch e.Kind {
		case loop.ToolCall:
			var called loop.Called
			var args httpArgs
			if json.Unmarshal(e.Body, &called) == nil && called.Tool == k.httpRequest().name && json.Unmarshal(called.Args, &args) == nil && args.Session != "" {
				calls[e.Key] = args
			}
		case loop.ToolResult:
			var returned loop.Returned
			if args, ok := calls[e.Key]; ok && json.Unmarshal(e.Body, &returned) == nil {
				k.web.recall(args.Session, fill.Replace(args.URL), fill.Replace(returned.Result.Text))
			}
		}
	}
}

// recall takes the cookies of an answer, as text, into a session.
func (w *web) recall(session, at, answer string) {
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
