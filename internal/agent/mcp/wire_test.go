package mcp

import (
	"context"
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What breaks the wire is what is told, also when the library is told of the end of the
// answer before the call's context is.
func TestBrokenWireIsToldBeforeItsContext(t *testing.T) {
	w := newWire(Config{})
	w.stop(errTooLarge)
	if got := errs.From(w.failure(context.Background(), errors.New("no answer"))).Code; got != CodeTooLarge {
		t.Errorf("it is told as %s", got)
	}
}
