package access

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// Tokens that count or tell the time are found, however they are written; not random ones, nor counters that are none.
func TestPredictableToken(t *testing.T) {
	var n atomic.Int64
	next := func() int { return int(n.Add(1)) }
	for name, c := range map[string]struct {
		cookie string
		value  func() string
		want   int
	}{
		"a counter": {"shopSession", func() string { return strconv.Itoa(next()) }, 1},
		"hidden":    {"auth_token", func() string { return digests[40](next()) }, 1},
		"encoded":   {"sid", func() string { return base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(next() * 7))) }, 1},
		"a clock":   {"session", func() string { return strconv.FormatInt(time.Now().UnixMilli()+n.Add(1), 10) }, 1},

		"random":       {"session", rand.Text, 0},
		"always equal": {"session", func() string { return "7" }, 0},
		"down":         {"session", func() string { return strconv.Itoa(1000 - next()) }, 0},
		"visits":       {"visits", func() string { return strconv.Itoa(next()) }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: c.cookie, Value: c.value(), Path: "/"})
		}))
		if found := lab.Run(t, kittest.Named(t, Checks(), "predictable-token"), lab.Target(t, http.MethodGet, "/", "")); len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
		}
	}
}
