package serial

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// A cookie that one counter numbers is found, as it is and in base64, given to users and to everybody. Not a counter of
// what each has done, a time, a random number, one that scripts read, or one whose name speaks of counting.
func TestNumbered(t *testing.T) {
	plain := strconv.Itoa
	for name, c := range map[string]struct {
		method, cookie string
		write          func(int) string
		own, readable  bool // each has a counter of their own; scripts may read it
		users          int
		want           int
	}{
		"numbers, by a button":      {"POST", "seat", plain, false, false, 2, 1},
		"base64, to everybody":      {"GET", "who", func(n int) string { return base64.StdEncoding.EncodeToString([]byte(plain(4000 + 3*n))) }, false, false, 0, 1},
		"a counter of each":         {"POST", "seat", plain, true, false, 2, 0},
		"a counter of each visitor": {"GET", "who", plain, true, false, 0, 0},
		"a time":                    {"GET", "who", func(n int) string { return fmt.Sprint(time.Now().Unix() + int64(n)) }, false, false, 2, 0},
		"random":                    {"GET", "who", func(int) string { return plain(rand.IntN(1 << 40)) }, false, false, 2, 0},
		"for scripts":               {"GET", "who", plain, false, true, 2, 0},
		"visitors so far":           {"GET", "visitors", plain, false, false, 2, 0},
		"always the same":           {"GET", "who", func(int) string { return "7" }, false, false, 2, 0},
	} {
		var mu sync.Mutex
		given := map[string]int{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			key := ""
			if k, err := r.Cookie("user"); err == nil && c.own {
				key = k.Value
			} else if k, err := r.Cookie(c.cookie); err == nil && c.own {
				n, _ := strconv.Atoi(k.Value)
				given[key] = n
			} else if c.own {
				given[key] = 0
			}
			given[key]++
			http.SetCookie(w, &http.Cookie{Name: c.cookie, Value: c.write(given[key]), HttpOnly: !c.readable})
		}))
		for _, who := range []string{"alice", "bob"}[:c.users] {
			lab.World.Users = append(lab.World.Users, lab.As(t, who))
		}
		target := lab.Target(t, c.method, "/enter", "")
		target.User = client.NewUser("")
		found := lab.Run(t, Checks()[0], target)
		if len(found) != c.want || c.want == 1 && (found[0].Place.Name != c.cookie || found[0].Confidence != kit.Proved) {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}
