package rest

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// limited takes some writes and then fails.
type limited struct {
	*httptest.ResponseRecorder
	writes int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.writes--; l.writes < 0 {
		return 0, errors.New("the client is gone")
	}
	return l.ResponseRecorder.Write(p)
}

func TestClientGetsAFileInParts(t *testing.T) {
	file := []byte(strings.Repeat("x", 3*chunk+1))
	whole := &limited{httptest.NewRecorder(), 4}
	if n, err := ClientWriter(whole).Write(file); n != len(file) || err != nil || whole.Body.Len() != len(file) {
		t.Errorf("%d of %d bytes, %v", n, len(file), err)
	}
	if n, err := ClientWriter(&limited{httptest.NewRecorder(), 2}).Write(file); n != 2*chunk || err == nil {
		t.Errorf("%d bytes and no error of a client that is gone", n)
	}
}
