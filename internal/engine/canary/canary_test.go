package canary

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Pages that differ in the path that they name, and in numbers, have one fingerprint.
func TestFingerprint(t *testing.T) {
	one := fingerprint([]byte("no /x/abc here, id 17, abc"), "/x/abc")
	if other := fingerprint([]byte("no /y/def here, id 4711, def"), "/y/def"); one != other {
		t.Errorf("%s and %s", one, other)
	}
	if other := fingerprint([]byte("found /y/def"), "/y/def"); one == other {
		t.Error("another page has the same fingerprint")
	}
}

func TestWord(t *testing.T) {
	if a, b := Word(), Word(); a == b || !regexp.MustCompile(`^[a-z]{16}$`).MatchString(a) {
		t.Errorf("%s and %s", a, b)
	}
}

// A target that cannot be reached is asked once; the error says why.
func TestUnreachable(t *testing.T) {
	asked := 0
	_, err := Request(t.Context(), rawurl.URL{Scheme: "http", Host: "a.test"}, true, false, false,
		func(context.Context, web.Request) (*web.Exchange, error) {
			asked++
			return nil, &web.Error{Kind: web.KindDial, Err: errors.New("refused")}
		})
	if err == nil || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
}
