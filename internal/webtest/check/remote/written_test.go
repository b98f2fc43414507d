package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// An IPv4 address is also written in IPv6; what is none stays.
func TestMapped(t *testing.T) {
	for in, want := range map[string]string{"http://127.0.0.1:80/a": "http://[::ffff:7f00:1]:80/a", "http://localhost/": "http://[::ffff:7f00:1]/",
		"http://shop.example/": "http://shop.example/", "http://[::1]/": "http://[::1]/"} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := mapped(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A page in one long line is compared by its elements.
func TestPieces(t *testing.T) {
	long := strings.Repeat("<p>a line of text</p>", 30)
	if got := pieces("<h1>short</h1>\n" + long); len(got) < 60 || got[0] != "<h1>short</h1>" || got[2] != "<p>a line of text" {
		t.Errorf("%d: %q", len(got), got[:min(len(got), 4)])
	}
}

// A file that gets a name of its own and is served as what it looks like is found by the link in the answer; not one that
// is served as bytes.
func TestUploadUnderANewName(t *testing.T) {
	for name, guesses := range map[string]bool{"guessed": true, "bytes": false} {
		var mu sync.Mutex
		var kept []byte
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Method == http.MethodPost:
				file, _, err := r.FormFile("doc")
				if err != nil {
					http.Error(w, "none", http.StatusBadRequest)
					return
				}
				kept, _ = io.ReadAll(file)
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<a href="/">home</a><img src="/raw/8812f">`)
			case r.URL.Path == "/raw/8812f":
				if !guesses {
					w.Header().Set("Content-Type", "application/octet-stream")
				}
				_, _ = io.Copy(w, bytes.NewReader(kept))
			}
		}))
		r, err := message.New(http.MethodPost, lab.URL+"/up")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte("--b\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\na\r\n--b--\r\n")
		found := lab.Run(t, upload(), &kit.Target{Request: r, Places: message.Places(r), Response: &message.Response{Request: r}})
		if guesses != (len(found) == 1) {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
