package queue

import (
	"errors"
	"testing"
	"time"
)

func TestAfterKeepsTheErrorAndTheWait(t *testing.T) {
	cause := errors.New("busy")
	err := After(cause, time.Minute)
	if d, ok := errors.AsType[delayed](err); !errors.Is(err, cause) || !ok || d.wait != time.Minute {
		t.Errorf("%v", err)
	}
}
