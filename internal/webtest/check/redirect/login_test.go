package redirect

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A login whose fields are known by their types leads away where a path that is none is let through; not one that keeps
// to its own pages, nor a form that is no login.
func TestRedirectAfterLogin(t *testing.T) {
	for name, c := range map[string]struct {
		fields [2]string
		local  func(string) bool
		want   int
	}{
		"a backslash": {[2]string{"dock", "phrase"}, func(to string) bool {
			return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//")
		}, 1},
		"own pages": {[2]string{"dock", "phrase"}, func(to string) bool { return to == "/home" }, 0},
		"no login":  {[2]string{}, func(string) bool { return true }, 0},
	} {
		lab := kittest.New(t, http.NotFoundHandler())
		form := lab.Target(t, http.MethodPost, "/barn", "dock=a&phrase=b&next=%2Fhome").Request
		form.Login = c.fields
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request { return []*message.Request{form} }
		lab.World.LoginLeads = func(_ context.Context, _ *client.User, alter func(*message.Request) *message.Request) (
			*message.Request, *url.URL, error,
		) {
			sent := alter(form)
			to := ""
			for _, p := range message.Places(sent) {
				if p.Name == "next" && !p.Key {
					to = p.Value
				}
			}
			if !c.local(to) {
				to = "/home"
			}
			answer := &message.Response{Status: http.StatusFound, Header: http.Header{"Location": {to}}, Request: sent}
			if at := answer.Redirect(); at.Host != form.URL.Host {
				return sent, at, nil
			}
			return sent, nil, nil
		}
		if found := lab.Run(t, kittest.Named(t, Checks(), "redirect-after-login"), &kit.Target{}); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
