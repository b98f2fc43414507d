package ticket

import (
	"errors"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestRetryLater checks which errors end a job without another attempt: those of a finding that was deleted end it
// well.
func TestRetryLater(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool // there is an error
	}{
		"filed": {nil, false}, "deleted": {errs.Missing("finding"), false},
		"refused": {&apiclient.Error{Service: "GitHub", Status: http.StatusUnauthorized}, true},
		"later":   {&apiclient.Error{Service: "GitHub", Status: http.StatusTooManyRequests}, true},
		"busy":    {errs.New(errs.Conflict, "ticket_busy", "x"), true}, "ours": {errors.New("x"), true},
	} {
		if err := retryLater(c.err); (err != nil) != c.want || c.want && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
