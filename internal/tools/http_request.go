package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

func (k *Kit) httpRequest() action[webRequest] {
	return action[webRequest]{
		name: "http_request", secrets: true,
		schema: `{"type": "object", "required": ["url"], "properties": {
			"method": {"type": "string", "description": "GET when absent"}, "url": {"type": "string"},
			"headers": {"type": "object", "additionalProperties": {"type": "string"}}, "body": {"type": "string"},
			"session": {"type": "string", "description": "a name: requests of one session share cookies"}}}`,
		requests: func(webRequest) int { return 1 },
		approval: func(a webRequest) *loop.Approval { return k.changes(a.methods(), a.URL) },
		call:     k.callHTTP,
	}
}

// changes asks for approval of a request that may change something.
func (k *Kit) changes(methods []string, url string) *loop.Approval {
	i := slices.IndexFunc(methods, func(method string) bool { return !scope.ReadOnly(method) })
	if k.scope.Doc.Intrusiveness == task.Intrusive || i < 0 {
		return nil
	}
	method := methods[i]
	return &loop.Approval{
		Action: errs.Clip(method+" "+url, brief.MaxReason),
		Reason: "A " + errs.Clip(method, 20) + " request may change something at the target.",
		Risk:   "Data may be written or deleted, and messages sent.",
	}
}

func (k *Kit) callHTTP(ctx context.Context, a webRequest, _ func(string)) (loop.Result, error) {
	answer, err := k.web.send(ctx, a)
	if err != nil {
		return loop.Result{}, err
	}
	return loop.Result{
		Text: answer.text(maxShown), Requests: 1,
		Evidence: []string{fmt.Sprintf("http %s %s %d %s", a.Method, a.URL, answer.Status, digest(answer.Body))},
	}, nil
}
