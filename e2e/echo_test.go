package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// echo is a site that says what it was asked: the request line, the headers and the
// body, in this order. /fetch fetches the parameter url; /hops/N is N redirects long, the last of which leads to /end;
// /away redirects to another host; /big has 100,000 bytes; /slow waits for half a second;
// /count says how many requests there were besides those for itself.
type echo struct{ requests atomic.Int64 }

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/count" {
		fmt.Fprintln(w, e.requests.Load())
		return
	}
	e.requests.Add(1)
	if rest, ok := strings.CutPrefix(r.URL.Path, "/hops/"); ok {
		n, _ := strconv.Atoi(rest)
		to := "/end"
		if n > 1 {
			to = "/hops/" + strconv.Itoa(n-1)
		}
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	switch r.URL.Path {
	case "/away":
		http.Redirect(w, r, "http://localhost"+strings.TrimPrefix(r.Host, "127.0.0.1")+"/end", http.StatusFound)
	case "/big":
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000)+"END")
	case "/fetch": // any URL, and tells nothing of it
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.FormValue("url"), nil)
		if err != nil {
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	case "/slow":
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.Context().Done():
		}
	default:
		fmt.Fprintf(w, "%s %s\r\n", r.Method, r.RequestURI)
		_ = r.Header.Write(w)
		fmt.Fprint(w, "\r\n")
		_, _ = io.Copy(w, io.LimitReader(r.Body, 1<<20))
	}
}
