package webtest

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// order finds out whether a request that was found behind another needs it before each time, as the next step of a form
// does whose state the application keeps. Where two requests alone are answered as one after the other, it does not.
func (r *run) order(ctx context.Context, t *target) error {
	if t.Request.After == nil || r.Client.Level == client.Passive {
		return nil
	}
	alone := t.Request.Clone()
	alone.After = nil
	var kinds []string
	for _, one := range []*message.Request{t.Request, alone, alone} {
		answer, err := r.client.Send(ctx, one, client.Options{As: t.User})
		if err != nil {
			return err
		}
		kinds = append(kinds, fmt.Sprint(answer.Status, answer.Header.Get("Location"), message.Skeleton(answer)))
	}
	if kinds[0] == kinds[1] && kinds[1] == kinds[2] {
		t.Request = alone
	}
	return nil
}
