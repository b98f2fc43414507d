package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// A body is read before a request is passed on: what closes it afterwards does not shorten it, and a fault stays one.
func TestWhole(t *testing.T) {
	broken := errors.New("broken off")
	for _, one := range []struct {
		body io.Reader
		size int64
		want string
		err  error
	}{{strings.NewReader("a=1&b=2"), 7, "a=1&b=2", nil}, {io.MultiReader(strings.NewReader("a=1"), iotest.ErrReader(broken)), 7, "a=1", broken}} {
		in, out := io.Pipe()
		go func() {
			_, err := io.Copy(out, one.body)
			out.CloseWithError(err)
		}()
		r := &http.Request{Body: in, ContentLength: one.size}
		whole(r)
		in.Close() // as a server does when its handler begins to answer
		got, err := io.ReadAll(r.Body)
		if string(got) != one.want || !errors.Is(err, one.err) {
			t.Errorf("%q %v, want %q %v", got, err, one.want, one.err)
		}
	}
}
