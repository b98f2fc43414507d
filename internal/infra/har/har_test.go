package har_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/har"
)

func entries(t *testing.T, file string) []har.Entry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Log struct {
			Entries []har.Entry `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return got.Log.Entries
}

// The file is whole after every entry, however many are added at once.
func TestFileIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.har")
	out, err := har.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := har.Create(file); !os.IsExist(err) {
		t.Errorf("a file that is there is overwritten: %v", err)
	}
	const rounds, writers = 50, 8
	for round := range rounds {
		// Nothing is added while the file is read: a read of the system may see a part of a write.
		if got := entries(t, file); len(got) != round*writers {
			t.Fatalf("%d entries after %d", len(got), round*writers)
		}
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				if err := out.Add(har.New(har.Exchange{Method: "GET", URL: "http://a.example/" + strings.Repeat("x", 100)})); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if got := entries(t, file); len(got) != rounds*writers || out.Count() != rounds*writers || out.Close() != nil {
		t.Errorf("%d entries", len(got))
	}
}

// Whatever was sent, an entry is JSON that says it.
func FuzzNew(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbody", "http://a/?q=1&q=%zz")
	f.Add("", "\xff\r\n\r\n\xff", ":")
	f.Fuzz(func(t *testing.T, request, response, address string) {
		e := har.New(har.Exchange{Method: "GET", URL: address, Request: []byte(request), Response: []byte(response)})
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var again har.Entry
		if err := json.Unmarshal(text, &again); err != nil || again.Response.BodySize != e.Response.BodySize {
			t.Fatalf("%v: %s", err, text)
		}
		if m := har.Parse([]byte(request)); m.Head+len(m.Body) != len(request) && !strings.HasSuffix(request, "\r\n\r\n") {
			t.Fatalf("%d and %d of %d bytes", m.Head, len(m.Body), len(request))
		}
	})
}
