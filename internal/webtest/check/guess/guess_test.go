package guess

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// A form by GET that takes passwords without a limit is found, whether it greets or leads on, with a token that changes.
// Not one that locks, slows down by status, checks no password of users, or is sent without leave to guess.
func TestDoors(t *testing.T) {
	type app struct {
		path     string
		limit    int // wrong ones that are taken; 0: any number
		leads    bool
		ignores  bool // it answers all alike
		status   int  // once the limit is reached
		reserved bool // guessing is not allowed
		want     int
	}
	for name, c := range map[string]app{
		"greets":                  {path: "/area/?username=u&password=p&Login=Login", want: 1},
		"leads on":                {path: "/vault?member=u&pass=p", leads: true, want: 1},
		"locks":                   {path: "/area/?username=u&password=p", limit: 5},
		"locks silently":          {path: "/area/?username=u&password=p", limit: 14},
		"too many":                {path: "/area/?username=u&password=p", limit: 5, status: http.StatusTooManyRequests},
		"checks nothing":          {path: "/area/?username=u&password=p", ignores: true},
		"no name":                 {path: "/area/?password=p"},
		"guessing is not allowed": {path: "/area/?username=u&password=p", reserved: true},
	} {
		var mu sync.Mutex
		wrong, n := 0, 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			n++
			form := fmt.Sprintf("<form><input type=hidden value=t%d></form>", n)
			name, password := r.FormValue("username")+r.FormValue("member"), r.FormValue("password")+r.FormValue("pass")
			isRight := name == "alice" && password == "Alices-Pass1" && !c.ignores
			locked := c.limit > 0 && wrong >= c.limit
			switch {
			case locked && c.status > 0:
				w.WriteHeader(c.status)
			case isRight && !locked && c.leads:
				http.Redirect(w, r, "/vault/open", http.StatusFound)
			case isRight && !locked:
				fmt.Fprint(w, form, "<p>Welcome, alice</p>")
			default:
				wrong++
				fmt.Fprint(w, form, "<p>This is not right</p>")
			}
		}))
		lab.World.Defaults = !c.reserved
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Password = func(u *client.User) string { return map[string]string{"alice": "Alices-Pass1"}[u.Name] }
		target := lab.Target(t, http.MethodGet, c.path, "")
		target.User = lab.World.Users[0]
		found := lab.Run(t, Checks()[0], target)
		if len(found) != c.want || c.want == 1 && found[0].Confidence != kit.Proved || c.reserved && len(lab.Skipped()) != 1 {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			if strings.Contains(fmt.Sprint(f.Evidence, f.Request.URL), "Alices") {
				t.Errorf("%s: the finding has the password", name)
			}
		}
	}
}
